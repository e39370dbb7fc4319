// Parts of the MPI family that need no MPI.
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/binding/launched.h"
#include "kernels/mpi/binding/library_facts.h"
#include "kernels/mpi/data.h"
#include "kernels/mpi/over_ranks.h"
#include "kernels/mpi/parts.h"

namespace railgauge::mpi {
namespace {

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(LaunchedRank, IsWhatAnyLauncherSays) {
  const auto open_mpi = launched_rank(environment_of({{"OMPI_COMM_WORLD_RANK", "5"},
                                                      {"OMPI_COMM_WORLD_SIZE", "8"},
                                                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}));
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->rank, 5U);
  EXPECT_EQ(open_mpi->size, 8U);
  EXPECT_EQ(open_mpi->local_rank, 1U);
  EXPECT_EQ(open_mpi->mpi, "openmpi");
  const auto hydra = launched_rank(environment_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}));
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->size, 2U);
  EXPECT_EQ(hydra->mpi, "mpich");
  const auto slurm =
      launched_rank(environment_of({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}));
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->mpi, "") << "srun starts programs of either";
}

TEST(LaunchedRank, IsNoneWithoutALauncherOrOfNonsense) {
  EXPECT_FALSE(launched_rank(environment_of({})));
  EXPECT_FALSE(launched_rank(environment_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}})));
  EXPECT_FALSE(launched_rank(environment_of({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}})));
  EXPECT_FALSE(launched_rank(environment_of({{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}})));
  EXPECT_FALSE(launched_rank(environment_of({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}})));
}

TEST(LibraryFacts, AreReadFromEachLibrarysWords) {
  auto facts =
      library_facts("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4");
  EXPECT_EQ(facts["mpi_version"], "Open MPI 4.1.4");
  facts = library_facts(
      "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 2022\nMPICH Device:\tch4:ucx\n");
  EXPECT_EQ(facts["mpi_version"], "MPICH 4.0.2");
  EXPECT_EQ(facts["mpi_device"], "ch4:ucx");
  facts = library_facts("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Device       :\tch3:mrail\n");
  EXPECT_EQ(facts["mpi_version"], "MVAPICH2 2.3.7");
  EXPECT_EQ(facts["mpi_device"], "ch3:mrail");
  facts = library_facts("MPICH Version 5\nMPICH Device: ch4\n");
  EXPECT_EQ(facts["mpi_version"], "MPICH Version 5") << "the colon of another line";
  facts = library_facts("Something new 7\nmore");
  EXPECT_EQ(facts["mpi_version"], "Something new 7");
  EXPECT_FALSE(facts.contains("mpi_device"));
}

TEST(ComponentName, IsGivenOnlyWhereTheRecordIsOfThatFramework) {
  std::string record(kComponentBytes, '\0');
  record.replace(40, 3, "pml");
  record.replace(84, 3, "ob1");
  EXPECT_EQ(component_name(record, "pml"), "ob1");
  EXPECT_EQ(component_name(record, "btl"), "");
  EXPECT_EQ(component_name(record.substr(1), "pml"), "");
  record.replace(84, 64, std::string(64, '\x7f'));
  EXPECT_EQ(component_name(record, "pml"), "");
}

TEST(Parts, DealOutEveryElementOnce) {
  for (const std::uint32_t ranks : {2U, 3U, 4U, 7U}) {
    Share share{.bytes = 4000, .ranks = ranks};
    std::uint64_t next = 0;
    for (share.rank = 0; share.rank < ranks; ++share.rank) {
      EXPECT_EQ(part_of(share).first_float, next);
      next += part_of(share).bytes / 4;
    }
    EXPECT_EQ(next, 1000U);
  }
}

TEST(Share, GivesEachMessageInFlightAPlaceUntilMemoryWouldGrow) {
  EXPECT_EQ((Share{.bytes = 8, .window = 64}.places()), 64U);
  EXPECT_EQ((Share{.bytes = 4U << 20U, .window = 64}.places()), 16U);
  EXPECT_EQ((Share{.bytes = 1U << 30U, .window = 64}.places()), 1U);
  EXPECT_EQ((Share{.bytes = 0, .window = 64}.places()), 64U);
  EXPECT_EQ((Share{.bytes = 8, .window = 64, .one_buffer = true}.places()), 1U);
  EXPECT_EQ((Share{.bytes = 8, .window = 64, .one_buffer = true}.place(63)), 0U);
}

