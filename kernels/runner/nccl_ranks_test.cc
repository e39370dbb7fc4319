// The product's runner with the real collectives, on the fake driver and the fake NCCL whose ranks
// are processes: three runners as children of agents, whose steps the test relays as the controller
// does. One of them is stopped or killed while it measures.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/group/step_answers.h"
#include "kernels/runner/testing/rank.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_process::RankProcess;

constexpr std::uint32_t kRanks = 3;
constexpr double kDeadlineSeconds = 6;
constexpr const char* kSampling = "sampling 8 B";

std::vector<std::string> environment() {
  const std::string folder = std::string(std::getenv("RAILGAUGE_BUILD_DIR")) + "/lib/";
  return {"RAILGAUGE_LIBCUDA=" + folder + "libcuda-fake.so",
          "RAILGAUGE_LIBNVML=" + folder + "libnvidia-ml-fake.so",
          "RAILGAUGE_LIBNCCL=" + folder + "libnccl-fake.so",
          "RAILGAUGE_FAKE_CUDA=gpus=4",
          "RAILGAUGE_FAKE_NVML=gpus=4",
          "RAILGAUGE_FAKE_NCCL=processes,slow_us=5000"};  // a batch lasts long enough to be hit
}

class NcclRanks : public testing::Test {
 protected:
  // Brings all ranks past prepare and go. Without endpoints each rank on a host takes another GPU.
  void begin(const std::string& iterations, double deadline_seconds = kDeadlineSeconds) {
    TaskRequest task;
    task.set_kernel("nccl.all_reduce");
    task.mutable_parameters()->insert({"sizes", "8"});
    task.mutable_parameters()->insert({"iterations", iterations});
    task.mutable_parameters()->insert({"numa", "any"});
    task.mutable_parameters()->insert({"proof_time", "50ms"});  // a call takes 5 ms
    task.set_size(kRanks);
    task.set_deadline_seconds(deadline_seconds);
    begin_ns_ = monotonic_now_ns();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      ranks_.push_back(std::make_unique<RankProcess>(environment()));
      task.mutable_key()->set_rank(rank);
      ranks_.back()->start(task);
    }
    for (auto& rank : ranks_) {
      const auto prepared = rank->hear();
      ASSERT_TRUE(prepared && prepared->has_prepared());
    }
    ToRunner go;
    go.mutable_go();
    for (auto& rank : ranks_) rank->process.tell(go);
  }
  // Relays one step of all ranks. False: a rank has ended.
  bool relay() {
    std::vector<GroupStep> said;
    for (auto& rank : ranks_) {
      auto heard = rank->hear();
      if (!heard) return false;
      said.push_back(std::move(*heard->mutable_step()));
    }
    last_ = said;
    const StepAnswers answers = answers_of(last_.front().step(), std::move(said));
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      ToRunner answer;
      *answer.mutable_step() = last_[rank].brief() ? answers.brief : answers.full;
      ranks_[rank]->process.tell(answer);
    }
    return true;
  }
  // Steps of the sampling are alternately orders and results; an odd number leaves all ranks in the
  // middle of a batch.
  void relay_into_the_sampling(int steps) {
    for (int sampled = 0; sampled < steps;) {
      ASSERT_TRUE(relay()) << ranks_[0]->records.back().ShortDebugString();
      if (last_[0].at() == kSampling) ++sampled;
    }
  }
  // The last that it says, and its end.
  void expect_given_up(std::uint32_t rank, bool in_a_call, const std::string& why) {
    SCOPED_TRACE(rank);
    const auto told = ranks_[rank]->hear();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->step().at(), kSampling);
    EXPECT_EQ(told->step().loudness() > 0, in_a_call) << "its error must be told to the others";
    EXPECT_FALSE(ranks_[rank]->hear());
    EXPECT_LE(seconds(), kDeadlineSeconds + 0.5) << "later than its deadline";
    const Final& end = ranks_[rank]->final();
    EXPECT_EQ(end.outcome(), kTimedOut) << end.reason();
    EXPECT_THAT(end.reason(), HasSubstr(why));
    EXPECT_THAT(end.reason(),
                HasSubstr("(this is rank " + std::to_string(rank) + ", at: " + kSampling + ")"));
  }
  [[nodiscard]] double seconds() const { return (monotonic_now_ns() - begin_ns_) / 1e9; }

  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::vector<GroupStep> last_;  // the last step of each rank
  double begin_ns_ = 0;
};

TEST_F(NcclRanks, MeetInProcessesOfTheirOwnAndMeasure) {
  begin("40", 60);
  while (relay()) {
  }
  for (auto& rank : ranks_) {
    while (rank->hear()) {
    }
    EXPECT_EQ(rank->final().outcome(), kPassed) << rank->final().reason();
  }
  int points = 0;
  for (const Record& record : ranks_[0]->records) {
    if (!record.has_point()) continue;
    ++points;
    EXPECT_TRUE(record.point().verified());
    EXPECT_TRUE(record.point().synthetic());
  }
  EXPECT_EQ(points, 6) << "three metrics, two meanings";
}

// Stopped in the middle of a batch: its part of the collective never comes.
TEST_F(NcclRanks, OfWhichOneHangsEndByTheDeadlineAndSayWhereTheyWere) {
  begin("1000000");
  relay_into_the_sampling(7);
  ranks_[1]->process.signal(SIGSTOP);
  EXPECT_EQ(last_[1].at(), kSampling) << "what the controller names as its last place";
  for (const std::uint32_t rank : {0U, 2U})
    expect_given_up(rank, true, "another rank is gone or stuck");
}

// Rank 0 makes the unique id, orders and hears all. Stopped when it is to order the next batch.
TEST_F(NcclRanks, OfWhichTheFirstHangsEndTheSameWay) {
  begin("1000000");
  relay_into_the_sampling(6);
  ranks_[0]->process.signal(SIGSTOP);
  for (const std::uint32_t rank : {1U, 2U})
    expect_given_up(rank, false, "agent sent no rendezvous step");
}

// While the others join, which is inside of a library: that call is left behind.
TEST_F(NcclRanks, OfWhichOneHangsBeforeItJoinsEndToo) {
  begin("1000000");
  for (int step = 0; step < 4; ++step) ASSERT_TRUE(relay());
  ranks_[2]->process.signal(SIGSTOP);
  for (const std::uint32_t rank : {0U, 1U}) {
    ASSERT_TRUE(ranks_[rank]->hear());
    EXPECT_FALSE(ranks_[rank]->hear());
    EXPECT_LE(seconds(), kDeadlineSeconds + 0.5);
    EXPECT_EQ(ranks_[rank]->final().outcome(), kTimedOut);
    EXPECT_THAT(ranks_[rank]->final().reason(), HasSubstr("at: joining the communicator)"));
  }
}

}  // namespace
}  // namespace railgauge
