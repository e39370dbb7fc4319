// Walks combinations beyond the kernels' defaults (gpu_contract_test.cc): the SM engine, copies
// under load, every kind of host memory, sizes beyond the second-level cache, several sizes, more
// than two GPUs. Skips calls that the defaults or an earlier combination of the kernel make between
// the same neighbours; the full check (RAILGAUGE_CHECK_FULL=1) walks all.
#include "kernels/testing/gpu_contract.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using fake::RankResult;

class EveryCombination : public OnFakeGpus {};

TEST_P(EveryCombination, MeasuresAndSaysThatItIsSynthetic) { expect_measured(); }

TEST_P(EveryCombination, SurvivesAFailureOfEachFurtherCudaCallWithoutALeak) {
  static std::map<std::string, std::set<Neighbours>> by_kernel;
  std::set<Neighbours>& walked = by_kernel[GetParam().kernel];
  if (walked.empty()) {
    const RankResult defaults = run(shortest_defaults());
    ASSERT_TRUE(defaults.status) << defaults.status.error().message;
    walked = neighbours_among(cuda_control().call_names());
    reset();
  }
  const RankResult clean = run();
  ASSERT_TRUE(clean.status) << clean.status.error().message;
  const std::vector<std::string> names = cuda_control().call_names();
  expect_survived(calls_worth_failing(names, full_check() ? std::set<Neighbours>() : walked));
  walked.merge(neighbours_among(names));
}

TEST_P(EveryCombination, WaivesWhenTheDriverHasNoMemoryToGive) {
  static std::map<std::string, std::set<Neighbours>> by_kernel;
  EXPECT_GT(expect_waived_without_memory(by_kernel[GetParam().kernel]), 0)
      << "no allocation was looked at";
}

TEST_P(EveryCombination, FailsWhenOneByteOfACopyIsWrong) {
  if (!GetParam().backend.empty()) return;  // copied by the CPU: wrong_bytes_test.cc of kernels/bar
  expect_wrong_byte_found();
}

using Parameters = std::map<std::string, std::string>;
constexpr const char* kAboveCache = "2MiB";  // the fake's second-level cache has 1 MiB

// Copies under load take long enough that the threads which play the load on a busy machine keep
// up.
constexpr const char* kUnderLoad = "256KiB";

Way way(const char* kernel, std::string name, Parameters parameters) {
  if (parameters.contains("bidirectional")) parameters.emplace("sizes", kUnderLoad);
  return {.kernel = kernel, .name = std::move(name), .parameters = std::move(parameters)};
}
Way of_three(Way way) {
  way.name += "_of_three_gpus";
  way.gpus = 3;
  return way;
}
Way coherent(Way way) {
  way.name += "_coherent";
  way.coherent = true;
  return way;
}
Way by_gdrdrv(const char* kernel, const char* name, const Parameters& parameters) {
  return {.kernel = kernel, .backend = "gdrdrv", .name = name, .parameters = parameters};
}

void add_host_copies(std::vector<Way>& all) {
  const char* kernel = "cuda.host_copy_bw";
  const Parameters both{{"bidirectional", "true"}};
  const auto with = [](Parameters parameters, const Parameters& more) {
    parameters.insert(more.begin(), more.end());
    return parameters;
  };
  const Parameters sm{{"engine", "sm"}};
  const Parameters d2h{{"direction", "d2h"}};
  const Parameters large{{"sizes", kAboveCache}};
  const Parameters pageable{{"host_memory", "pageable"}};
  const Parameters write_combined{{"host_memory", "write_combined"}};
  all.push_back(way(kernel, "sm", sm));
  all.push_back(way(kernel, "sm_d2h_above_cache", with(with(sm, d2h), large)));
  all.push_back(way(kernel, "sm_under_load", with(sm, both)));
  all.push_back(way(kernel, "sm_again_under_load", with({{"engine", "sm_again"}}, both)));
  all.push_back(way(kernel, "under_load", both));
  all.push_back(way(kernel, "d2h_under_load_above_cache", with(with(d2h, both), large)));
  all.push_back(way(kernel, "pageable", pageable));
  all.push_back(way(kernel, "pageable_d2h_above_cache", with(with(pageable, d2h), large)));
  all.push_back(coherent(way(kernel, "pageable_sm", with(pageable, sm))));
  all.push_back(way(kernel, "write_combined", write_combined));
  all.push_back(way(kernel, "write_combined_sm_under_load", with(with(write_combined, sm), both)));
  all.push_back(way(kernel, "several_sizes", {{"sizes", "3,4KiB,2MiB"}}));
}