// This test's program has no MPI.
struct Nobody final : Reporter {
  void point(Point /*point*/) override {}
  void note(std::string_view /*severity*/, std::string /*text*/) override {}
  void fact(std::string_view /*name*/, std::string /*value*/) override {}
};

TEST(Bench, NamesTheProgramsThatHaveAnMpi) {
  static constexpr Operation kAny{.name = "mpi.any", .summary = "any"};
  const auto params = Params::parse(info_of(kAny), {});
  ASSERT_TRUE(params) << params.error().message;
  Nobody reporter;
  TickClock clock = TickClock::calibrate({.calibration_seconds = 0.02});
  Context context{*params, reporter, clock, "", 0, false};
  const Status prepared = Bench(kAny).prepare(context);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Code::kUnimplemented);
  EXPECT_NE(prepared.error().message.find("`mpirun -n 2 railgauge-runner-openmpi mpi.any`"),
            std::string::npos);
}

TEST(OneOfRanks, IsTheSlowestOrTheMean) {
  OneOfRanks slowest(OverRanks::kSlowest);
  OneOfRanks mean(OverRanks::kMean);
  EXPECT_EQ(mean.ns(), 0);
  for (const double ns : {10.0, 40.0, 25.0}) {
    slowest.add(ns);
    mean.add(ns);
  }
  EXPECT_EQ(slowest.ns(), 40);
  EXPECT_EQ(mean.ns(), 25);
}

TEST(RankMeans, AreTheirMeanTheLeastAndTheMost) {
  const auto facts = rank_mean_facts({{10, 20}, {40, 60}, {30, 30}});
  EXPECT_EQ(facts.at(kRankMeansFact), "31.7");
  EXPECT_EQ(facts.at(kLeastRankMeanFact), "15.0");
  EXPECT_EQ(facts.at(kMostRankMeanFact), "50.0");
  EXPECT_TRUE(rank_mean_facts({{10}, {}}).empty());
  EXPECT_TRUE(rank_mean_facts({}).empty());
}

TEST(Data, ShowsAnyWrongByteAndAnyWrongSum) {
  std::vector<std::byte> memory(4096);
  const Segment segment{.offset = 64, .bytes = 1000, .rank = 1, .block = 3};
  const Content content{.size_index = 2, .number = kTimedCalls, .ranks = 2};
  fill_segment(memory, segment, content);
  EXPECT_FALSE(wrong_in(memory, segment, content));
  for (const Segment& other : {Segment{64, 1000, 0, 3}, Segment{64, 1000, 1, 2}})
    EXPECT_TRUE(wrong_in(memory, other, content));
  for (const Content& other :
       {Content{.size_index = 1, .number = kTimedCalls, .ranks = 2},
        Content{.size_index = 2, .number = kWarmUpCalls, .ranks = 2},
        Content{.size_index = 2, .number = kFirstProofCall, .ranks = 2},
        Content{.size_index = 2, .number = kTimedCalls, .place = 1, .ranks = 2}})
    EXPECT_TRUE(wrong_in(memory, segment, other));
  memory[1063] ^= std::byte{1};
  ASSERT_TRUE(wrong_in(memory, segment, content));
  EXPECT_TRUE(wrong_in(memory, segment, content)->starts_with("byte 1063 is 0x"));

  // The sum of three ranks, by hand.
  std::vector<std::byte> sum(400);
  const Content summed{.reduces = true, .ranks = 3};
  for (std::size_t i = 0; i < 100; ++i) {
    float total = 0;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      std::vector<std::byte> one(400);
      fill_segment(one, {.bytes = 400, .rank = rank}, summed);
      float value = 0;
      std::memcpy(&value, one.data() + i * 4, 4);
      total += value;
    }
    std::memcpy(sum.data() + i * 4, &total, 4);
  }
  EXPECT_FALSE(wrong_in(sum, {.bytes = 400}, summed));
  EXPECT_TRUE(wrong_in(sum, {.bytes = 400}, {.reduces = true, .ranks = 2}));
  EXPECT_TRUE(wrong_in(sum, {.bytes = 400}, {.number = 7, .reduces = true, .ranks = 3}));
  sum[4] ^= std::byte{1};
  EXPECT_TRUE(wrong_in(sum, {.bytes = 400}, summed));
}

