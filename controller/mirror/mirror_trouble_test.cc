// The archive is away, slow, full or killed; the mirror's process is killed. Afterwards both sides
// have the same rows: none is lost, none is there twice.
#include <sys/mount.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string_view>

#include <gmock/gmock.h>

#include "controller/mirror/testing/archive_testing.h"
#include "controller/mirror/testing/slow_proxy.h"

namespace railgauge::mirror {
namespace {

// The long form of the check; deploy/check.sh says 0 for the short one.
bool is_full_check() {
  const char* const wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

using ::testing::HasSubstr;

// More rounds in the long form.
int rounds(int few, int many) { return !is_full_check() ? few : many; }

class MirrorTroubleTest : public MirrorTest {};

TEST_F(MirrorTroubleTest, TenMinutesWithoutTheArchiveCostNothing) {
  measure("r1", 2);
  expect_same();
  cluster().stop();
  double now = 1.7e9;
  double longest_lag = 0;
  int steps = 0;
  for (; now < 1.7e9 + 600 && steps < 10'000; ++steps) {
    if (steps % 100 == 0) measure(fmt::format("down{}", steps), 1);
    now += std::max(mirror_->step(now), 0.05);
    longest_lag = std::max(longest_lag, mirror_->figures().lag_seconds);
  }
  EXPECT_LT(mirror_->figures().failures, 40);
  EXPECT_GT(longest_lag, 590);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].first, "mirror_behind");
  cluster().start();
  ASSERT_TRUE(drain(*mirror_, *store_, now));
  EXPECT_EQ(differences(*store_), "");
  EXPECT_EQ(events_.back().first, "mirror_works");
  EXPECT_EQ(mirror_->figures().lag_seconds, 0);
}

TEST_F(MirrorTroubleTest, TheServerIsKilledAgainAndAgain) {
  double now = 1.7e9;
  for (int round = 0; round < rounds(4, 100); ++round) {
    measure(fmt::format("r{}", round), 3);
    for (int step = 0; step < round % 7; ++step) now += mirror_->step(now) + 1;
    cluster().kill();
    measure(fmt::format("killed{}", round), 1);
    for (int step = 0; step < 3; ++step) now += mirror_->step(now) + 1;
    cluster().start();
  }
  ASSERT_TRUE(drain(*mirror_, *store_, now + 100));
  EXPECT_EQ(differences(*store_), "");
}

TEST_F(MirrorTroubleTest, ARestartInTheMiddleIsCaughtUp) {
  measure("r1", 40);
  MirrorOptions small = options("east");
  small.batch.entries = 5;
  mirror_ = std::make_unique<Mirror>(small, *store_, note_, [] { return false; });
  for (int step = 0; step < 20; ++step) mirror_->step(1.7e9);
  cluster().stop();
  cluster().start();
  ASSERT_TRUE(drain(*mirror_, *store_, 1.7e9 + 10));
  EXPECT_EQ(differences(*store_), "");
}

// The first copy is refused again and again, while changes pass.
TEST_F(MirrorTroubleTest, AFirstCopyThatAlwaysFailsIsSaidUntilItWorks) {
  measure("r0", 1);
  expect_same();
  ask("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
      "'no copy'; END $$");
  ask("CREATE TRIGGER refuse BEFORE UPDATE ON railgauge.walk FOR EACH ROW EXECUTE FUNCTION "
      "refuse()");
  ask("UPDATE railgauge.site SET schema_version=1");  // all is copied anew
  mirror_ = make();
  double now = 1.7e9;
  for (int step = 0; now < 1.7e9 + 300 && step < 5'000; ++step) {
    if (step % 50 == 0) measure(fmt::format("r{}", step + 1), 1);
    now += std::max(mirror_->step(now), 0.05);
  }
  for (int step = 0; step < 20; ++step) now += std::max(mirror_->step(now), 0.05);
  ASSERT_EQ(events_.size(), 1u) << events_.back().first;
  EXPECT_EQ(events_[0].first, "mirror_behind");
  EXPECT_THAT(events_[0].second, HasSubstr("no copy"));
  EXPECT_GT(mirror_->figures().tables_left, 0);
  EXPECT_GT(mirror_->figures().failures, 5);
  EXPECT_LT(mirror_->figures().failures, 40);
  EXPECT_EQ(mirror_->figures().waiting_rows, 0) << "changes are not held up";
  ask("DROP TRIGGER refuse ON railgauge.walk");
  ASSERT_TRUE(drain(*mirror_, *store_, now));
  EXPECT_EQ(differences(*store_), "");
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].first, "mirror_works");
}

// A table that others hold: a person's transaction, or a dump.
class HeldTable {
 public:
  HeldTable(const std::string& url, const std::string& table) {
    auto opened = pq::Connection::open({.url = url});
    EXPECT_TRUE(opened) << opened.error().message;
    session_ = std::move(*opened);
    EXPECT_TRUE(
        session_->script("BEGIN; LOCK TABLE railgauge." + table + " IN ACCESS EXCLUSIVE MODE"));
  }

 private:
  std::unique_ptr<pq::Connection> session_{};
};

