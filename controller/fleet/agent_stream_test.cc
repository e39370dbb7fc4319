#include "controller/fleet/agent_stream.h"

#include <cmath>

#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

api::Heartbeat heartbeat(const char* reason = nullptr) {
  api::Heartbeat beat;
  if (reason != nullptr) beat.mutable_busy()->add_reasons()->set_source(reason);
  return beat;
}

TEST(BeatsOfStream, ABeatIsQuietWhereItSaysOfWorkWhatTheOneBeforeSaid) {
  BeatsOfStream beats;
  EXPECT_FALSE(beats.is_quiet(heartbeat())) << "the first one";
  EXPECT_TRUE(beats.is_quiet(heartbeat()));
  EXPECT_FALSE(beats.is_quiet(heartbeat("slurm")));
  EXPECT_TRUE(beats.is_quiet(heartbeat("slurm")));
  EXPECT_FALSE(beats.is_quiet(heartbeat("marker")));
  api::Heartbeat idle;
  idle.mutable_busy();
  EXPECT_FALSE(beats.is_quiet(idle));
  EXPECT_FALSE(beats.is_quiet(heartbeat())) << "nothing watches there now";
}

TEST(BeatsOfStream, ABeatWithAnEventIsNotQuiet) {
  BeatsOfStream beats;
  EXPECT_FALSE(beats.is_quiet(heartbeat()));
  api::Heartbeat event = heartbeat();
  event.add_events()->set_kind("xid");
  EXPECT_FALSE(beats.is_quiet(event));
  EXPECT_TRUE(beats.is_quiet(heartbeat()));
}

TEST(QuietBeats, OneOfAStreamWaitsUntilItIsTaken) {
  QuietBeats quiet;
  EXPECT_TRUE(quiet.add(1, {.spool_records = 5}));
  EXPECT_FALSE(quiet.add(1, {.spool_records = 6})) << "the loop takes it in its turn";
  EXPECT_TRUE(quiet.add(2, {.spool_records = 7}));
  EXPECT_EQ(quiet.take(2).value().spool_records, 7);
  EXPECT_FALSE(quiet.take(2));
  const auto taken = quiet.take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.at(1).spool_records, 5);
  EXPECT_TRUE(quiet.take().empty());
  EXPECT_TRUE(quiet.add(1, {}));
}

TEST(BeatOf, ATimeThatIsNoneHasNoSkew) {
  api::Heartbeat beat;
  EXPECT_FALSE(beat_of(beat).skew_seconds);
  beat.set_unix_time_seconds(std::nan(""));
  EXPECT_FALSE(beat_of(beat).skew_seconds);
  beat.set_unix_time_seconds(beat_of(beat).seen_at_unix + 60);
  EXPECT_NEAR(beat_of(beat).skew_seconds.value(), 60, 5);
}

}  // namespace
}  // namespace railgauge::fleet
