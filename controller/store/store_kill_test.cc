// The store's process is killed at random instants while it writes as fast as it can.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/maintenance.h"

namespace railgauge::store {
namespace {

// The acknowledged part of a child that was killed, task by task: points of each are 1 to kPoints.
constexpr std::uint32_t kPoints = 50;
constexpr int kTasks = 400;
constexpr int kTasksInDelivery = 4;

std::vector<Record> task_records(int task) {
  const At at{.task_id = fmt::format("t{:04}", task)};
  std::vector<Record> records{started_record(at)};
  for (std::uint32_t i = 1; i <= kPoints; ++i) records.push_back(point_record(at, i, 1000 + i));
  records.push_back(final_record(at, kPoints + 1, "passed"));
  return records;
}

// As fast as the store takes them, from task `first` on; reports the last task of each delivery
// that was acknowledged.
[[noreturn]] void append_until_killed(const std::string& path, int first, int pipe) {
  auto store = Store::open({.path = path});
  if (!store) _exit(3);
  for (int task = first; task < kTasks; task += kTasksInDelivery) {
    std::vector<Record> records;
    for (int i = 0; i < kTasksInDelivery; ++i)
      for (Record& record : task_records(task + i)) records.push_back(std::move(record));
    const int last = task + kTasksInDelivery - 1;
    const auto tell = [pipe, last](const Status& status) {
      if (!status || ::write(pipe, &last, sizeof last) != sizeof last) _exit(4);
    };
    while (!(*store)->append_records("id-1", records, tell)) static_cast<void>((*store)->flush());
  }
  static_cast<void>((*store)->flush());
  _exit(0);  // the end of the work is an instant too
}

int last_told(int pipe, int before) {
  int last = before;
  for (int told = 0; ::read(pipe, &told, sizeof told) == sizeof told;) last = told;
  return last;
}

void expect_sound(const std::string& path, int acknowledged) {
  auto connection = Connection::open(path, Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  const auto problems = find_problems(*connection);
  ASSERT_TRUE(problems) << problems.error().message;
  EXPECT_THAT(*problems, testing::IsEmpty());
  // A point's key is unique, so nothing is stored twice when no task has more than it sent.
  EXPECT_EQ(**connection->integer(
                "SELECT count(*) FROM (SELECT count(*) AS points FROM task JOIN attempt ON "
                "attempt.task=task.id JOIN rank ON rank.attempt=attempt.id JOIN point ON "
                "point.rank=rank.id GROUP BY task.id) WHERE points<>?1",
                kPoints),
            0);
  EXPECT_GE(**connection->integer("SELECT count(DISTINCT rank) FROM point"), acknowledged);
  EXPECT_EQ(**connection->integer("SELECT count(*) FROM attempt"),
            **connection->integer("SELECT count(DISTINCT task) FROM attempt"));
}

TEST(StoreFault, KilledAtRandomInstantsNothingAcknowledgedIsMissingAndNothingIsThereTwice) {
  const char* wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  const bool full = wanted != nullptr && std::string_view(wanted) == "1";
  const int wanted_kills = full ? 200 : 10;  // after something was acknowledged in that round
  std::mt19937 random(20'26);
  std::uniform_int_distribution<int> pause_us(0, 200'000);
  const TempFolder folder;
  const std::string path = folder.file("db");
  const auto plan = [&path] {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
    auto store = open_store(path);
    plan_run(*store, "r1", kTasks);
  };
  plan();
  int acknowledged = 0;
  int killed = 0;
  for (int round = 0; killed < wanted_kills; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    ASSERT_LT(round, 10 * wanted_kills) << "only " << killed << " kills fell into the writing";
    if (acknowledged >= kTasks - kTasksInDelivery) {
      plan();
      acknowledged = 0;
    }
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    // From what was acknowledged on, as an agent would; what was committed beyond comes twice.
    if (child == 0) append_until_killed(path, acknowledged + 1, ends[1]);
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(pause_us(random)));
    ::kill(child, SIGKILL);
    const int before = acknowledged;
    acknowledged = last_told(ends[0], acknowledged);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    killed += WIFSIGNALED(status) && acknowledged > before ? 1 : 0;
    expect_sound(path, acknowledged);
    if (testing::Test::HasFailure()) return;
  }
}

// Starts one due time after the other, each the one after what is decided, as the controller does.
[[noreturn]] void start_dues_until_killed(const std::string& path, int round) {
  auto store = Store::open({.path = path});
  if (!store) _exit(3);
  for (int i = 0; i < 40; ++i) {
    const auto schedules = (*store)->list_schedules();
    if (!schedules) _exit(4);
    for (const ScheduleRow& row : *schedules) {
      if (row.paused) continue;
      const RunRow run = run_row(fmt::format("r{}-{}", round, i));
      const ScheduleClaim claim{.schedule = row.name, .due_at = row.decided_until + 60};
      if (!(*store)->create_run(run, pair_tasks(1), claim)) _exit(5);
    }
  }
  while (true) ::pause();  // all rows are still kept
}

std::int64_t counted(Store& store, const std::string& sql) {
  const auto table = store.sql(sql, 1, 60);
  EXPECT_TRUE(table) << table.error().message;
  return table ? static_cast<std::int64_t>(std::get<double>(table->rows.at(0).at(0))) : -1;
}

void expect_one_run_a_due_time(Store& store) {
  EXPECT_EQ(counted(store, "SELECT count(*) FROM run"),
            counted(store, "SELECT count(*) FROM schedule_due"));
  EXPECT_EQ(counted(store, "SELECT count(DISTINCT run_id) FROM schedule_due"),
            counted(store, "SELECT count(*) FROM schedule_due JOIN run USING (run_id)"));
  EXPECT_EQ(counted(store, "SELECT count(*) FROM schedule_due WHERE due_at % 60 <> 0"), 0);
}

TEST(StoreFault, KilledAtRandomInstantsEveryDueTimeHasExactlyOneRun) {
  std::mt19937 random(20'27);
  std::uniform_int_distribution<int> pause_us(5'000, 120'000);
  const TempFolder folder;
  {
    auto store = open_store(folder.file("db"));
    ASSERT_TRUE(store->put_node(node_row(1)));
    ASSERT_TRUE(store->add_schedule(
        {.name = "minutely", .suite = "quick", .cron = "* * * * *", .zone = "UTC"}));
  }
  for (int round = 0; round < 8; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) start_dues_until_killed(folder.file("db"), round);
    ::usleep(static_cast<useconds_t>(pause_us(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    auto store = open_store(folder.file("db"));
    expect_one_run_a_due_time(*store);
    EXPECT_EQ(counted(*store, "SELECT coalesce(max(due_at), 0) / 60 FROM schedule_due"),
              counted(*store, "SELECT count(*) FROM schedule_due"))
        << "none is left out";
    if (testing::Test::HasFailure()) return;
  }
}

#ifdef RAILGAUGE_FAILPOINTS
TEST(StoreFault, KilledBetweenTheRunAndItsCommitTheDueTimeIsStillToBeStarted) {
  const TempFolder folder;
  {
    auto store = open_store(folder.file("db"));
    ASSERT_TRUE(store->add_schedule(
        {.name = "minutely", .suite = "quick", .cron = "* * * * *", .zone = "UTC"}));
  }
  const pid_t child = ::fork();
  if (child == 0) {
    setenv("RAILGAUGE_FAILPOINT", "store.run_created", 1);
    start_dues_until_killed(folder.file("db"), 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto store = open_store(folder.file("db"));
  EXPECT_EQ(counted(*store, "SELECT count(*) FROM run"), 0);
  ASSERT_TRUE(store->create_run(run_row("r1"), {}, ScheduleClaim{"minutely", 60, "", false}));
  EXPECT_EQ(
      store->create_run(run_row("r2"), {}, ScheduleClaim{"minutely", 60, "", false}).error().code,
      Code::kAlreadyExists);
}
#endif

}  // namespace
}  // namespace railgauge::store
