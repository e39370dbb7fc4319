#include "kernels/gpu/session/usage.h"

#include <functional>

#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::gpu {
namespace {

using fake::nvml_control;

class GpuProcesses : public OnFakes {};

// The pids on the first GPU, by a library that lacks what `without` takes away.
std::vector<unsigned> pids_of_a_library(const std::function<void(Nvml&)>& without) {
  const auto use = use_nvml();
  EXPECT_TRUE(use);
  const auto gpus = nvml_gpus(loaded_nvml());
  Nvml older = loaded_nvml();
  without(older);
  std::vector<unsigned> pids;
  if (const auto list = processes_on(older, gpus->front().device))
    for (const ml::Process& process : *list) pids.push_back(process.pid);
  return pids;
}

TEST_F(GpuProcesses, AreSeenByOlderDriversToo) {
  nvml_control().busy_pid = 1000;
  nvml_control().foreign_pid = 1001;
  nvml_control().graphics_pid = 1002;
  const auto nothing = [](Nvml&) {};
  const auto no_v3 = [](Nvml& nvml) {
    nvml.device_get_compute_processes = nullptr;
    nvml.device_get_graphics_processes = nullptr;
  };
  const auto no_v2 = [&](Nvml& nvml) {
    no_v3(nvml);
    nvml.device_get_compute_processes_v2 = nullptr;
    nvml.device_get_graphics_processes_v2 = nullptr;
  };
  const auto none = [&](Nvml& nvml) {
    no_v2(nvml);
    nvml.device_get_compute_processes_v1 = nullptr;
    nvml.device_get_graphics_processes_v1 = nullptr;
  };
  pids_of_a_library(nothing);  // the fake shows the foreign number from the second reading on
  const std::vector<unsigned> all{1000, 1001, 1002};
  EXPECT_EQ(pids_of_a_library(nothing), all);
  EXPECT_EQ(pids_of_a_library(no_v3), all) << "by _v2";
  EXPECT_EQ(pids_of_a_library(no_v2), all) << "by the first form, whose entries are shorter";
  EXPECT_EQ(pids_of_a_library(none), std::vector<unsigned>{});
}

TEST_F(GpuProcesses, ThatComputeAndDrawAreListedOnce) {
  nvml_control().busy_pid = 1000;
  nvml_control().graphics_pid = 1000;
  EXPECT_EQ(pids_of_a_library([](Nvml&) {}), std::vector<unsigned>{1000});
}

GpuUsage usage_of(const std::string& address, const std::vector<unsigned>& pids) {
  GpuUsage usage;
  usage.pci_address = address;
  usage.told = true;
  for (const unsigned pid : pids) {
    ml::Process process{};
    process.pid = pid;
    usage.processes.push_back(process);
  }
  return usage;
}

using Usage = std::vector<GpuUsage>;
const std::vector<std::string> kBoth{"a", "b"};
const std::vector<std::string> kFirst{"a"};

Usage both(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
  return {usage_of("a", a), usage_of("b", b)};
}

std::optional<unsigned> learned(const Usage& before, const Usage& after,
                                const std::vector<std::string>& addresses) {
  OwnNumber number;
  number.learn(before, after, addresses);
  return number.number();
}

TEST(OwnNumber, IsTheOneProcessThatAppearedOnEveryGpu) {
  const Usage before = both({1}, {});
  EXPECT_EQ(learned(before, both({1, 7}, {7}), kBoth), 7U);
  EXPECT_EQ(learned(before, both({1, 7}, {7}), kFirst), 7U);
  EXPECT_EQ(learned(before, both({1, 7}, {8}), kFirst), 7U) << "on a GPU that is not ours";
  EXPECT_EQ(learned(before, both({1, 7}, {}), kBoth), std::nullopt) << "on one of two";
  EXPECT_EQ(learned(before, both({1, 7, 8}, {7}), kBoth), 7U) << "two, but one on all";
  EXPECT_EQ(learned(before, both({1, 7, 8}, {7, 8}), kBoth), std::nullopt) << "two of them";
  EXPECT_EQ(learned(before, both({1}, {1}), kBoth), std::nullopt) << "was there before";
  EXPECT_EQ(learned(before, both({}, {}), kBoth), std::nullopt) << "nobody";
}

TEST(OwnNumber, IsLearnedOnceTheOtherNewcomerHasGone) {
  OwnNumber number;
  number.learn(both({1}, {}), both({1, 7, 8}, {}), kFirst);
  EXPECT_EQ(number.number(), std::nullopt);
  EXPECT_EQ(number.candidates(), (std::vector<unsigned>{7, 8}));
  EXPECT_TRUE(number.asks());
  number.learn(both({7, 8}, {}), both({7, 8, 9}, {}), kFirst);
  EXPECT_EQ(number.number(), std::nullopt) << "both are still there";
  number.learn(both({8}, {}), both({8, 9}, {}), kFirst);
  EXPECT_EQ(number.number(), 8U) << "9 was not there with our first context";
  EXPECT_EQ(number.candidates(), std::vector<unsigned>{8});
  EXPECT_FALSE(number.asks());
  number.learn(both({}, {}), both({9}, {}), kFirst);
  EXPECT_EQ(number.number(), 8U) << "what is known stays";
}

TEST(OwnNumber, IsNotLearnedFromWhatIsNotTold) {
  OwnNumber number;
  Usage silent = both({}, {});
  silent.front().told = false;
  number.learn(both({1}, {}), silent, kFirst);
  EXPECT_TRUE(number.asks()) << "later it may be told";
  number.learn(both({7}, {}), both({1, 7}, {}), kFirst);
  EXPECT_EQ(number.number(), 7U);
  OwnNumber never;
  never.learn(silent, both({1, 7}, {}), kFirst);
  EXPECT_FALSE(never.asks()) << "who was there before us is not known, nor will be";
}

TEST(OwnNumber, IsNobodyOfWhomNvmlHasOurOwnNumberOrNobody) {
  Usage after = both({7}, {});
  after.front().shows_us = true;
  OwnNumber number;
  number.learn(both({}, {}), after, kFirst);
  EXPECT_EQ(number.number(), std::nullopt);
  EXPECT_FALSE(number.asks());
  OwnNumber hidden;
  hidden.learn(both({}, {}), both({}, {}), kFirst);
  hidden.learn(both({}, {}), both({9}, {}), kFirst);
  EXPECT_EQ(hidden.number(), std::nullopt) << "9 came later";
}

}  // namespace
}  // namespace railgauge::gpu
