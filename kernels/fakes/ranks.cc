#include "kernels/fakes/ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/core/group/step_answers.h"
#include "kernels/fakes/recorder.h"

namespace railgauge::fake {
namespace {

// A step of the rendezvous is complete when all ranks have come to it.
class Meeting {
 public:
  explicit Meeting(std::uint32_t ranks) : sent_(ranks), gone_(ranks) {}

  // As the controller's relay.
  Result<GroupStep> exchange(std::uint32_t rank, GroupStep mine, double seconds) {
    std::unique_lock lock(mutex_);
    const std::size_t step = sent_[rank].size();
    const bool brief = mine.brief();
    sent_[rank].push_back(std::move(mine));
    changed_.notify_all();
    std::uint32_t lost = kNobody;
    const auto complete = [&] {
      for (const auto& sent : sent_)
        if (sent.size() <= step) return false;
      return true;
    };
    const auto ended = [&] {
      for (std::uint32_t other = 0; other < sent_.size(); ++other)
        if (sent_[other].size() <= step && gone_[other]) lost = other;
      return lost != kNobody || complete();
    };
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), ended);
    if (complete()) {
      std::vector<GroupStep> said;
      for (const auto& sent : sent_) said.push_back(sent[step]);
      StepAnswers answers = answers_of(static_cast<std::uint32_t>(step), std::move(said));
      return brief ? std::move(answers.brief) : std::move(answers.full);
    }
    if (lost != kNobody)
      return fail(Code::kUnavailable, "rank " + std::to_string(lost) + " is gone");
    std::uint32_t missing = 0;
    while (missing + 1 < sent_.size() && sent_[missing].size() > step) ++missing;
    return fail(Code::kDeadlineExceeded,
                "rank " + std::to_string(missing) + " did not answer in time");
  }
  void wait_until_alone(std::uint32_t rank) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      for (std::uint32_t other = 0; other < gone_.size(); ++other)
        if (other != rank && !gone_[other]) return false;
      return true;
    });
  }
  void leave(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    gone_[rank] = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<GroupStep>> sent_;
  std::vector<bool> gone_;
};

class MemoryGroup final : public Group {
 public:
  MemoryGroup(Meeting& meeting, std::uint32_t rank, const RanksOptions& options, RankResult& result)
      : meeting_(meeting), rank_(rank), options_(options), result_(result) {}
  ~MemoryGroup() override { meeting_.leave(rank_); }
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return options_.ranks; }
  Result<std::vector<std::string>> exchange(std::string mine, double seconds) override {
    return pass({}, std::move(mine), seconds);
  }
  Result<std::vector<std::string>> gather(std::string mine, Loudness loudness,
                                          double seconds) override {
    GroupStep said;
    said.set_brief(rank_ != 0);
    said.set_loudness(static_cast<std::uint32_t>(loudness));
    return pass(std::move(said), std::move(mine), seconds);
  }

 private:
  Result<std::vector<std::string>> pass(GroupStep said, std::string mine, double seconds) {
    const std::uint32_t step = step_++;
    said.add_payloads(std::move(mine));
    result_.most_said_bytes = std::max(result_.most_said_bytes, said.ByteSizeLong());
    if (options_.dies == rank_ && step >= options_.dies_at) {
      meeting_.leave(rank_);
      return fail(Code::kCancelled, "this rank's process has ended, as the test wants it");
    }
    auto answer = meeting_.exchange(rank_, std::move(said), seconds);
    if (options_.stalls == rank_ && step >= options_.stalls_after) {
      meeting_.wait_until_alone(rank_);
      return fail(Code::kCancelled, "this rank did nothing any more, as the test wants it");
    }
    if (!answer) return tl::unexpected(answer.error());
    result_.most_heard_bytes = std::max(result_.most_heard_bytes, answer->ByteSizeLong());
    return payloads_of(std::move(*answer), step, options_.ranks);
  }

  Meeting& meeting_;
  std::uint32_t rank_;
  const RanksOptions& options_;
  RankResult& result_;
  std::uint32_t step_ = 0;
};

struct Rank {
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Context> context;
  std::unique_ptr<Kernel> kernel;
};

Status meet(Rank& rank, Group& group) {
  RG_TRY_OK(rank.kernel->connect(*rank.context, group));
  return rank.kernel->measure(*rank.context, group);
}

std::string endpoint_of(const RanksOptions& options, std::uint32_t rank) {
  return options.endpoints.empty() ? "gpu" + std::to_string(rank) : options.endpoints[rank];
}

}  // namespace

std::vector<RankResult> run_ranks(const KernelRow& row, const RanksOptions& options) {
  std::vector<RankResult> results(options.ranks);
  const auto params = Params::parse(row.info(), options.parameters);
  if (!params) std::fprintf(stderr, "run_ranks: %s\n", params.error().message.c_str());
  RG_CHECK(params.has_value());
  const double deadline_ns = monotonic_now_ns() + options.deadline_seconds * 1e9;
  test_clock();
  std::vector<Rank> ranks(options.ranks);
  for (std::uint32_t i = 0; i < options.ranks; ++i) {
    ranks[i].recorder = std::make_unique<Recorder>(results[i]);
    ranks[i].context = std::make_unique<Context>(Context{*params, *ranks[i].recorder, test_clock(),
                                                         endpoint_of(options, i), deadline_ns,
                                                         options.raw_samples, i});
    ranks[i].kernel = row.make();
    results[i].status = ranks[i].kernel->prepare(*ranks[i].context);
    // No rank starts when one cannot.
    if (!results[i].status) return results;
  }
  Meeting meeting(options.ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < options.ranks; ++i)
    threads.emplace_back([&, i] {
      MemoryGroup group(meeting, i, options, results[i]);
      results[i].status = meet(ranks[i], group);
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace railgauge::fake
