// A holder and a standby under one simulated clock. The property: a moment at which the holder may
// act is none at which the standby may ask for the lease.
#include "controller/standby/lease_term.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "controller/standby/vows.h"

namespace railgauge::standby {
namespace {

using ::testing::HasSubstr;

constexpr double kStepSeconds = 0.2;

class LeaseTermTest : public testing::Test {
 protected:
  // A lease of 10 s that began at `now_`, with the standby admitted.
  LeaseTerm make() {
    return {
        {.site = "east", .self = {.holder = "aa", .address = "a"}, .times = times_},
        {.renew = [this](const mirror::LeaseRenewal& renewal) { return renew(renewal); },
         .ask_promise =
             [this](const mirror::SiteController& other, std::int64_t generation, double seconds) {
               EXPECT_EQ(other.address, "b");
               return !is_cut_ && vows_.promise(generation, seconds, now_);
             },
         .now = [this] { return now_; }},
        {.generation = 3, .admitted = {{.holder = "bb", .address = "b"}}},
        now_};
  }
  Result<std::optional<std::vector<mirror::SiteController>>> renew(
      const mirror::LeaseRenewal& renewal) {
    now_ += answer_seconds_;
    if (is_away_) return fail(Code::kUnavailable, "the archive is away");
    if (taken_by_ > renewal.generation) return std::optional<std::vector<mirror::SiteController>>();
    expires_at_ = now_ + renewal.seconds;
    return std::optional(std::vector<mirror::SiteController>{{.holder = "bb", .address = "b"}});
  }
  // The standby asks the archive, which it reaches, whenever its promises let it.
  void standby_looks() {
    vows_.take_if_free(now_, [this]() -> std::int64_t {
      if (now_ < expires_at_) return 0;
      taken_by_ = 4;
      return taken_by_;
    });
  }
  // Steps for so long; the reason of the end, "" while the lease holds.
  std::string run(LeaseTerm& term, double seconds) {
    for (const double until = now_ + seconds; now_ < until; now_ += kStepSeconds) {
      const auto pause = term.step();
      standby_looks();
      if (taken_by_ > 0) {
        EXPECT_LE(term.acts_until(), now_) << "both act";
      }
      if (!pause) return pause.error().message;
    }
    return "";
  }

  const mirror::LeaseTimes times_ = mirror::lease_times(10);
  double now_ = 1'000;
  double expires_at_ = 1'010;  // of the archive's row
  std::int64_t taken_by_ = 0;  // generation of the standby
  bool is_away_ = false;       // from the holder
  bool is_cut_ = false;        // the holder from the standby
  double answer_seconds_ = 0;
  Vows vows_{0};
};

TEST_F(LeaseTermTest, TenMinutesWithoutTheArchiveAreHeldByPromises) {
  LeaseTerm term = make();
  EXPECT_EQ(run(term, 60), "");
  is_away_ = true;
  EXPECT_EQ(run(term, 600), "");
  EXPECT_TRUE(term.is_by_promise());
  EXPECT_GT(term.acts_until(), now_);
  EXPECT_EQ(taken_by_, 0) << "the row had ended, and a promise held";
  is_away_ = false;
  EXPECT_EQ(run(term, 60), "");
  EXPECT_FALSE(term.is_by_promise());
  EXPECT_EQ(taken_by_, 0);
}

// Cut from the archive and from the standby, at every moment of a lease.
TEST_F(LeaseTermTest, AHolderThatIsCutOffStopsBeforeTheStandbyActs) {
  for (double cut_at = 0; cut_at < 12; cut_at += 0.3) {
    now_ = 1'000;
    expires_at_ = now_ + 10;
    taken_by_ = 0;
    is_away_ = is_cut_ = false;
    LeaseTerm term = make();
    EXPECT_EQ(run(term, cut_at), "");
    is_away_ = is_cut_ = true;
    EXPECT_THAT(run(term, 30), HasSubstr("it could not be renewed in time"));
    EXPECT_EQ(term.acts_until(), 0);
    for (int look = 0; look < 100 && taken_by_ == 0; ++look, now_ += kStepSeconds) standby_looks();
    EXPECT_EQ(taken_by_, 4) << cut_at;
  }
}

// Away from the archive, then from the standby too: the last promise is the end.
TEST_F(LeaseTermTest, APromiseIsNotOutlivedByItsHolder) {
  LeaseTerm term = make();
  is_away_ = true;
  EXPECT_EQ(run(term, 100), "");
  is_cut_ = true;
  const double cut_at = now_;
  EXPECT_THAT(run(term, 30), HasSubstr("it could not be renewed in time"));
  EXPECT_LE(now_ - cut_at, 10);
  EXPECT_EQ(taken_by_, 0) << "the standby waits for the end of its word";
  for (int look = 0; look < 100 && taken_by_ == 0; ++look, now_ += kStepSeconds) standby_looks();
  EXPECT_EQ(taken_by_, 4);
  EXPECT_LE(now_ - cut_at, 12);
}

// An archive whose answers take most of a second each costs neither a promise nor the lease.
TEST_F(LeaseTermTest, ASlowArchiveIsNoReasonToAsk) {
  LeaseTerm term = make();
  answer_seconds_ = 0.8;
  EXPECT_EQ(run(term, 600), "");
  EXPECT_FALSE(term.is_by_promise());
  EXPECT_EQ(taken_by_, 0);
}

// Whoever says that another controller has the lease is heard and not believed.
TEST_F(LeaseTermTest, ADoubtAsksTheArchiveAtOnce) {
  LeaseTerm term = make();
  EXPECT_EQ(run(term, 5), "");
  const double expired_at = expires_at_;
  now_ += 0.01;
  ASSERT_TRUE(term.step());
  EXPECT_EQ(expires_at_, expired_at) << "a renewal is not due";
  ASSERT_TRUE(term.step(true));
  EXPECT_GT(expires_at_, expired_at);
  is_away_ = true;
  ASSERT_TRUE(term.step(true)) << "no answer is no confirmation";
  is_away_ = false;
  taken_by_ = 9;
  const auto ended = term.step(true);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "another controller has taken the lease");
}

TEST_F(LeaseTermTest, ATakenLeaseIsOverAtOnce) {
  LeaseTerm term = make();
  EXPECT_EQ(run(term, 5), "");
  taken_by_ = 9;
  EXPECT_GT(term.acts_until(), now_);
  now_ += times_.renew_seconds;
  const auto ended = term.step();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "another controller has taken the lease");
  EXPECT_EQ(term.acts_until(), 0);
}

}  // namespace
}  // namespace railgauge::standby
