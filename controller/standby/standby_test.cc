// Two controllers of a site in one process, up to the moment at which one of them is to act.
#include "controller/standby/standby.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "controller/api/control.grpc.pb.h"
#include "controller/api/standby.grpc.pb.h"
#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::standby {
namespace {

using testing::HasSubstr;

class StandbyTest : public mirror::ArchiveTest {
 protected:
  [[nodiscard]] StandbyOptions options(const std::string& name) const {
    return {.lease = {.url = url_,
                      .site = "east",
                      .self = {.holder = name + name,
                               .address = "unix:" + folder_.file(name + ".sock")},
                      .times = mirror::lease_times(5)},
            .database = folder_.file(name + ".db"),
            .front = {.socket = folder_.file(name + ".sock")}};
  }
  std::unique_ptr<Standby> open(const std::string& name) {
    auto opened = Standby::open(options(name));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  // Waits for the lease, `seconds` at most.
  static std::unique_ptr<LeaseKeeper> wait(Standby& standby, double seconds) {
    const double until = mirror::boot_seconds() + seconds;
    auto keeper = standby.wait([&] { return mirror::boot_seconds() > until; });
    EXPECT_TRUE(keeper) << keeper.error().message;
    return keeper ? std::move(*keeper) : nullptr;
  }
  [[nodiscard]] std::shared_ptr<grpc::Channel> channel(const std::string& name) const {
    return grpc::CreateChannel("unix:" + folder_.file(name + ".sock"),
                               grpc::InsecureChannelCredentials());
  }
  // Lets the archive be a complete copy of an empty site, as a mirror leaves it.
  void write_site(const std::string& database) {
    auto store = open_armed(database);
    auto wanted = mirror::ArchiveTest::options("east");
    wanted.lease = 1;
    mirror::Mirror mirror(wanted, *store, note_, [] { return false; });
    ASSERT_TRUE(drain(mirror, *store));
  }
};

TEST_F(StandbyTest, TheFirstOneActsAndTheSecondOneFollows) {
  const auto first = open("a");
  auto lease = wait(*first, 10);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->generation(), 1);
  EXPECT_TRUE(lease->may_act());
  EXPECT_FALSE(first->has_taken_over());
  write_site(folder_.file("a.db"));
  const auto second = open("b");
  // Until it has seen who is active; on a busy machine its copy takes a while.
  for (int look = 0; look < 20; ++look) {
    EXPECT_FALSE(wait(*second, 2));
    grpc::ClientContext asking;
    api::ControllerRole role;
    const auto stub = api::Standby::NewStub(channel("b"));
    if (stub->GetRole(&asking, {}, &role).ok() && !role.active().empty()) break;
  }
  // Every call but the question of the role ends with one sentence.
  const auto control = api::Control::NewStub(channel("b"));
  grpc::ClientContext asking;
  api::RunList runs;
  const grpc::Status refused = control->ListRuns(&asking, {}, &runs);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("is a standby of site east: unix:"));
  EXPECT_THAT(refused.error_message(), HasSubstr("a.sock is active, generation 1"));
  grpc::ClientContext context;
  api::ControllerRole role;
  ASSERT_TRUE(api::Standby::NewStub(channel("b"))->GetRole(&context, {}, &role).ok());
  EXPECT_EQ(role.role(), "standby");
  // Admitted by the second renewal that saw it; the lease is given back.
  for (int look = 0; look < 100 && ask("SELECT admitted FROM railgauge.lease") == "{}"; ++look)
    EXPECT_FALSE(wait(*second, 1));
  lease->release();
  const auto successor = wait(*second, 10);
  ASSERT_TRUE(successor);
  EXPECT_EQ(successor->generation(), 2);
  EXPECT_TRUE(second->has_taken_over());
}

// A standby that has promised does not take a lease that has ended, until its word is over.
TEST_F(StandbyTest, APromiseHoldsTheTakeoverBack) {
  const auto first = open("a");
  auto lease = wait(*first, 10);
  ASSERT_TRUE(lease);
  write_site(folder_.file("a.db"));
  const auto second = open("b");
  for (int look = 0; look < 100 && ask("SELECT admitted FROM railgauge.lease") == "{}"; ++look)
    EXPECT_FALSE(wait(*second, 1));
  // Beyond the first lease after its start, in which it takes nothing anyway.
  EXPECT_FALSE(wait(*second, 5));
  const auto promised = ask_promise({.site = "east"}, "unix:" + folder_.file("b.sock"), 1, 4, 1);
  ASSERT_TRUE(promised);
  EXPECT_TRUE(*promised);
  const double begin = mirror::boot_seconds();
  lease->release();
  const auto successor = wait(*second, 10);
  ASSERT_TRUE(successor);
  EXPECT_GE(mirror::boot_seconds() - begin, 3.5);
  const auto late = ask_promise({.site = "west"}, "unix:" + folder_.file("b.sock"), 1, 4, 1);
  EXPECT_FALSE(late && *late);
}

