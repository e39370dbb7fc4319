// The copy bandwidths end to end on the fake driver: which copies run, which are verified, which
// facts are reported. The figures mean nothing.
#include <gmock/gmock.h>

#include <deque>
#include <set>

#include "kernels/core/kernel.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kCudaHostCopyBw;
extern const KernelRow kCudaPeerCopyBw;
extern const KernelRow kCudaFanCopyBw;
extern const KernelRow kCudaLocalCopyBw;
}  // namespace railgauge

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using fake::RankResult;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr const char* kLarge = "2MiB";  // above the fake's second-level cache
using Parameters = std::map<std::string, std::string>;

RankResult run_once(const KernelRow& row, Parameters parameters) {
  parameters.try_emplace("iterations", "3");
  parameters.try_emplace("sizes", "64KiB");
  const bool single = row.info().endpoint_kind() == "gpu";
  return fake::run_solo(row, {.parameters = parameters, .endpoint = single ? "gpu0" : ""});
}

// On a very busy machine a load ends too early to cover the run, and the run reports it.
bool load_ended_early(const RankResult& result) {
  return !result.status && result.status.error().code == Code::kFailedPrecondition &&
         result.status.error().message.find("copy under load: the load") != std::string::npos;
}
constexpr int kTriesUnderLoad = 20;

RankResult run(const KernelRow& row, const Parameters& parameters) {
  RankResult result = run_once(row, parameters);
  for (int i = 1; i < kTriesUnderLoad && load_ended_early(result); ++i)
    result = run_once(row, parameters);
  return result;
}

std::vector<std::string> pairs_of(const KernelRow& row, const Parameters& parameters) {
  const RankResult result = run(row, parameters);
  EXPECT_TRUE(result.status) << result.status.error().message;
  std::vector<std::string> pairs;
  for (const Point& point : result.points) pairs.push_back(point.pair());
  return pairs;
}

class Copies : public gpu::OnFakes {};

struct Way {
  const char* name;
  const KernelRow* row;
  Parameters parameters;
  std::size_t points;  // of three GPUs
  const char* meaning;
};

class EachWay : public gpu::OnFakes, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    OnFakes::SetUp();
    cuda_control().gpus = 3;
  }
};

TEST_P(EachWay, MovesAndVerifiesWhatItReports) {
  const RankResult result = run(*GetParam().row, GetParam().parameters);
  ASSERT_TRUE(result.status) << result.status.error().message;
  ASSERT_EQ(result.points.size(), GetParam().points);
  for (const Point& point : result.points) {
    EXPECT_EQ(point.meaning(), GetParam().meaning);
    EXPECT_EQ(point.sample_count(), 3);
    EXPECT_TRUE(point.verified());
    EXPECT_TRUE(point.synthetic());
    EXPECT_GT(point.median(), 0);
  }
}

TEST_P(EachWay, FailsWhenAByteIsWrong) {
  cuda_control().flip_byte = 1;
  Parameters parameters = GetParam().parameters;
  parameters["iterations"] = "1";
  const RankResult result = run(*GetParam().row, parameters);
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  EXPECT_TRUE(result.points.empty());
}

// The copies of a run's last point that counted, by the fake's numbers from 1.
class HeldWork {
 public:
  // The last streams of each measured one: those of `samples`, and of others that were not kept. A
  // point's streams are made in their order, the measured ones first.
  HeldWork(const RankResult& passed, std::uint64_t samples) {
    const auto& facts = passed.points.back().facts();
    const auto number = [&facts](const char* fact, std::uint64_t absent) {
      return facts.contains(fact) ? std::stoull(facts.at(fact)) : absent;
    };
    const std::uint64_t measured = number("streams", 1);
    const std::uint64_t count =
        (samples + number("samples_without_load", 0)) * number("copies_in_sample", 1);
    const std::uint64_t lanes = cuda_control().streams_made / passed.points.size();
    const std::uint64_t first_stream = cuda_control().streams_made - lanes + 1;
    const auto streams = cuda_control().copy_streams();
    for (std::uint64_t lane = 0; lane < measured; ++lane) {
      std::vector<std::uint64_t> numbers;
      for (std::uint64_t i = 0; i < streams.size(); ++i)
        if (streams[i] == first_stream + lane) numbers.push_back(i + 1);
      numbers.erase(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(count));
      first_ = lane == 0 ? numbers.front() : std::max(first_, numbers.front());
      last_ = std::max(last_, numbers.back());
    }
  }
  // From this one on a whole stream's are lost; to this one some are.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t last() const { return last_; }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
};

