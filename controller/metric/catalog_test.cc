#include "controller/metric/catalog.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/metric/exposition.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge::metric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The end of a name when its values are in `unit`; counters have "_total" behind it.
std::string suffix_of(std::string_view unit) {
  if (unit == "seconds" || unit == "bytes") return "_" + std::string(unit);
  return unit == "bytes per second" ? "_bytes_per_second" : "";
}

TEST(Catalog, NamesAreUniqueAndCarryTheirUnit) {
  std::set<std::string_view> names;
  for (const Info& info : catalog()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos)
        << info.name;
    EXPECT_EQ(info.type == Type::kCounter, info.name.ends_with("_total")) << info.name;
    EXPECT_TRUE(info.name.starts_with("railgauge_") || info.name.starts_with("process_"));
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_TRUE(info.unit == "1" || !suffix_of(info.unit).empty()) << info.name;
    const std::string end = info.type == Type::kCounter ? "_total" : "";
    EXPECT_TRUE(info.name.ends_with(suffix_of(info.unit) + end)) << info.name;
  }
}

TEST(Catalog, EveryLabelSaysWhatBoundsItAndNoneIsARunOrAnErrorText) {
  for (const Info& info : catalog()) {
    EXPECT_LE(info.typical, info.most) << info.name;
    for (const std::string_view label : label_names(info)) {
      EXPECT_FALSE(label_values(label).empty()) << info.name << " " << label;
      for (const char* never : {"run", "run_id", "task_id", "pid", "error", "reason", "peer"})
        EXPECT_NE(label, never) << info.name;
      EXPECT_TRUE(label != "firmware" || info.name.ends_with("_info")) << info.name;
      EXPECT_TRUE((label != "from" && label != "to") || info.most == kWorstPairs) << info.name;
    }
  }
}

// Each series from one place, and the controller's do not grow with the fleet.
TEST(Catalog, WhatBelongsToANodeIsNotTheControllers) {
  for (const Info& info : catalog()) {
    if (!is_shown_by(info, Owner::kController)) continue;
    for (const std::string_view label : label_names(info))
      for (const char* never : {"node", "device", "port", "gpu", "UUID", "pci_bus_id"})
        // A paused node may have no agent that could say so, and few nodes are paused.
        EXPECT_TRUE(label != never || info.name == "railgauge_node_pause_end_timestamp_seconds")
            << info.name;
  }
}

TEST(Catalog, TheBudgetHoldsFor2000AndFor10000Nodes) {
  const Budget small = budget(2'000);
  const Budget large = budget(10'000);
  EXPECT_LE(small.agent_typical, 700);
  EXPECT_LE(small.agent_most, 6'000);
  EXPECT_LE(small.controller_most, 3'500);
  EXPECT_EQ(small.controller_most, large.controller_most) << "no series of a single node there";
  EXPECT_LE(small.fleet_typical, 1.4e6);
  EXPECT_LE(large.fleet_typical, 7e6);
}

// A series is set by its name where its value is known, so a wrong name would be counted at run
// time only (railgauge_series_refused_total).
TEST(Catalog, HasEveryNameThatASourceSetsASeriesBy) {
  std::size_t names = 0;
  for (const char* folder : {"agent", "controller"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string path = file.path().generic_string();
      if (!path.ends_with(".cc") || path.ends_with("_test.cc")) continue;
      std::ifstream source(path);
      const std::string text{std::istreambuf_iterator<char>(source), {}};
      constexpr std::string_view kCall = "(\"railgauge_";
      for (std::size_t at = 0; (at = text.find(kCall, at)) != std::string::npos; ++at) {
        const std::size_t begin = at + 2;
        const std::string name = text.substr(begin, text.find('"', begin) - begin);
        if (name.ends_with('_')) continue;  // the beginning of a name, in a search
        ++names;
        EXPECT_NE(find(name), nullptr) << path << ": " << name;
      }
    }
  EXPECT_GT(names, 30U);
}

TEST(Catalog, ThePageInTheDocumentationIsTheCatalogs) {
  expect_file("deploy/docs/reference/metrics.md", reference_markdown());
}

TEST(Exposition, LabelsAndValuesAreReadBack) {
  const auto samples = read_exposition(
      "# HELP a b\n# TYPE a gauge\na{x=\"1,\\\"}\",y=\"\"} 2.5\nb_total 3 1700000000\n");
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].name, "a");
  EXPECT_EQ(samples[0].labels.at("x"), "1,\"}");
  EXPECT_EQ(samples[0].labels.at("y"), "");
  EXPECT_EQ(samples[0].value, "2.5");
  EXPECT_EQ(samples[1].name, "b_total");
  EXPECT_EQ(samples[1].value, "3");
}

TEST(Exposition, WhatTheCatalogDoesNotHaveIsFound) {
  EXPECT_THAT(outside_catalog("railgauge_run_active 1\n", Owner::kController), IsEmpty());
  EXPECT_THAT(outside_catalog("railgauge_run_active 1\n", Owner::kAgent), SizeIs(1));
  EXPECT_THAT(outside_catalog("railgauge_made_up 1\n", Owner::kAgent),
              ElementsAre(HasSubstr("railgauge_made_up: is no metric of the agent")));
  EXPECT_THAT(outside_catalog("railgauge_link_up{device=\"a\",run=\"7\"} 1\n", Owner::kAgent),
              ElementsAre("railgauge_link_up: label run is not declared"));
  EXPECT_THAT(
      outside_catalog("railgauge_agent_connected 1\nrailgauge_agent_connected 1\n", Owner::kAgent),
      ElementsAre("railgauge_agent_connected: more than 1 series"));
}

}  // namespace
}  // namespace railgauge::metric
