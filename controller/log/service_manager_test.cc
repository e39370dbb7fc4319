#include "controller/log/service_manager.h"

#include <stdlib.h>
#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/log/testing/manager_socket.h"

namespace railgauge {
namespace {

TEST(ServiceManager, TheStartAndTheEndAreReportedWithTheStateInWords) {
  const ManagerSocket systemd;
  ServiceManager manager(systemd.path(), 0);
  manager.ready("attached");
  manager.stopping("1 task ends");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=attached\n");
  EXPECT_EQ(systemd.next(), "STOPPING=1\nSTATUS=1 task ends\n");
}

TEST(ServiceManager, ASignOfLifeComesEachHalfIntervalAndAStateWhenItChanges) {
  const ManagerSocket systemd;
  ServiceManager manager(systemd.path(), 60);
  manager.ready("idle");
  ASSERT_EQ(systemd.next(), "READY=1\nSTATUS=idle\n");
  manager.alive(5e9, "idle");
  EXPECT_EQ(systemd.next(), "WATCHDOG=1\n");
  manager.alive(34e9, "idle");
  EXPECT_EQ(systemd.next(), "");
  manager.alive(34.5e9, "1 task");
  EXPECT_EQ(systemd.next(), "STATUS=1 task\n");
  manager.alive(35e9, "1 task");
  EXPECT_EQ(systemd.next(), "WATCHDOG=1\n");
}

TEST(ServiceManager, WithoutAWatchdogThereIsNoSignOfLife) {
  const ManagerSocket systemd;
  ServiceManager manager(systemd.path(), 0);
  manager.alive(5e9, "");
  EXPECT_EQ(systemd.next(), "");
}

TEST(ServiceManager, NoStateForgesAnAssignment) {
  const ManagerSocket systemd;
  ServiceManager manager(systemd.path(), 0);
  manager.ready("lost: a\nMAINPID=1");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=lost: a\\nMAINPID=1\n");
}

TEST(ServiceManager, TheEnvironmentNamesTheManagerAndChildrenDoNotInheritIt) {
  const ManagerSocket systemd;
  ::setenv("NOTIFY_SOCKET", systemd.path().c_str(), 1);
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", fmt::format("{}", ::getpid()).c_str(), 1);
  ServiceManager manager = ServiceManager::of_environment();
  EXPECT_EQ(manager.watchdog_seconds(), 60);
  EXPECT_EQ(::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(::getenv("WATCHDOG_USEC"), nullptr);
  EXPECT_THAT(manager.variables(),
              testing::ElementsAre("NOTIFY_SOCKET=" + systemd.path(), "WATCHDOG_USEC=60000000",
                                   fmt::format("WATCHDOG_PID={}", ::getpid())));
  manager.ready("");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=\n");
}

TEST(ServiceManager, AWatchdogOfAnotherProcessIsNotOurs) {
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::of_environment().watchdog_seconds(), 0);
}

TEST(ServiceManager, WithoutAManagerNothingIsSentAndNothingFails) {
  ServiceManager nobody("", 0);
  EXPECT_FALSE(nobody.is_asked());
  nobody.ready("");
  nobody.alive(1, "");
  ServiceManager gone("/nonexistent/notify", 60);
  gone.ready("");
  ServiceManager too_long(std::string(200, 'x'), 60);
  too_long.ready("");
}

}  // namespace
}  // namespace railgauge
