#include "controller/deliver/courier.h"

#include <chrono>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::deliver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Sent::Kind;

// Answers attempts in turn as a test names them; the last answer stays.
class Place {
 public:
  explicit Place(std::vector<Kind> answers) : answers_(std::move(answers)) {}
  Send send() {
    return [this](const Letter& letter, const auto&) {
      const std::lock_guard lock(mutex_);
      got_.push_back(letter.delivery_id + "=" + letter.body);
      const Kind kind = answers_[std::min(got_.size(), answers_.size()) - 1];
      changed_.notify_all();
      return Sent{.kind = kind, .cause = kind == Kind::kTaken ? "" : "no luck"};
    };
  }
  std::vector<std::string> got(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return got_.size() >= count; });
    return got_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::vector<Kind> answers_;
  std::vector<std::string> got_;
};

class CourierTest : public testing::Test {
 protected:
  std::unique_ptr<Courier> courier(Place& place, std::uint32_t attempts = 3,
                                   double first_pause = 0.001, std::size_t waiting = 8) {
    return std::make_unique<Courier>(Courier::Options{.target = "webhook",
                                                      .where = "http://h",
                                                      .most_attempts = attempts,
                                                      .first_pause_seconds = first_pause,
                                                      .most_waiting = waiting},
                                     *store_, place.send(), series_,
                                     [this](std::string kind, const std::string& text) {
                                       const std::lock_guard lock(mutex_);
                                       notes_.push_back(std::move(kind) + ": " + text);
                                     });
  }
  std::vector<std::string> notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  // Waits until the metrics have the text.
  bool shows(const std::string& text) {
    for (int look = 0; look < 3'000; ++look) {
      if (series_.text().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool shows(const std::string& outcome, int count) {
    return shows(fmt::format("railgauge_deliveries_total{{outcome=\"{}\",target=\"webhook\"}} {}\n",
                             outcome, count));
  }

  store::TempFolder folder_;
  std::unique_ptr<store::Store> store_ = store::open_store(folder_.file("db"));
  metric::Registry series_{metric::Owner::kController};
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

TEST_F(CourierTest, TriesAgainUntilTheMessageIsTaken) {
  Place place({Kind::kLater, Kind::kLater, Kind::kTaken});
  const auto sender = courier(place);
  EXPECT_TRUE(shows("delivered", 0)) << "a growth from nothing is seen";
  ASSERT_TRUE(sender->put({.delivery_id = "run-1", .body = "a"}));
  EXPECT_THAT(place.got(3), ElementsAre("run-1=a", "run-1=a", "run-1=a"));
  EXPECT_TRUE(shows("delivered", 1));
  EXPECT_TRUE(shows("postponed", 2));
  EXPECT_TRUE(shows("railgauge_deliveries_waiting{target=\"webhook\"} 0"));
  EXPECT_THAT(notes(), ElementsAre("delivery_late: webhook (http://h): run-1 waits: no luck",
                                   "delivery_works: webhook (http://h): reports are delivered "
                                   "again"));
}

TEST_F(CourierTest, SaysOnceThatATargetWorksAgainHoweverManyWaited) {
  Place place({Kind::kLater, Kind::kLater, Kind::kLater, Kind::kTaken});
  const auto sender = courier(place, 3, 0.3);
  for (const char* id : {"run-1", "run-2", "run-3"})
    ASSERT_TRUE(sender->put({.delivery_id = id, .body = "a"}));
  EXPECT_THAT(place.got(6), SizeIs(6));
  EXPECT_TRUE(shows("delivered", 3));
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("delivery_late"), HasSubstr("delivery_works")));
}

TEST_F(CourierTest, SendsAnIdOnceAlsoInAnotherProcess) {
  Place place({Kind::kTaken});
  auto sender = courier(place);
  ASSERT_TRUE(sender->put({.delivery_id = "run-1", .body = "a"}));
  ASSERT_TRUE(shows("delivered", 1));
  ASSERT_TRUE(sender->put({.delivery_id = "run-1", .body = "b"}));
  sender.reset();
  sender = courier(place);
  ASSERT_TRUE(sender->put({.delivery_id = "run-1", .body = "c"}));
  ASSERT_TRUE(sender->put({.delivery_id = "run-2", .body = "d"}));
  EXPECT_THAT(place.got(2), ElementsAre("run-1=a", "run-2=d"));
}

TEST_F(CourierTest, GivesUpAfterItsAttemptsAndAtOnceWhereItIsRefused) {
  Place failing({Kind::kLater});
  auto sender = courier(failing, 2);
  ASSERT_TRUE(sender->put({.delivery_id = "run-1", .body = "a"}));
  ASSERT_TRUE(shows("failed", 1));
  sender.reset();
  Place refusing({Kind::kRefused, Kind::kTaken});
  sender = courier(refusing);
  ASSERT_TRUE(sender->put({.delivery_id = "run-2", .body = "b"}));
  ASSERT_TRUE(shows("refused", 1));
  ASSERT_TRUE(sender->put({.delivery_id = "run-3", .body = "c"}));
  ASSERT_TRUE(shows("delivered", 1));
  EXPECT_THAT(failing.got(2), SizeIs(2));
  EXPECT_THAT(refusing.got(2), ElementsAre("run-2=b", "run-3=c"));
  ASSERT_THAT(notes(), SizeIs(4));
  EXPECT_THAT(notes()[1], HasSubstr("run-1 is not delivered: no luck, after 2 attempts"));
  EXPECT_THAT(notes()[2], HasSubstr("delivery_failed: webhook (http://h): run-2 is not"));
  EXPECT_THAT(notes()[3], HasSubstr("delivery_works"));
}

TEST_F(CourierTest, WhatWaitsIsSentByTheNextProcess) {
  Place away({Kind::kLater});
  auto sender = courier(away, 9, 0.3);
  ASSERT_TRUE(sender->put({.delivery_id = "run-1", .body = "a"}));
  ASSERT_TRUE(shows("postponed", 1));
  EXPECT_TRUE(shows("railgauge_deliveries_waiting{target=\"webhook\"} 1"));
  sender.reset();
  store_.reset();
  store_ = store::open_store(folder_.file("db"));
  Place back({Kind::kTaken});
  sender = courier(back);
  EXPECT_THAT(back.got(1), ElementsAre("run-1=a"));
  EXPECT_TRUE(shows("delivered", 1));
  EXPECT_THAT(notes().back(), HasSubstr("delivery_works"));
}

TEST_F(CourierTest, DropsTheOldestBeyondItsBoundAndEndsWhileItWaits) {
  Place away({Kind::kLater});
  auto sender = courier(away, 9, 3600, 2);
  ASSERT_TRUE(sender->put({.delivery_id = "run-0", .body = "x"}));
  ASSERT_TRUE(shows("postponed", 1));  // it pauses for an hour
  for (int i = 1; i <= 3; ++i)
    ASSERT_TRUE(sender->put({.delivery_id = fmt::format("run-{}", i), .body = "x"}));
  EXPECT_TRUE(shows("dropped", 2));
  sender.reset();
  const auto waiting = store_->read(store::read_waiting_deliveries);
  ASSERT_TRUE(waiting && waiting->size() == 2);
  EXPECT_EQ(waiting->front().delivery_id, "run-2");
  EXPECT_THAT(notes().back(), HasSubstr("run-1 is not sent: 2 newer reports wait"));
}

TEST_F(CourierTest, WhatWaitsForATargetThatTheSettingsLostIsDropped) {
  Place away({Kind::kLater});
  auto sender = courier(away, 9, 3600);
  ASSERT_TRUE(sender->put({.delivery_id = "run-0", .body = "x"}));
  ASSERT_TRUE(shows("postponed", 1));
  sender.reset();
  const Note note = [this](std::string kind, const std::string& text) {
    notes_.push_back(std::move(kind) + ": " + text);
  };
  drop_of_gone_targets(*store_, {"webhook"}, note);
  EXPECT_THAT(notes(), SizeIs(1)) << "it is there";
  drop_of_gone_targets(*store_, {"mail"}, note);
  EXPECT_THAT(notes().back(), HasSubstr("delivery_dropped: webhook: the settings"));
  EXPECT_THAT(*store_->read(store::read_waiting_deliveries), IsEmpty());
}

}  // namespace
}  // namespace railgauge::deliver