// A renewal that a crash of the server takes back would be counted on by its holder.
TEST_F(StandbyTest, LeasesAreCommittedToDiskWhateverTheServersSetting) {
  ask("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit=off', "
      "current_database()); END $$");
  const auto first = open("a");
  auto lease = wait(*first, 10);
  ASSERT_TRUE(lease);
  ask("CREATE TABLE public.commits (setting text)");
  ask("CREATE FUNCTION public.note_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT "
      "INTO "
      "public.commits VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$");
  ask("CREATE TRIGGER note_commit BEFORE UPDATE ON railgauge.lease FOR EACH ROW EXECUTE FUNCTION "
      "public.note_commit()");
  for (int look = 0; look < 100 && ask("SELECT count(*)>=2 FROM public.commits") != "t"; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  lease->release();
  const auto again = open("a");
  ASSERT_TRUE(wait(*again, 10)) << "its database is the site's";
  EXPECT_EQ(ask("SELECT string_agg(DISTINCT setting, ' ') FROM public.commits"), "on");
  EXPECT_EQ(ask("SELECT count(*)>=4 FROM public.commits"), "t")
      << "two renewals, the end, the new lease";
}

// Its own lease has 5 s: after a restart it would wait for no more.
TEST_F(StandbyTest, APromiseBeyondItsOwnLeaseIsRefused) {
  const auto standby = open("b");
  const std::string address = "unix:" + folder_.file("b.sock");
  for (const auto& [seconds, wanted] : {std::pair(5.0, true), {5.1, false}, {20.0, false}}) {
    const auto promised = ask_promise({.site = "east"}, address, 1, seconds, 5);
    ASSERT_TRUE(promised) << promised.error().message;
    EXPECT_EQ(*promised, wanted) << seconds;
  }
}

// The server's clock is set forward by an hour in the middle of a lease: the time of the lease is
// waited for all the same, in which its holder may act.
TEST_F(StandbyTest, AServersClockThatIsSetForwardEndsNoLease) {
  // Sessions from here on find this function in place of the server's own.
  ask("CREATE SCHEMA clock");
  ask("CREATE TABLE clock.step AS SELECT interval '0 s' AS by");
  ask("CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS "
      "'SELECT "
      "pg_catalog.clock_timestamp() + by FROM clock.step'");
  ask("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path=clock, pg_catalog, public', "
      "current_database()); END $$");
  const auto first = open("a");
  auto lease = wait(*first, 10);
  ASSERT_TRUE(lease);
  write_site(folder_.file("a.db"));
  const auto second = open("b");
  for (int look = 0; look < 100 && ask("SELECT admitted FROM railgauge.lease") == "{}"; ++look)
    EXPECT_FALSE(wait(*second, 1));
  EXPECT_FALSE(wait(*second, 5));  // beyond the first lease after its start
  lease.reset();                   // it renews no more, and gives nothing back
  const double begin = mirror::boot_seconds();
  ask("UPDATE clock.step SET by=interval '1 hour'");
  ASSERT_EQ(ask("SELECT expires_at < clock_timestamp() FROM railgauge.lease"), "t");
  const auto successor = wait(*second, 15);
  ASSERT_TRUE(successor);
  // The last renewal was a second ago at most, and its holder acts for four seconds after it.
  EXPECT_GE(mirror::boot_seconds() - begin, 3.0);
  EXPECT_EQ(successor->generation(), 2);
}

// Nobody renews; the keeper says so before anybody else may act.
TEST_F(StandbyTest, ALeaseThatIsTakenAwayIsOverAtOnce) {
  std::atomic<bool> is_deposed = false;
  auto wanted = options("a");
  wanted.lease.deposed = [&](const std::string&) { is_deposed = true; };
  auto first = Standby::open(wanted);
  ASSERT_TRUE(first);
  const auto lease = wait(**first, 10);
  ASSERT_TRUE(lease);
  EXPECT_EQ(ask("UPDATE railgauge.lease SET generation=9 RETURNING generation"), "9");
  for (int look = 0; look < 300 && !is_deposed; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(is_deposed);
  EXPECT_FALSE(lease->may_act());
}

}  // namespace
}  // namespace railgauge::standby