void add_gpu_copies(std::vector<Way>& all) {
  const char* peer = "cuda.peer_copy_bw";
  const char* fan = "cuda.fan_copy_bw";
  const auto fan_of = [fan](const char* pattern, const char* engine, const char* both) {
    const std::string load = std::string(both) == "true" ? "_under_load" : "";
    return way(fan, std::string(pattern) + "_" + engine + load,
               {{"pattern", pattern}, {"engine", engine}, {"bidirectional", both}});
  };
  all.push_back(way(peer, "sm_write", {{"engine", "sm"}, {"direction", "write"}}));
  all.push_back(way(peer, "under_load", {{"bidirectional", "true"}}));
  all.push_back(way(peer, "sm_under_load_above_cache",
                    {{"engine", "sm"}, {"bidirectional", "true"}, {"sizes", kAboveCache}}));
  all.push_back(of_three(way(peer, "above_cache", {{"sizes", kAboveCache}})));
  all.push_back(fan_of("all_to_host", "sm", "true"));
  all.push_back(fan_of("host_to_all", "sm_again", "true"));
  all.push_back(of_three(fan_of("all_to_host", "ce", "true")));
  all.push_back(fan_of("host_to_all", "ce", "false"));
  all.push_back(of_three(fan_of("all_to_one", "ce", "false")));
  all.push_back(fan_of("all_to_one", "sm", "false"));
  all.push_back(of_three(fan_of("one_to_all", "ce", "true")));
  all.push_back(way("cuda.local_copy_bw", "sm", {{"engine", "sm"}}));
  all.push_back(way("cuda.local_copy_bw", "above_cache", {{"sizes", kAboveCache}}));
}

void add_latencies_and_bar(std::vector<Way>& all) {
  const Parameters pageable{{"host_memory", "pageable"}};
  const Parameters write_combined{{"host_memory", "write_combined"}};
  all.push_back(way("cuda.copy_latency", "pageable", pageable));
  all.push_back(way("cuda.copy_latency", "write_combined", write_combined));
  all.push_back(way("cuda.copy_latency", "d2h", {{"direction", "d2h"}}));
  all.push_back(way("cuda.host_latency", "write_combined", write_combined));
  all.push_back(coherent(way("cuda.host_latency", "pageable", pageable)));
  all.push_back(of_three(way("cuda.peer_latency", "stride", {{"order", "stride"}})));
  all.push_back(by_gdrdrv("bar.crossover", "read", {{"direction", "read"}}));
  all.push_back(by_gdrdrv("bar.crossover", "several_sizes", {{"sizes", "64,4KiB,2MiB"}}));
  all.push_back(by_gdrdrv("bar.write_bw", "above_cache", {{"sizes", kAboveCache}}));
  all.push_back(by_gdrdrv("bar.read_bw", "several_sizes", {{"sizes", "1,4KiB,64KiB"}}));
  all.push_back(by_gdrdrv("bar.map_cost", "several_sizes", {{"sizes", "64KiB,2MiB"}}));
}

std::vector<Way> combinations() {
  std::vector<Way> all;
  add_host_copies(all);
  add_gpu_copies(all);
  add_latencies_and_bar(all);
  // A catalog without GPU kernels is a build on the way to them.
  std::erase_if(all, [](const Way& way) { return find_kernel(way.kernel) == nullptr; });
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryCombination);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryCombination, ::testing::ValuesIn(combinations()), test_name);

}  // namespace
}  // namespace railgauge
