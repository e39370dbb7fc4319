// Every collective on the GPUs of this machine, one process a rank as in production: on one GPU and
// on all of them, by NCCL's own choice (direct copies) and by sockets alone, with verified data.
// Waives without a GPU or NCCL. This test's environment turns NVLink multicast off, because shared
// machines do not permit it to everybody.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/fakes/recorder.h"
#include "kernels/nccl/data.h"
#include "kernels/testing/gpu_presence.h"
#include "kernels/testing/nccl_gpu_ranks.h"

namespace railgauge {
namespace {

using nccl_gpu::Ended;
using nccl_gpu::gpus_here;
using nccl_gpu::run_ranks;
using nccl_gpu::said_by_child;
using nccl_gpu::Way;

constexpr std::uint32_t kMostRanks = 8;

class OnGpus : public ::testing::TestWithParam<Way> {};

TEST_P(OnGpus, MeasuresVerifiedFiguresOrWaivesWithAReason) {
  Way way = GetParam();
  ASSERT_NE(gpus_here().kind, GpuPresence::Kind::kBroken) << gpus_here().why;
  if (gpus_here().kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << gpus_here().why;
  const auto gpus = static_cast<std::uint32_t>(gpus_here().count);
  if (way.ranks != 1) way.ranks = std::min(gpus, kMostRanks);
  if (way.ranks == 1 && GetParam().ranks != 1) GTEST_SKIP() << "one GPU";
  const std::vector<Ended> all = run_ranks(way);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Ended& ended = all[rank];
    if (ended.code == Code{0}) continue;
    ASSERT_EQ(outcome_of(ended.code), kWaived)
        << way.kernel << " rank " << rank << " of " << all.size() << ": " << ended.message;
    GTEST_SKIP() << ended.message;
  }
  int points = 0;
  int transports = 0;
  for (const std::string& line : all[0].lines) {
    std::printf("%s of %zu%s: %s\n", way.kernel.c_str(), all.size(),
                way.sockets ? " by sockets" : "", line.c_str());
    if (line.starts_with("fact ")) {
      if (way.sockets && line.starts_with("fact nccl_transports: ")) {
        ++transports;
        EXPECT_THAT(line, ::testing::HasSubstr("NET/Socket"));
      }
      continue;
    }
    ++points;
    EXPECT_THAT(line, ::testing::HasSubstr(", verified"));
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("synthetic")));
    EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr(": 0 (")));
  }
  EXPECT_GT(points, 0);
  if (way.sockets) {
    EXPECT_EQ(transports, 1) << "what was used is not told";
  }
}

