#include "controller/metric/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/metric/exposition.h"
#include "controller/metric/process.h"

namespace railgauge::metric {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string value_of(const Registry& registry, std::string_view name) {
  for (const Sample& sample : read_exposition(registry.text()))
    if (sample.name == name) return sample.value;
  return "";
}

TEST(Registry, WhatHasNoLabelsIsThereFromTheStart) {
  const Registry registry(Owner::kController);
  EXPECT_EQ(value_of(registry, "railgauge_run_active"), "0");
  EXPECT_EQ(value_of(registry, "railgauge_series_refused_total"), "0");
  EXPECT_EQ(value_of(registry, "railgauge_agent_connected"), "") << "the agent's";
}

TEST(Registry, WhatTheCatalogDoesNotAllowIsRefusedAndCounted) {
  Registry registry(Owner::kAgent);
  registry.set("railgauge_made_up", {}, 1);
  registry.set("railgauge_link_up", {{"device", "a"}, {"run", "7"}}, 1);
  registry.set("railgauge_run_active", {}, 1);  // the controller's
  EXPECT_EQ(value_of(registry, "railgauge_series_refused_total"), "3");
  EXPECT_THAT(outside_catalog(registry.text(), Owner::kAgent), IsEmpty());
}

TEST(Registry, AFamilyNeverGrowsBeyondItsBound) {
  Registry registry(Owner::kAgent);
  const std::uint32_t most = find("railgauge_link_up")->most;
  for (std::uint32_t i = 0; i < most + 10; ++i)
    registry.set("railgauge_link_up", {{"device", "nic" + std::to_string(i)}, {"port", "1"}}, 1);
  EXPECT_EQ(value_of(registry, "railgauge_series_refused_total"), "10");
  registry.set("railgauge_link_up", {{"device", "nic0"}, {"port", "1"}}, 0);
  EXPECT_EQ(value_of(registry, "railgauge_series_refused_total"), "10") << "that one is known";
  EXPECT_THAT(outside_catalog(registry.text(), Owner::kAgent), IsEmpty());
}

TEST(Registry, ReplacedValuesMakeRoom) {
  Registry registry(Owner::kController);
  std::map<Labels, double> first;
  std::map<Labels, double> second;
  for (std::uint32_t i = 0; i < kWorstPairs; ++i) {
    first[{{"from", "a" + std::to_string(i)}, {"to", "b"}}] = 0.5;
    second[{{"from", "c" + std::to_string(i)}, {"to", "b"}}] = 0.6;
  }
  registry.replace("railgauge_worst_pair_ratio", first);
  registry.replace("railgauge_worst_pair_ratio", second);
  EXPECT_THAT(registry.text(), HasSubstr("from=\"c19\""));
  EXPECT_THAT(registry.text(), Not(HasSubstr("from=\"a")));
  EXPECT_EQ(value_of(registry, "railgauge_series_refused_total"), "0");
}

TEST(Registry, ACounterNeverFalls) {
  Registry registry(Owner::kController);
  registry.raise_to("railgauge_records_stored_total", {}, 12);
  registry.raise_to("railgauge_records_stored_total", {}, 7);
  EXPECT_EQ(value_of(registry, "railgauge_records_stored_total"), "12");
}

TEST(Process, TellsItsOwnCost) {
  Registry registry(Owner::kAgent);
  sample_process(registry);
  for (const char* name : {"process_resident_memory_bytes", "process_start_time_seconds",
                           "process_open_fds", "process_max_fds"})
    EXPECT_GT(std::stod(value_of(registry, name)), 0) << name;
}

}  // namespace
}  // namespace railgauge::metric
