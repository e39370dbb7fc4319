// The messages that each rank may send in an MPI task's steps, and the nodes' checks of each other.
#include "kernels/launch/node/relay.h"

#include <deque>
#include <future>

#include <gmock/gmock.h>

#include "kernels/core/base/clock.h"
#include "kernels/launch/job.h"

namespace railgauge {
namespace {

using ::testing::HasSubstr;

// A group of three ranks, two of them scripted; then it is cancelled.
class ToldGroup final : public Group {
 public:
  ToldGroup(std::uint32_t rank, std::deque<std::vector<LaunchStep>> steps)
      : rank_(rank), steps_(std::move(steps)) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return 3; }
  Result<std::vector<std::string>> exchange(std::string, double) override {
    if (steps_.empty()) return fail(Code::kCancelled, "no more steps");
    std::vector<std::string> all;
    for (const LaunchStep& one : steps_.front()) all.push_back(one.SerializeAsString());
    steps_.pop_front();
    return all;
  }

 private:
  const std::uint32_t rank_;
  std::deque<std::vector<LaunchStep>> steps_;
};

// A group whose steps end only when released.
class HeldGroup final : public Group {
 public:
  [[nodiscard]] std::uint32_t rank() const override { return 1; }
  [[nodiscard]] std::uint32_t size() const override { return 2; }
  Result<std::vector<std::string>> exchange(std::string, double) override {
    released_.get_future().wait();
    return fail(Code::kCancelled, "let go");
  }
  void release() { released_.set_value(); }

 private:
  std::promise<void> released_;
};

LaunchStep everything() {
  LaunchStep step;
  step.add_asks()->set_rank(1);
  step.add_signals()->set_number(1);
  step.add_news()->set_number(1);
  step.mutable_end()->set_outcome("passed");
  return step;
}

std::vector<MpiRelay::RankStep> heard(std::uint32_t rank, std::deque<std::vector<LaunchStep>> steps,
                                      bool* ended = nullptr) {
  ToldGroup group(rank, std::move(steps));
  MpiRelay relay(group, monotonic_now_ns() + 600e9);
  relay.join();
  if (ended != nullptr) *ended = !relay.error();
  return relay.take();
}

TEST(MpiRelay, ANodeThatIsNotTheFirstHasNothingStartedOrEndedElsewhere) {
  bool ended = true;
  EXPECT_TRUE(heard(1, {{{}, {}, everything()}}, &ended).empty());
  EXPECT_FALSE(ended) << "rank 2 ended it";
  const auto first = heard(1, {{{}, {}, everything()}, {everything(), {}, {}}}, &ended);
  EXPECT_TRUE(ended);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].rank, 0U);
  EXPECT_EQ(first[0].step.asks_size(), 1);
  EXPECT_EQ(first[0].step.signals_size(), 1);
  EXPECT_EQ(first[0].step.news_size(), 0);
}

TEST(MpiRelay, TheFirstNodeHearsNewsOfEachAndNothingElse) {
  bool ended = true;
  const auto all = heard(0, {{{}, everything(), everything()}}, &ended);
  EXPECT_FALSE(ended);
  ASSERT_EQ(all.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].rank, i + 1);
    EXPECT_EQ(all[i].step.news_size(), 1);
    EXPECT_EQ(all[i].step.asks_size() + all[i].step.signals_size(), 0);
    EXPECT_FALSE(all[i].step.has_end());
  }
}

TEST(MpiRelay, HasNoRoomForOutputThatNoStepTakes) {
  HeldGroup group;
  MpiRelay relay(group, monotonic_now_ns() + 600e9);
  LaunchNews news;
  news.set_number(1);
  news.set_out(std::string(8U << 10U, 'x'));
  constexpr int kMore = 1000;  // far beyond the bound
  int posted = 0;
  for (; relay.has_room() && posted < kMore; ++posted) relay.post(news);
  EXPECT_LT(posted, kMore);
  group.release();
  relay.join();
}

std::vector<LaunchHello> two_nodes() {
  std::vector<LaunchHello> nodes(2);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].set_address(i == 0 ? "192.0.2.1" : "192.0.2.2");
    nodes[i].set_network("192.0.2.0/24");
    nodes[i].add_own_addresses(nodes[i].address());
    nodes[i].set_host_name(i == 0 ? "a" : "b");
  }
  return nodes;
}

TEST(MpiNodesMeet, RankZerosWordOfItselfHasToLieOnTheDataNetwork) {
  const DataAddress own{"192.0.2.2", "192.0.2.0/24", "eth0", {"192.0.2.2"}};
  EXPECT_TRUE(check_nodes(two_nodes(), own));
  // A daemon here would call there.
  auto elsewhere = two_nodes();
  elsewhere[0].add_own_addresses("203.0.113.9");
  const Status stray = check_nodes(elsewhere, own);
  ASSERT_FALSE(stray);
  EXPECT_EQ(stray.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(stray.error().message, HasSubstr("would be called at 192.0.2.1, 203.0.113.9"));
  // It would listen on any.
  auto wide = two_nodes();
  wide[0].set_network("0.0.0.0/0");
  const Status wider = check_nodes(wide, own);
  ASSERT_FALSE(wider);
  EXPECT_THAT(wider.error().message, HasSubstr("rank 0 has data network 0.0.0.0/0 and rank 1"));
  wide[1].set_network("0.0.0.0/0");  // a node's report about itself proves nothing
  EXPECT_FALSE(check_nodes(wide, own));
}

}  // namespace
}  // namespace railgauge