// The other ranks wait in vain, inside NCCL or on the GPU; they give up, abort, and report their
// place.
TEST(OnGpusThatLoseARank, TheOthersEndAndSayWhere) {
  ASSERT_NE(gpus_here().kind, GpuPresence::Kind::kBroken) << gpus_here().why;
  if (gpus_here().kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << gpus_here().why;
  const auto gpus = static_cast<std::uint32_t>(gpus_here().count);
  if (gpus < 2) GTEST_SKIP() << "one GPU";
  // Steps: four of the meeting, joined (5), memory (6), first calls (7), the path (8), first calls
  // of the size (9), an order (10) and its result (11). So: while the others join, while they make
  // first calls, in the call that reports the choice, in a batch.
  for (const std::uint32_t step : {4U, 6U, 10U, 16U}) {
    SCOPED_TRACE(step);
    const std::vector<Ended> all = run_ranks({.kernel = "nccl.all_reduce",
                                              .ranks = std::min(gpus, kMostRanks),
                                              .parameters = {{"sizes", "1MiB"},
                                                             {"busy", "measure"},
                                                             {"numa", "any"},
                                                             {"stall_timeout", "5s"},
                                                             {"join_timeout", "5s"}},
                                              .last_dies_at = step});
    for (std::size_t rank = 0; rank + 1 < all.size(); ++rank) {
      const Ended& ended = all[rank];
      if (ended.code != Code{0} && outcome_of(ended.code) == kWaived) GTEST_SKIP() << ended.message;
      std::printf("  rank %zu: %s\n", rank, ended.message.c_str());
      EXPECT_NE(ended.code, Code{0});
      EXPECT_THAT(ended.message,
                  ::testing::HasSubstr("(this is rank " + std::to_string(rank) + ", at: "));
    }
  }
}

const std::string kWaivedMark = "waived: ";  // NOLINT(cert-err58-cpp)

// In a process of its own: what becomes of a buffer of `type` whose element number `spoiled` has
// one wrong bit; "" for what must become of it.
std::string verify_spoiled(nc::DataType type, std::uint64_t count, std::uint64_t spoiled) {
  const auto look = [&]() -> Status {
    const gpu::Gpu gpu = RG_TRY(gpu::Gpu::open("gpu0"));
    RG_TRY_OK(gpu.make_current());
    nccl::Data data = RG_TRY(nccl::Data::create(gpu));
    const std::uint64_t bytes = nccl::bytes_of(type);
    const GpuBuffer memory = RG_TRY(GpuBuffer::allocate(gpu.name(), count * bytes));
    const nccl::Values values{.type = type, .reduced = true, .seed = 11, .ranks = 1};
    const std::vector<nccl::Segment> all{{.count = count}};
    RG_TRY_OK(data.fill(memory.data(), count, values, 0));
    RG_TRY_OK(data.verify(memory.data(), all, values, "unspoiled"));
    const cu::DevicePtr at = memory.data() + spoiled * bytes;
    unsigned char byte = 0;
    RG_TRY_OK(gpu_status(gpu, loaded_cuda().memcpy_dtoh(&byte, at, 1), "read a byte"));
    byte ^= 1U;
    RG_TRY_OK(gpu_status(gpu, loaded_cuda().memcpy_htod(at, &byte, 1), "spoil a byte"));
    return data.verify(memory.data(), all, values, "spoiled");
  };
  const Status seen = look();
  if (seen) return "nothing was found wrong";
  if (outcome_of(seen.error().code) == kWaived) return kWaivedMark + seen.error().message;
  const std::string expected = "spoiled: element " + std::to_string(spoiled) + " is ";
  return seen.error().code == Code::kDataLoss && seen.error().message.starts_with(expected)
             ? ""
             : seen.error().message;
}

// The verification of every figure, on the GPU itself: a check that finds nothing would pass all
// else.
TEST(OnAGpu, ASpoiledByteIsFoundAndNamed) {
  ASSERT_NE(gpus_here().kind, GpuPresence::Kind::kBroken) << gpus_here().why;
  if (gpus_here().kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << gpus_here().why;
  constexpr std::uint64_t kCount = (1U << 20U) + 3;
  for (const nc::DataType type : {nc::kFloat32, nc::kBfloat16, nc::kInt8, nc::kUint64})
    for (const std::uint64_t spoiled : {std::uint64_t{0}, kCount / 2, kCount - 1}) {
      SCOPED_TRACE(std::to_string(type) + " at " + std::to_string(spoiled));
      const auto said = said_by_child([&] { return verify_spoiled(type, kCount, spoiled); });
      if (said && said->starts_with(kWaivedMark)) GTEST_SKIP() << *said;
      EXPECT_EQ(said.value_or("its process ended without a word"), "");
    }
}

using Parameters = std::map<std::string, std::string>;

Parameters quick(const Parameters& more) {
  Parameters all = more;
  all.insert({{"sizes", "8,64KiB,16MiB"}, {"time_cap", "1s"}, {"min_samples", "20"}});
  all.insert({{"busy", "measure"}, {"numa", "any"}, {"stall_timeout", "30s"}});
  return all;
}

std::vector<Way> ways() {
  constexpr std::uint32_t kAll = 0;
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const std::string name = row.info().name();
    if (!name.starts_with("nccl.")) continue;
    if (name == "nccl.init") {
      const Parameters few{{"busy", "measure"}, {"numa", "any"}, {"iterations", "3"}};
      all.push_back({name, 1, false, few});
      all.push_back({name, kAll, false, few});
      continue;
    }
    Parameters given = quick({});
    if (name == "nccl.gin_signal_lat") given.erase("sizes");  // a signal has no bytes
    all.push_back({name, 1, false, given});
    all.push_back({name, kAll, false, given});
    all.push_back({name, kAll, true, given});
  }
  const auto more = [&](const char* kernel, const Parameters& given) {
    all.push_back({kernel, kAll, false, quick(given)});
  };
  for (const char* kernel : {"nccl.all_reduce", "nccl.all_gather", "nccl.reduce_scatter"}) {
    more(kernel, {{"in_place", "true"}});
    more(kernel, {{"mode", "graph"}});
    more(kernel, {{"registered", "true"}});
    more(kernel, {{"registered", "symmetric"}});
    more(kernel, {{"mode", "graph"}, {"registered", "allocated"}});
    more(kernel, {{"aggregate", "4"}});
    more(kernel, {{"blocking", "false"}});
    more(kernel, {{"cta_policy", "efficiency"}});
  }
  for (const char* kernel : {"nccl.gather", "nccl.scatter", "nccl.hypercube"})
    more(kernel, {{"in_place", "true"}});
  // One group of all ranks, so that any number of GPUs has it.
  more("nccl.all_reduce", {{"split", "and 0"}});
  more("nccl.all_to_all_v", {{"spread", "0.3"}});
  for (const char* type :
       {"float16", "bfloat16", "float64", "float8e4m3", "float8e5m2", "int8", "uint64"})
    for (const char* reduction : {"sum", "prod", "avg", "max"})
      more("nccl.all_reduce",
           {{"datatype", type}, {"reduction", reduction}, {"sizes", "1MiB"}, {"iterations", "5"}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, OnGpus, ::testing::ValuesIn(ways()), [](const auto& param) {
  const Way& way = param.param;
  std::string name = way.kernel.substr(5) + (way.ranks == 1 ? "_one" : "_all");
  if (way.sockets) name += "_sockets";
  for (const char* parameter : {"in_place", "mode", "registered", "datatype", "reduction",
                                "aggregate", "blocking", "cta_policy", "split", "spread"})
    if (way.parameters.contains(parameter)) {
      const std::string& value = way.parameters.at(parameter);
      name += std::string("_") + (value == "true" ? parameter : value);
    }
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace railgauge