// Copies that report success and move nothing. The warm-up's bytes prove nothing about them: not
// where its copies went through every slot (two of them at half the region), nor where there is
// one.
TEST_P(EachWay, NeverPassesWhenCopiesThatCountMovedNothing) {
  constexpr std::uint64_t kIterations = 3;
  for (const char* size : {"4KiB", "1MiB", kLarge}) {
    SCOPED_TRACE(size);
    // The other ways differ in their streams, not in this, and large copies at once take long.
    if (std::string_view(size) != "4KiB" && GetParam().points > 1) continue;
    Parameters parameters = GetParam().parameters;
    parameters["sizes"] = size;
    parameters["copies"] = "1";
    parameters["buffer"] = std::string_view(size) == kLarge ? "hot" : "cold";
    const auto run_losing_from = [&parameters](std::uint64_t number) {
      cuda_control().reset();
      cuda_control().gpus = 3;
      cuda_control().drop_copies_from = number;
      return run_once(*GetParam().row, parameters);
    };
    RankResult clean = run_losing_from(0);
    for (int i = 1; i < kTriesUnderLoad && load_ended_early(clean); ++i) clean = run_losing_from(0);
    ASSERT_TRUE(clean.status) << clean.status.error().message;
    const bool many_slots =
        std::string_view(size) == "4KiB" && clean.points.back().facts().contains("rotates_bytes");
    const HeldWork kept(clean, kIterations);
    for (const std::uint64_t from : {kept.first(), kept.last()}) {
      SCOPED_TRACE(from);
      const RankResult result = run_losing_from(from);
      if (result.status) {
        // How many copies come before those that count follows the time they take.
        const HeldWork seen(result, kIterations);
        EXPECT_GT(from, many_slots ? seen.last() : seen.first()) << "what was lost passed";
      } else {
        // On a machine that is busy enough it does not end in time either, or a load of copies that
        // move nothing ends too early to be one.
        EXPECT_THAT(result.status.error().code,
                    AnyOf(Code::kDataLoss, Code::kDeadlineExceeded, Code::kFailedPrecondition))
            << result.status.error().message;
      }
    }
  }
}

const Parameters kBothWays{{"bidirectional", "true"}};
Parameters with(Parameters parameters, const Parameters& more) {
  parameters.insert(more.begin(), more.end());
  return parameters;
}

std::vector<Way> ways() {
  const auto* host = &kCudaHostCopyBw;
  const auto* peer = &kCudaPeerCopyBw;
  const auto* fan = &kCudaFanCopyBw;
  const char* one_way = "unidirectional";
  const char* loaded = "unidirectional_under_load";
  const Parameters d2h{{"direction", "d2h"}};
  const Parameters write{{"direction", "write"}};
  const Parameters to_all{{"pattern", "host_to_all"}};
  const Parameters to_one{{"pattern", "all_to_one"}};
  const Parameters from_one{{"pattern", "one_to_all"}};
  return {
      {"h2d", host, {}, 1, one_way},
      {"d2h", host, d2h, 1, one_way},
      {"h2d_both_ways", host, kBothWays, 1, loaded},
      {"d2h_both_ways", host, with(d2h, kBothWays), 1, loaded},
      {"write_combined", host, {{"host_memory", "write_combined"}}, 1, one_way},
      {"pageable", host, {{"host_memory", "pageable"}}, 1, one_way},
      {"h2d_tma", host, {{"engine", "tma"}}, 1, one_way},
      {"peer_write_tma", peer, with(write, {{"engine", "tma"}}), 6, one_way},
      {"read", peer, {}, 6, one_way},
      {"write_both_ways", peer, with(write, kBothWays), 6, loaded},
      {"all_to_host", fan, {}, 3, loaded},
      {"all_to_host_both_ways", fan, kBothWays, 3, loaded},
      {"host_to_all", fan, to_all, 3, loaded},
      {"all_to_one", fan, to_one, 3, "overlap_sum"},
      {"all_to_one_write", fan, with(to_one, write), 3, "overlap_sum"},
      {"one_to_all_both_ways", fan, with(from_one, kBothWays), 3, "overlap_sum_under_load"},
      {"local", &kCudaLocalCopyBw, {}, 1, "copied_once"},
  };
}