// Each partial sum as float has it, as an MPI adds them, against the same in whole numbers.
TEST(Data, SumsOfThousandsOfRanksAreExactInAnyOrder) {
  constexpr std::size_t kElements = 16;
  for (const std::uint32_t ranks : {2U, 3U, 65U, 4096U}) {
    SCOPED_TRACE(ranks);
    const Content content{.size_index = 3, .number = 1'000'000, .reduces = true, .ranks = ranks};
    std::vector<float> up(kElements);
    std::vector<float> down(kElements);
    std::vector<std::uint64_t> whole(kElements);
    std::vector<float> one(kElements);
    for (std::uint32_t i = 0; i < ranks; ++i) {
      const auto fill = [&](std::uint32_t rank) {
        fill_segment(std::as_writable_bytes(std::span(one)),
                     {.bytes = kElements * sizeof(float), .rank = rank}, content);
      };
      fill(i);
      for (std::size_t at = 0; at < kElements; ++at) {
        up[at] += one[at];
        whole[at] += static_cast<std::uint64_t>(one[at]);
      }
      fill(ranks - 1 - i);
      for (std::size_t at = 0; at < kElements; ++at) down[at] += one[at];
    }
    for (std::size_t at = 0; at < kElements; ++at)
      EXPECT_EQ(static_cast<std::uint64_t>(up[at]), whole[at]) << at;
    const Segment all{.bytes = kElements * sizeof(float)};
    for (const auto* sum : {&up, &down}) {
      const auto wrong = wrong_in(std::as_bytes(std::span(*sum)), all, content);
      EXPECT_FALSE(wrong) << *wrong;
    }
  }
}

// Memory that calls change is what all of them left there, and what the last one found.
TEST(Data, OfCallsThatChangeMemoryCountsThem) {
  const Segment target{.bytes = 64};
  const Segment fetched{.bytes = 64, .state = Segment::State::kBefore};
  for (const Effect effect : {Effect::kAddsWords, Effect::kAddsNumbers, Effect::kSwaps}) {
    const auto after = [&](std::uint64_t calls) {
      return Content{.number = kTimedCalls, .effect = effect, .calls = calls};
    };
    std::vector<std::byte> added(64);
    fill_segment(added, target, {.number = kTimedCalls});
    // One call, by hand.
    std::vector<std::byte> memory(64, kNotReceived);
    EXPECT_FALSE(wrong_in(memory, fetched, after(1))) << "nothing was there before the first one";
    if (effect == Effect::kSwaps) {
      memory = added;
    } else {
      const std::size_t width = effect == Effect::kAddsWords ? 4 : 8;
      for (std::size_t at = 0; at < memory.size(); at += width) {
        std::uint64_t sum = 0;
        std::uint64_t more = 0;
        std::memcpy(&sum, memory.data() + at, width);
        std::memcpy(&more, added.data() + at, width);
        sum += more;
        std::memcpy(memory.data() + at, &sum, width);
      }
    }
    EXPECT_FALSE(wrong_in(memory, target, after(1)));
    EXPECT_FALSE(wrong_in(memory, fetched, after(2)));
    EXPECT_TRUE(wrong_in(memory, target, after(2))) << "a call was dropped";
    EXPECT_TRUE(wrong_in(memory, fetched, after(1))) << "it came twice";
    memory[40] ^= std::byte{1};
    EXPECT_TRUE(wrong_in(memory, target, after(1)));
  }
}

TEST(Neighbours, AreBothBesideARankAndEachOtherOfTwo) {
  EXPECT_EQ(neighbours(0, 2), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(neighbours(1, 2), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(neighbours(0, 4), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(neighbours(2, 3), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(neighbours(0, 1).empty());
}

// A repeated or exchanged message of a reduction must not pass for the right one.
TEST(Data, OfTwoCallsHardlyEverHasEqualSums) {
  std::vector<std::byte> eight(8);
  const Segment segment{.bytes = 8};
  int equal = 0;
  for (std::uint64_t number = kFirstProofCall; number < 100'000; ++number) {
    fill_segment(eight, segment, {.number = number, .reduces = true, .ranks = 1});
    if (!wrong_in(eight, segment, {.number = number + 1, .reduces = true, .ranks = 1})) ++equal;
  }
  EXPECT_EQ(equal, 0);
}

}  // namespace
}  // namespace railgauge::mpi