TEST_F(MirrorTroubleTest, BatchesShrinkWhereTheArchiveIsSlowAndGrowAgain) {
  measure("r0", 1);
  expect_same();
  MirrorOptions hasty = options("east");
  hasty.answer_seconds = 2;
  hasty.batch.entries = 32;
  mirror_ = std::make_unique<Mirror>(hasty, *store_, note_, [] { return false; });
  double now = 1.7e9;
  measure("r1", 80);
  {
    const HeldTable held(url_, "run, railgauge.task, railgauge.attempt");
    for (int step = 0; step < 20 && mirror_->figures().batch_entries != 16; ++step)
      now += std::max(mirror_->step(now), 1.0);
    EXPECT_EQ(mirror_->figures().batch_entries, 16);
  }
  for (int run = 2; mirror_->figures().batch_entries < 32 && run < 10; ++run) {
    measure(fmt::format("r{}", run), 80);
    ASSERT_TRUE(drain(*mirror_, *store_, now += 100));
  }
  EXPECT_EQ(mirror_->figures().batch_entries, 32) << "as it was set";
  EXPECT_EQ(differences(*store_), "");
}

// The server waits for nobody else, so smaller batches would not pass either.
TEST_F(MirrorTroubleTest, ALockOfOthersShrinksNoBatch) {
  measure("r0", 1);
  expect_same();
  const double entries = mirror_->figures().batch_entries;
  measure("r1", 2);
  double now = 1.7e9;
  {
    const HeldTable held(url_, "run");
    for (int step = 0; step < 5 && events_.empty(); ++step)
      now += std::max(mirror_->step(now), 1.0);
  }
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_[0].second, HasSubstr("lock timeout"));
  ASSERT_TRUE(drain(*mirror_, *store_, now + 100));
  EXPECT_EQ(mirror_->figures().batch_entries, entries);
}

// Stores and mirrors until it is killed.
[[noreturn]] void work_until_killed(const std::string& path, MirrorOptions options, int round) {
  auto opened = store::Store::open({.path = path});
  if (!opened || !(*opened)->write(store::arm_mirror)) ::_exit(1);
  store::Store& store = **opened;
  Mirror mirror(
      std::move(options), store, [](auto, auto) {}, [] { return false; });
  for (int i = 0;; ++i) {
    const std::string run = fmt::format("k{}-{}", round, i);
    store::plan_run(store, run, 2);
    store::append_passed(store, {.run_id = run});
    for (int step = 0; step < 4; ++step) mirror.step(1.7e9 + i);
  }
}

TEST_F(MirrorTroubleTest, TheMirrorsProcessIsKilledAgainAndAgain) {
  mirror_.reset();
  store_.reset();
  for (int round = 0; round < rounds(5, 200); ++round) {
    const pid_t child = ::fork();
    if (child == 0) work_until_killed(folder_.file("db"), options("east"), round);
    ::usleep(static_cast<useconds_t>(150'000 + 37'000 * (round % 11)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  store_ = open_armed(folder_.file("db"));
  mirror_ = make();
  ASSERT_TRUE(drain(*mirror_, *store_, 1.8e9));
  EXPECT_EQ(differences(*store_), "");
  EXPECT_NE(ask("SELECT count(*) FROM railgauge.point"), "0");
}

TEST_F(MirrorTroubleTest, AHundredMillisecondsAWayAreOnlySlow) {
  const store::TempFolder away;
  std::filesystem::create_directory(away.file("s"));
  const SlowProxy proxy(away.file("s"), cluster().folder(), std::chrono::milliseconds(100));
  measure("r1", 20);
  expect_same();
  measure("r2", 20);
  MirrorOptions slow = options("east");
  slow.url.replace(slow.url.find("host=") + 5, std::string::npos, away.file("s"));
  mirror_ = std::make_unique<Mirror>(slow, *store_, note_, [] { return false; });
  expect_same();
  EXPECT_EQ(mirror_->figures().failures, 0);
}

// A small file system in memory, for root alone.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    is_mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=160m") == 0;
    if (is_mounted_) std::filesystem::permissions(folder_, std::filesystem::perms::all);
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool is_mounted() const { return is_mounted_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  void fill() const {
    std::ofstream file(folder_ + "/filler", std::ios::binary);
    const std::string block(1U << 16U, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void clear() const { std::filesystem::remove(folder_ + "/filler"); }

 private:
  std::string folder_;
  bool is_mounted_ = false;
};

TEST_F(MirrorTroubleTest, AFullDiskOfTheArchiveIsWaitedFor) {
  const SmallDisk disk(folder_.file("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "a small file system can be mounted by root alone";
  std::filesystem::permissions(folder_.file("."), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  PostgresCluster full("-c fsync=off -c max_wal_size=32MB -c min_wal_size=32MB", disk.folder());
  url_ = full.make_database("archive");
  mirror_ = make();
  measure("r1", 2);
  expect_same();
  disk.fill();
  double now = 1.7e9;
  for (int i = 0; i < 60 && events_.empty(); ++i) {
    measure(fmt::format("full{}", i), 20);
    now += mirror_->step(now) + 1;
  }
  ASSERT_FALSE(events_.empty()) << "the disk was never full";
  EXPECT_EQ(events_[0].first, "mirror_behind");
  measure("meanwhile", 2);  // the store does not wait
  disk.clear();
  full.stop();  // it may have ended itself, when its log had no room
  full.start();
  ASSERT_TRUE(drain(*mirror_, *store_, now + 100));
  EXPECT_EQ(differences(*store_), "");
}

}  // namespace
}  // namespace railgauge::mirror