std::vector<Way> ways_of_both_engines() {
  std::vector<Way> all = ways();
  static std::deque<std::string> names;  // made anew for each test: none may move
  for (const Way& way : ways()) {
    if (way.parameters.contains("host_memory") || way.parameters.contains("engine")) continue;
    Way by_sm = way;
    names.push_back(std::string("sm_") + way.name);
    by_sm.name = names.back().c_str();
    by_sm.parameters["engine"] = "sm";
    all.push_back(by_sm);
  }
  const Parameters again = with(kBothWays, {{"engine", "sm_again"}});
  all.push_back({"sm_again", &kCudaHostCopyBw, again, 1, "unidirectional_under_load"});
  all.push_back({"sm_again_all_to_host", &kCudaFanCopyBw, again, 3, "unidirectional_under_load"});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Ways, EachWay, ::testing::ValuesIn(ways_of_both_engines()),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_F(Copies, NameThePairByWhereTheDataGoes) {
  EXPECT_THAT(pairs_of(kCudaPeerCopyBw, {}), ElementsAre("gpu0>gpu1", "gpu1>gpu0"));
  EXPECT_THAT(pairs_of(kCudaFanCopyBw, {}), ElementsAre("gpu0>host", "gpu1>host"));
  EXPECT_THAT(pairs_of(kCudaFanCopyBw, {{"pattern", "host_to_all"}}),
              ElementsAre("host>gpu0", "host>gpu1"));
  EXPECT_THAT(pairs_of(kCudaFanCopyBw, {{"pattern", "all_to_one"}}),
              ElementsAre("all>gpu0", "all>gpu1"));
  EXPECT_THAT(pairs_of(kCudaFanCopyBw, {{"pattern", "one_to_all"}}),
              ElementsAre("gpu0>all", "gpu1>all"));
}

// A size that covers the cache is verified as a whole, by another way.
TEST_F(Copies, FailWhenAByteOfALargeOneIsWrong) {
  cuda_control().flip_byte = 1;
  for (const char* direction : {"h2d", "d2h"}) {
    const RankResult result = run(kCudaHostCopyBw, {{"direction", direction}, {"sizes", kLarge}});
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  }
}

TEST_F(Copies, SayWhenTheyRotateThroughABufferAndWhenOneCoversTheCache) {
  const RankResult result =
      run(kCudaHostCopyBw, {{"sizes", "3,4KiB,2MiB"}, {"iterations", "1"}, {"buffer", "cold"}});
  ASSERT_TRUE(result.status) << result.status.error().message;
  ASSERT_EQ(result.points.size(), 3U);
  EXPECT_EQ(result.points[0].facts().at("buffer"), "cold");
  EXPECT_EQ(result.points[0].facts().count("rotates_bytes"), 1U);
  EXPECT_EQ(result.points[1].facts().count("rotates_bytes"), 1U);
  EXPECT_EQ(result.points[2].facts().count("rotates_bytes"), 0U);
}

// As nvbandwidth's: one place, whatever its size.
TEST_F(Copies, StayInPlaceUnlessTheyAreToBeCold) {
  const RankResult result = run(kCudaHostCopyBw, {{"sizes", "4KiB,2MiB"}, {"iterations", "1"}});
  ASSERT_TRUE(result.status) << result.status.error().message;
  for (const Point& point : result.points) {
    EXPECT_EQ(point.facts().at("buffer"), "hot");
    EXPECT_EQ(point.facts().count("rotates_bytes"), 0U);
  }
}

TEST_F(Copies, SayOnWhichNodeTheHostsMemoryIs) {
  EXPECT_NE(run(kCudaHostCopyBw, {}).facts.at("host_node"), "");
  const RankResult fan = run(kCudaFanCopyBw, {});
  EXPECT_NE(fan.facts.at("gpu0_host_node"), "");
  EXPECT_NE(fan.facts.at("gpu1_host_node"), "");
  EXPECT_EQ(run(kCudaLocalCopyBw, {}).facts.count("host_node"), 0U) << "it has none";
}

TEST_F(Copies, SayByWhatTheyAreTimed) {
  const auto timed_by = [](const RankResult& result) {
    return result.points.at(0).facts().at("timed_by");
  };
  EXPECT_THAT(timed_by(run(kCudaHostCopyBw, {})), HasSubstr("gpu events"));
  const RankResult pageable = run(kCudaHostCopyBw, {{"host_memory", "pageable"}});
  EXPECT_THAT(timed_by(pageable), HasSubstr("cpu"));
  EXPECT_EQ(pageable.facts.at("host_memory_observed"), "pageable");
}

TEST_F(Copies, CountHalfOfWhatOneKernelMovesBothWays) {
  const RankResult result = run(kCudaHostCopyBw, {{"engine", "sm"}, {"bidirectional", "true"}});
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_THAT(result.points.at(0).facts().at("bytes_counted"), HasSubstr("half"));
}

TEST_F(Copies, OfWordsThatAreMovedAgainCountEachTimeAndVerifyEachSlice) {
  const Parameters again{{"engine", "sm_again"}, {"bidirectional", "true"}, {"copies", "1"}};
  const RankResult result = run(kCudaHostCopyBw, again);
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(result.points.at(0).facts().at("bytes_counted"),
            "half of the size: what one kernel moves one way, each byte 16 times; a launch moves a "
            "slice of 8192 bytes");
  EXPECT_THAT(result.facts.at("copy_threads"), HasSubstr("16 times, in blocks of 1024"));
  // The last of the three that are kept moves nothing. How many come before follows the time that
  // they take, so on a busy machine two runs may differ.
  for (int tries = 0; tries < 20; ++tries) {
    cuda_control().reset();
    ASSERT_TRUE(run(kCudaHostCopyBw, again).status);
    const std::uint64_t copies = cuda_control().copies;
    cuda_control().reset();
    cuda_control().drop_copies_from = copies;
    const RankResult lost = run(kCudaHostCopyBw, again);
    if (cuda_control().copies != copies) continue;
    ASSERT_FALSE(lost.status);
    EXPECT_EQ(lost.status.error().code, Code::kDataLoss) << lost.status.error().message;
    return;
  }
  FAIL() << "no two runs were alike";
}

TEST_F(Copies, TellTheMeanOfARateAsAllBytesOverAllTime) {
  const RankResult result = run(kCudaHostCopyBw, {{"iterations", "9"}});
  ASSERT_TRUE(result.status) << result.status.error().message;
  const Point& point = result.points.at(0);
  EXPECT_EQ(point.facts().at("mean_is"), "all bytes over all time");
  EXPECT_GE(point.mean(), point.min());
  EXPECT_LE(point.mean(), point.max());
}

TEST_F(Copies, NeverPassStagedCopiesAsPeerCopies) {
  cuda_control().no_peer = 1;
  const RankResult result = run(kCudaPeerCopyBw, {});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kUnimplemented);
  EXPECT_THAT(result.notes, Contains(HasSubstr("gpu0>gpu1: skipped")));
  EXPECT_TRUE(result.points.empty());
}

