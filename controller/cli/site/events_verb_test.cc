#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Events : public Commands {};

TEST_F(Events, AskForWhatTheFlagsChoose) {
  EXPECT_EQ(run({"events", "--since", "2026-11-20", "--kind", "xid,stack", "--nodes", "n[1-3]",
                 "--run", "r-1", "--limit", "7"}),
            kExitPassed);
  const api::EventsRequest request = archive_.last_events();
  EXPECT_EQ(request.since_unix_seconds(), 1'795'132'800);
  EXPECT_EQ(request.kinds(), "xid,stack");
  EXPECT_EQ(request.node_set(), "n[1-3]");
  EXPECT_EQ(request.run_id(), "r-1");
  EXPECT_EQ(request.limit(), 7U);
  EXPECT_FALSE(request.has_after_event_id());
}

TEST_F(Events, AWordOfNoKindIsWrongUseBeforeAnyEventIsStored) {
  archive_.events.clear_events();
  EXPECT_EQ(run({"events", "--kind", "xidd"}), kExitUsage);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_,
            "railgauge: --kind: no event is of kind \"xidd\"; did you mean "
            "\"xid\"?\n");
  EXPECT_EQ(run({"events", "--follow", "--kind", "xidd"}), kExitUsage);
  EXPECT_EQ(run({"events", "--kind", "xid,stack_changed,link"}), kExitPassed) << err_;
  archive_.events.add_kinds("older_kind");
  EXPECT_EQ(run({"events", "--kind", "older"}), kExitPassed) << "the controller has it stored";
}

TEST_F(Events, LinksAreToldByTheirCounters) {
  archive_.events.clear_events();
  for (const char* text : {"critical: mlx5_0:1 link_downed: 2 within 5 min",
                           "warning: mlx5_0:1 symbol_error: 9 within 5 min"}) {
    api::Event& event = *archive_.events.add_events();
    event.set_event_id(archive_.events.events_size());
    event.set_kind("watch_counter");
    event.set_text(text);
  }
  EXPECT_EQ(run({"events", "--kind", "flap"}), kExitPassed);
  EXPECT_EQ(archive_.last_events().kinds(), "watch_counter");
  EXPECT_THAT(out_, HasSubstr("link_downed"));
  EXPECT_THAT(out_, Not(HasSubstr("symbol_error")));
  EXPECT_EQ(run({"events", "--kind", "link,counter"}), kExitPassed);
  EXPECT_THAT(out_, HasSubstr("symbol_error"));
}

TEST_F(Events, ATimeAgoIsByTheControllersClock) {
  EXPECT_EQ(run({"events", "--since", "24h"}), kExitPassed);
  EXPECT_EQ(archive_.last_events().since_unix_seconds(), 1'795'176'000 - 86'400)
      << "the sample's now_at";
}

TEST_F(Events, FollowedLikeOnesOfOneLookAreOneLine) {
  archive_.events.clear_events();
  for (int i = 1; i <= 300; ++i) {
    api::Event& event = *archive_.later_events.add_events();
    event.set_event_id(20 + i);
    event.set_at("2026-11-20T12:00:00Z");
    event.set_kind("node_attached");
    event.set_node(fmt::format("gpu{:03}", i));
    event.set_text(fmt::format("node gpu{:03} attached", i));
  }
  std::thread press([this] {
    for (int i = 0; i < 1'000 && archive_.last_events().after_event_id() != 320; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    interrupts_.press();
  });
  EXPECT_EQ(run({"events", "--follow"}), kExitInterrupted);
  press.join();
  EXPECT_EQ(std::ranges::count(out_, '\n'), 1) << out_;
  EXPECT_THAT(out_, HasSubstr("node gpu[001-300] attached (300 events)"));
}

TEST_F(Events, ManyLikeOnesAreFewRows) {
  archive_.events.clear_events();
  for (int i = 512; i > 0; --i) {
    api::Event& event = *archive_.events.add_events();
    event.set_event_id(i);
    event.set_at("2026-11-20T12:00:00Z");
    event.set_kind("node_attached");
    event.set_node(fmt::format("gpu{:03}", i));
    event.set_text(fmt::format("node gpu{:03} attached from 10.0.{}.{}", i, i / 256, i % 256));
  }
  EXPECT_EQ(run({"events"}), kExitPassed);
  EXPECT_EQ(std::ranges::count(out_, '\n'), 2) << out_;
  EXPECT_THAT(out_, HasSubstr("512"));
  EXPECT_THAT(out_, HasSubstr("gpu[001-512]"));
  EXPECT_EQ(run({"events"}, Format::kCsv), kExitPassed);
  EXPECT_EQ(std::ranges::count(out_, '\n'), 513);
}

TEST_F(Events, FollowedTheyComeInTheOrderOfTimeUntilCtrlC) {
  api::Event& later = *archive_.later_events.add_events();
  later = archive_.events.events(0);
  later.set_event_id(15);
  later.set_text("the later one");
  std::thread press([this] {
    for (int i = 0; i < 1'000 && archive_.last_events().after_event_id() != 15; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    interrupts_.press();
  });
  EXPECT_EQ(run({"events", "--follow"}, Format::kNdjson), kExitInterrupted);
  press.join();
  EXPECT_THAT(out_, StartsWith("{\"event_id\":10,"));
  EXPECT_THAT(out_, HasSubstr("the later one"));
  EXPECT_EQ(std::ranges::count(out_, '\n'), archive_.events.events_size() + 1);
  EXPECT_EQ(archive_.last_events().after_event_id(), 15);
}

// The newest id is read before the events, so one of them may be newer.
TEST_F(Events, FollowedNoneIsPrintedAgainAndNoneIsLookedThroughAgain) {
  archive_.events.set_newest_event_id(13);
  archive_.later_events.set_newest_event_id(40);
  std::vector<double> asked;
  std::thread press([this, &asked] {
    for (int i = 0; i < 1'000 && archive_.last_events().after_event_id() != 40; ++i) {
      const double after = archive_.last_events().after_event_id();
      if (after > 0 && (asked.empty() || asked.back() != after)) asked.push_back(after);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    interrupts_.press();
  });
  EXPECT_EQ(run({"events", "--follow"}, Format::kNdjson), kExitInterrupted);
  press.join();
  EXPECT_THAT(asked, ElementsAre(14));
  EXPECT_EQ(archive_.last_events().after_event_id(), 40);
}

TEST_F(Events, FollowedAsJsonTheyAreOneDocument) {
  interrupts_.press();
  EXPECT_EQ(run({"events", "--follow"}, Format::kJson), kExitInterrupted);
  EXPECT_THAT(out_, Not(HasSubstr("}\n{")));
}

}  // namespace
}  // namespace railgauge::cli
