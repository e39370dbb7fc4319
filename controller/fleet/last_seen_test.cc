// When nodes were seen last, as the store keeps it for the controller after this one.
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/server_bench.h"

namespace railgauge::fleet {
namespace {

using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

TEST(LastSeen, ANodeThatStaysAttachedIsSeenInTheStoreToo) {
  ServerBench bench;
  bench.fleet_options_.seen_seconds = 0.1;
  bench.start();
  ScriptedAgent agent(bench.agent("n1"));
  ASSERT_TRUE(welcome(agent));
  const auto seen_at = [&] {
    auto connection =
        store::Connection::open(bench.config_.database, store::Connection::Mode::kReadOnly, 5);
    auto rows = connection->query("SELECT last_seen_at FROM node WHERE name='n1'");
    return rows && rows->next().value_or(false) ? rows->real(0) : 0;
  };
  const auto later_than = [&](double seconds) {
    constexpr int kLooks = 100;
    for (int look = 0; look < kLooks && seen_at() <= seconds; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return seen_at();
  };
  const double first = later_than(0);
  ASSERT_GT(first, 0);
  EXPECT_GT(later_than(first), first);
}

// As if both nodes had attached long ago; nobody else stores when they were seen.
TEST(LastSeen, WhenALostNodeWasSeenLastIsKnownAfterARestart) {
  ServerBench bench;
  bench.fleet_options_.roster.grace_seconds = 3;
  bench.start();
  const auto edit = [&](const char* sql) {
    auto connection =
        store::Connection::open(bench.config_.database, store::Connection::Mode::kCreate, 5);
    ASSERT_TRUE(connection && connection->script(sql));
  };
  const auto is_long_ago = [&](const std::string& name) {
    auto connection =
        store::Connection::open(bench.config_.database, store::Connection::Mode::kReadOnly, 5);
    auto rows = connection->query("SELECT last_seen_at FROM node WHERE name='" + name + "'");
    return rows && rows->next().value_or(false) && rows->real(0) == 1e9;
  };
  ScriptedAgent attached(bench.agent("n2"));
  ASSERT_TRUE(welcome(attached));
  {
    ScriptedAgent lost(bench.agent("n1"));
    ASSERT_TRUE(welcome(lost));
  }
  // Its row may be on its way.
  for (int look = 0; look < 50 && !is_long_ago("n1"); ++look) {
    edit("UPDATE node SET last_seen_at = 1e9 WHERE name='n1'");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(is_long_ago("n1"));
  for (int look = 0; look < 100 && is_long_ago("n1"); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(is_long_ago("n1")) << "stored at its loss";
  edit("UPDATE node SET last_seen_at = 1e9 WHERE name='n2'");
  bench.stop();
  EXPECT_FALSE(is_long_ago("n2")) << "stored at the controller's end";
}

}  // namespace
}  // namespace railgauge::fleet
