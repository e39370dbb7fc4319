// Two ranks in two threads over an exchange in memory: their agreement and their messages.
#include "kernels/runner/meeting.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>

#include <gtest/gtest.h>

#include "kernels/runner/error_reporting_group.h"
#include "kernels/runner/testing/rows.h"

namespace railgauge {
namespace {

constexpr double kLong = 20;  // seconds

// Where two ranks meet.
struct Table {
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::vector<std::string>, 2> said;  // by rank, one for each step
};

class MemoryGroup final : public Group {
 public:
  MemoryGroup(Table& table, std::uint32_t rank) : table_(table), rank_(rank) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return 2; }
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override {
    std::unique_lock lock(table_.mutex);
    table_.said[rank_].push_back(std::move(mine));
    const std::size_t step = table_.said[rank_].size() - 1;
    table_.changed.notify_all();
    const auto& theirs = table_.said[1 - rank_];
    if (!table_.changed.wait_for(lock, std::chrono::duration<double>(timeout_seconds),
                                 [&] { return theirs.size() > step; }))
      return fail(Code::kDeadlineExceeded, "nobody came");
    return std::vector<std::string>{table_.said[0][step], table_.said[1][step]};
  }

 private:
  Table& table_;
  const std::uint32_t rank_;
};

// Runs `act` for both ranks; the results by rank.
template <class Act>
auto both(Act act) {
  Table table;
  const auto one = [&](std::uint32_t rank) {
    MemoryGroup group(table, rank);
    return act(group);
  };
  auto first = std::async(std::launch::async, one, 0U);
  auto second = std::async(std::launch::async, one, 1U);
  return std::pair(first.get(), second.get());
}

using Given = std::map<std::string, std::string>;

auto meet_both(const Given& connecting, const Given& listening,
               const KernelInfo& listener_kernel = testing_rows::rows()[0].info()) {
  return both([&](Group& group) {
    const bool connects = group.rank() == kConnectingRank;
    return meet(group, connects ? testing_rows::rows()[0].info() : listener_kernel,
                connects ? connecting : listening, connects ? 30 : 600);
  });
}

TEST(Meeting, TheConnectingSidesParametersAndDeadlineRule) {
  const auto [connecting, listening] = meet_both({{"sizes", "65536"}}, {});
  ASSERT_TRUE(connecting && listening);
  EXPECT_EQ(listening->params.effective(), connecting->params.effective());
  EXPECT_EQ(listening->params.effective().at("sizes"), "64KiB");
  EXPECT_EQ(listening->deadline_seconds, 30);
}

TEST(Meeting, TheSameValueInOtherWordsIsNoDifference) {
  const auto [connecting, listening] = meet_both({{"sizes", "65536"}}, {{"sizes", "64KiB"}});
  EXPECT_TRUE(connecting && listening);
}

TEST(Meeting, ADifferenceIsNamedOnBothSides) {
  const auto [connecting, listening] = meet_both({{"sizes", "8"}}, {{"sizes", "64KiB"}});
  ASSERT_FALSE(connecting || listening);
  EXPECT_EQ(connecting.error().code, Code::kInvalidArgument);
  EXPECT_EQ(connecting.error().message,
            "parameter sizes: the listener was given 64KiB, the connecting side 8");
  EXPECT_EQ(listening.error().message, connecting.error().message);
}

TEST(Meeting, WhatOnlyTheListenerWasGivenMustBeTheConnectingSidesDefault) {
  EXPECT_TRUE(meet_both({}, {{"seconds", "0"}}).first);
  EXPECT_EQ(meet_both({}, {{"seconds", "2"}}).first.error().message,
            "parameter seconds: the listener was given 2, the connecting side 0");
}

TEST(Meeting, EachSideKeepsItsOwnPerRankParameters) {
  KernelInfo kernel = testing_rows::rows()[0].info();
  ParameterInfo& index = *kernel.add_parameters();
  index.set_name("gid_index");
  index.set_type("integer");
  index.set_default_value("-1");
  const auto settle = [&](const Given& connecting, const Given& listening) {
    const auto settled = both([&](Group& group) {
      return meet(group, kernel, group.rank() == kConnectingRank ? connecting : listening, 30);
    });
    if (!settled.first || !settled.second) return std::string("refused");
    return settled.first->params.effective().at("gid_index") + " " +
           settled.second->params.effective().at("gid_index");
  };
  EXPECT_EQ(settle({{"gid_index", "1"}}, {{"gid_index", "3"}}), "refused");
  index.set_per_rank(true);
  EXPECT_EQ(settle({{"gid_index", "1"}}, {{"gid_index", "3"}}), "1 3");
  EXPECT_EQ(settle({{"gid_index", "1"}}, {}), "1 -1");
  EXPECT_EQ(settle({}, {{"gid_index", "3"}}), "-1 3");
}

TEST(Meeting, AnotherKernelOrRevisionIsNamed) {
  const auto other = meet_both({}, {}, testing_rows::rows()[1].info());
  EXPECT_EQ(other.first.error().message,
            "the listener runs test.latency, the connecting side test.bandwidth");
  KernelInfo newer = testing_rows::rows()[0].info();
  newer.set_revision(2);
  EXPECT_NE(meet_both({}, {}, newer).second.error().message.find("the listener has revision 2"),
            std::string::npos);
}

TEST(Telling, AgreeingRanksGoOnAndPayloadsPassUnchanged) {
  const auto [zero, one] = both([](Group& inner) {
    ErrorReportingGroup group(inner);
    EXPECT_TRUE(group.agree({}, kLong));
    return group.exchange(std::string("e7 looks like an error ") + "01"[group.rank()], kLong);
  });
  ASSERT_TRUE(zero && one);
  EXPECT_EQ((*zero)[1], "e7 looks like an error 1");
  EXPECT_EQ(*zero, *one);
}

TEST(Telling, AFailingRankTellsTheOtherItsErrorInPlaceOfAPayload) {
  const auto [zero, one] = both([](Group& inner) -> Status {
    ErrorReportingGroup group(inner);
    if (group.rank() == 1) return group.agree(fail(Code::kNotFound, "no device"), kLong);
    const auto all = group.exchange("address", kLong);
    return all ? Status{} : group.agree(tl::unexpected(all.error()), kLong);
  });
  EXPECT_EQ(one.error().message, "no device");
  EXPECT_EQ(zero.error().code, Code::kNotFound);
  EXPECT_EQ(zero.error().message, "rank 1: no device");
}

TEST(Telling, WhenBothFailEachNamesBothReasons) {
  const auto [zero, one] = both([](Group& inner) -> Status {
    ErrorReportingGroup group(inner);
    return group.agree(fail(Code::kDataLoss, group.rank() == 0 ? "zero" : "one"), kLong);
  });
  EXPECT_EQ(zero.error().message, "zero; rank 1: one");
  EXPECT_EQ(one.error().message, "one; rank 0: zero");
}

TEST(Telling, AStrangersWordsAreAnErrorNotAPayload) {
  for (const std::string words : {"", "e", "e99 no such code", "ex", "GET / HTTP/1.1"}) {
    const auto [zero, one] = both([&](Group& inner) -> Status {
      if (inner.rank() == 1) {
        RG_TRY_OK(inner.exchange(words, kLong));
        return {};
      }
      ErrorReportingGroup group(inner);
      return group.barrier(kLong);
    });
    EXPECT_TRUE(one);
    ASSERT_FALSE(zero) << words;
    EXPECT_EQ(zero.error().code, Code::kDataLoss) << words;
  }
}

}  // namespace
}  // namespace railgauge