TEST_F(Copies, RefuseWhatCannotBeMeasured) {
  const std::pair<Parameters, const char*> kRefused[] = {
      // NOLINT(modernize-avoid-c-arrays)
      {{{"host_memory", "pageable"}, {"engine", "sm"}}, "cannot address it"},
      {{{"host_memory", "pageable"}, {"bidirectional", "true"}}, "several copies of pageable"},
      {{{"engine", "sm"}, {"bidirectional", "true"}, {"sizes", "512"}}, "multiple of 1024"},
  };
  for (const auto& [parameters, reason] : kRefused) {
    const RankResult result = run(kCudaHostCopyBw, parameters);
    ASSERT_FALSE(result.status) << reason;
    EXPECT_THAT(result.status.error().message, HasSubstr(reason));
  }
}

TEST_F(Copies, InBulkAreWaivedBeforeComputeCapability90) {
  cuda_control().capability = 89;
  const RankResult result = run(kCudaHostCopyBw, {{"engine", "tma"}});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kUnimplemented);
  EXPECT_THAT(result.status.error().message, HasSubstr("9.0"));
}

// Without the pages the copy waives, and says how many are missing.
TEST_F(Copies, FromHugePagesAreVerifiedOrWaivedWithTheirNumber) {
  const RankResult result = run(kCudaHostCopyBw, {{"host_memory", "huge"}});
  if (result.status) {
    EXPECT_TRUE(result.points[0].verified());
    return;
  }
  EXPECT_EQ(result.status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(result.status.error().message, HasSubstr("vm.nr_hugepages"));
}

TEST_F(Copies, OfDrawnPairsAreTheSameForTheSameSeed) {
  cuda_control().gpus = 4;
  const Parameters few{{"pairs", "3"}, {"pair_seed", "7"}};
  const auto drawn = pairs_of(kCudaPeerCopyBw, few);
  EXPECT_EQ(drawn.size(), 3U);
  EXPECT_EQ(pairs_of(kCudaPeerCopyBw, few), drawn);
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), 3U);
  EXPECT_EQ(pairs_of(kCudaPeerCopyBw, {{"pairs", "99"}}).size(), 12U);
  EXPECT_NE(pairs_of(kCudaPeerCopyBw, {{"pairs", "3"}, {"pair_seed", "8"}}), drawn);
}

TEST_F(Copies, NeedNoDeviceCodeButForTheSmEngine) {
  cuda_control().no_twins = 1;
  EXPECT_TRUE(run(kCudaHostCopyBw, {}).status);
  EXPECT_TRUE(run(kCudaHostCopyBw, {{"direction", "d2h"}, {"sizes", kLarge}}).status);
  EXPECT_EQ(run(kCudaHostCopyBw, {{"engine", "sm"}}).status.error().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace railgauge::cuda
