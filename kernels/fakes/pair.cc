#include "kernels/fakes/pair.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kernels/fakes/recorder.h"

namespace railgauge::fake {
namespace {

// A step of the rendezvous is complete when both ranks have come to it.
class Meeting {
 public:
  Result<std::vector<std::string>> exchange(std::uint32_t rank, std::string mine, double seconds) {
    std::unique_lock lock(mutex_);
    const std::size_t step = sent_[rank].size();
    sent_[rank].push_back(std::move(mine));
    changed_.notify_all();
    const auto& other = sent_[1 - rank];
    const bool came = changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                        [&] { return other.size() > step || gone_[1 - rank]; });
    if (other.size() > step) return std::vector<std::string>{sent_[0][step], sent_[1][step]};
    if (came) return fail(Code::kUnavailable, "rank " + std::to_string(1 - rank) + " is gone");
    return fail(Code::kDeadlineExceeded, "the group's step timed out");
  }
  void leave(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    gone_[rank] = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::vector<std::string>, 2> sent_;
  std::array<bool, 2> gone_{};
};

class MemoryGroup final : public Group {
 public:
  MemoryGroup(Meeting& meeting, std::uint32_t rank) : meeting_(meeting), rank_(rank) {}
  ~MemoryGroup() override { meeting_.leave(rank_); }
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return 2; }
  Result<std::vector<std::string>> exchange(std::string mine, double seconds) override {
    return meeting_.exchange(rank_, std::move(mine), seconds);
  }

 private:
  Meeting& meeting_;
  std::uint32_t rank_;
};

Status run_rank(const KernelRow& row, Context& context, Group& group) {
  const auto kernel = row.make();
  RG_TRY_OK(kernel->prepare(context));
  RG_TRY_OK(kernel->connect(context, group));
  return kernel->measure(context, group);
}

}  // namespace

TickClock& test_clock() {
  static TickClock clock = TickClock::calibrate({.calibration_seconds = 0.02});
  return clock;
}

std::array<RankResult, 2> run_pair(const KernelRow& row, const PairOptions& options) {
  std::array<RankResult, 2> results;
  Meeting meeting;
  test_clock();
  const double deadline_ns = monotonic_now_ns() + options.deadline_seconds * 1e9;
  const auto rank_main = [&](std::uint32_t rank) {
    auto given = options.parameters;
    if (rank == 1)
      for (const auto& [name, value] : options.target_parameters) given[name] = value;
    // One ring a size; a proof of the usual length is for the tests of proofs.
    const KernelInfo info = row.info();
    const auto has_proof = [](const ParameterInfo& one) { return one.name() == "proof_time"; };
    if (std::ranges::any_of(info.parameters(), has_proof)) given.emplace("proof_time", "0s");
    const auto params = Params::parse(info, given);
    RG_CHECK(params.has_value());
    Recorder recorder(results[rank]);
    MemoryGroup group(meeting, rank);
    Context context{
        *params, recorder, test_clock(), options.endpoints[rank], deadline_ns, options.raw_samples,
        rank};
    results[rank].status = run_rank(row, context, group);
  };
  std::thread target(rank_main, 1);
  rank_main(0);
  target.join();
  return results;
}

}  // namespace railgauge::fake
