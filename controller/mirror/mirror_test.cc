#include "controller/mirror/mirror.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "controller/mirror/archive_content.h"
#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

TEST_F(MirrorTest, WhatWasStoredBeforeAndAfterTheStartArrivesOnce) {
  measure("before", 5);
  expect_same();
  measure("after", 7);
  expect_same();
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "12");
  EXPECT_EQ(ask("SELECT median FROM railgauge.point LIMIT 1"), "1500");
  EXPECT_EQ(ask("SELECT measured_at AT TIME ZONE 'UTC' FROM railgauge.point LIMIT 1"),
            "2023-11-14 22:13:21");
}

TEST_F(MirrorTest, AnUpdateOfARunReachesTheArchive) {
  measure("r1", 1);
  expect_same();
  ASSERT_TRUE(
      store_->update_run({.run_id = "r1", .state = store::RunState::kEnded, .outcome = "passed"}));
  ASSERT_TRUE(store_->flush());
  expect_same();
  EXPECT_EQ(ask("SELECT state || ' ' || outcome FROM railgauge.run"), "ended passed");
}

// The last answer was lost: everything is sent once more.
TEST_F(MirrorTest, ARepeatDoublesNothing) {
  measure("r1", 6);
  expect_same();
  ask("UPDATE railgauge.site SET outbox_through=0");
  ask("UPDATE railgauge.walk SET is_done=false, through=-1");
  mirror_ = make();
  expect_same();
}

TEST_F(MirrorTest, WhatWentUnnotedIsCopiedOnceTheMirrorIsOnAgain) {
  measure("r1", 2);
  expect_same();
  reopen_without_mirror();
  measure("r2", 3);
  reopen_armed();
  expect_same();
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "5");
}

// Nothing changes after the copy, so that no row moves the mark.
TEST_F(MirrorTest, AFirstCopyAndAStoreThatRestsSayWhenTheArchiveHadAll) {
  reopen_without_mirror();
  measure("r1", 2);
  ASSERT_TRUE(store_->flush());
  reopen_armed();
  const char* kEven =
      "SELECT coalesce(extract(epoch FROM even_at)::bigint::text, 'never') FROM "
      "railgauge.sites";
  ASSERT_TRUE(drain(*mirror_, *store_));
  EXPECT_NEAR(std::atof(ask(kEven).c_str()), 1.7e9, 60) << ask(kEven);
  EXPECT_EQ(ask("SELECT waiting FROM railgauge.sites"), "0");
  mirror_->step(1.7e9 + 3'600);
  mirror_->step(1.7e9 + 3'601);
  EXPECT_NEAR(std::atof(ask(kEven).c_str()), 1.7e9 + 3'600, 1) << "an hour without a change";
  mirror_->step(1.7e9 + 3'610);
  EXPECT_NEAR(std::atof(ask(kEven).c_str()), 1.7e9 + 3'600, 1) << "a write a minute is enough";
}

TEST_F(MirrorTest, AnOutboxBeyondItsBoundIsReplacedByACopy) {
  MirrorOptions bounded = options("east");
  bounded.most_rows = 50;
  mirror_ = std::make_unique<Mirror>(bounded, *store_, note_, [] { return false; });
  measure("r1", 30);
  expect_same();
  EXPECT_GT(store_->read(store::read_mirror_state)->arming, 1);
}

TEST_F(MirrorTest, APairMatrixIsContentByItsDigestAndItsReplacementReplacesIt) {
  measure("r1", 1);
  store::PairMatrixRow matrix{.run_id = "r1", .kernel = "k", .metric = "latency_ns", .unit = "ns"};
  matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
  matrix.values = {NAN, 1500, 1600, NAN};
  ASSERT_TRUE(store_->put_pair_matrix(matrix));
  expect_same();
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.pair_matrix m JOIN railgauge.blob b ON "
                "b.digest=m.body_digest AND sha256(b.body)=b.digest"),
            "1");
  matrix.values = {NAN, 1700, 1600, NAN};
  ASSERT_TRUE(store_->put_pair_matrix(matrix));
  expect_same();
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.pair_matrix"), "1");
}

// A run's end stores a matrix for each series. One transaction for each of them is some 10 ms on a
// disk that keeps its promises, and points wait behind them.
TEST_F(MirrorTest, AThousandMatricesTakeAFewTransactions) {
  measure("r1", 1);
  expect_same();
  const auto transactions = [this] {
    return std::stoll(ask("SELECT (pg_current_xact_id()::text)::bigint"));
  };
  const long long before = transactions();
  std::vector<store::PairMatrixRow> matrices;
  for (int size = 0; size < 1000; ++size) {
    store::PairMatrixRow matrix{
        .run_id = "r1", .kernel = "k", .metric = fmt::format("m{}", size), .unit = "ns"};
    matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
    matrix.values = {NAN, 1500.0F + static_cast<float>(size), 1600, NAN};
    matrices.push_back(matrix);
  }
  ASSERT_TRUE(store_->put_pair_matrices("r1", matrices));
  expect_same();
  EXPECT_EQ(ask("SELECT count(DISTINCT b.digest) FROM railgauge.pair_matrix m JOIN railgauge.blob "
                "b ON b.digest=m.body_digest"),
            "1000");
  EXPECT_LT(transactions() - before, 20);
}

// Content that a batch shares, and content that the archive has from before.
TEST_F(MirrorTest, ContentIsStoredOnceHoweverManyRowsReferToIt) {
  measure("r1", 1);
  const auto put = [this](const std::string& run, std::vector<const char*> metrics) {
    std::vector<store::PairMatrixRow> matrices;
    for (const char* metric : metrics) {
      store::PairMatrixRow matrix{.run_id = run, .kernel = "k", .metric = metric, .unit = "ns"};
      matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
      matrix.values = {NAN, 1500, 1600, NAN};
      matrices.push_back(matrix);
    }
    ASSERT_TRUE(store_->put_pair_matrices(run, matrices));
  };
  put("r1", {"a", "b", "c"});
  expect_same();
  mirror_ = make();
  put("r1", {"a", "b", "c", "d"});
  expect_same();
  EXPECT_EQ(
      ask("SELECT count(*) || ' of ' || count(DISTINCT b.digest) FROM railgauge.pair_matrix m JOIN "
          "railgauge.blob b ON b.digest=m.body_digest"),
      "4 of 1");
}

// A replaced matrix leaves its content behind. Content that is used again meanwhile stays, and
// content that comes again after its end is sent again.
TEST_F(MirrorTest, ContentWithoutARowGoesADayLater) {
  measure("r1", 1);
  const auto put = [this](const char* metric, float value) {
    store::PairMatrixRow matrix{.run_id = "r1", .kernel = "k", .metric = metric, .unit = "ns"};
    matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
    matrix.values = {NAN, value, 1600, NAN};
    ASSERT_TRUE(store_->put_pair_matrix(matrix));
  };
  const char* kContents = "SELECT count(DISTINCT digest) FROM railgauge.blob";
  const char* kWhole =
      "SELECT count(*) FROM railgauge.pair_matrix m JOIN railgauge.blob b ON "
      "b.digest=m.body_digest";
  put("a", 1500);
  expect_same();
  put("a", 1700);
  expect_same();
  EXPECT_EQ(ask(kContents), "3") << "names of the endpoints, both bodies";
  mirror_->step(1.7e9 + 4'000);
  EXPECT_EQ(ask(kContents), "3") << "the day is not over";
  ask("UPDATE railgauge.blob SET used_at=now() - interval '25 hours'");
  put("b", 1700);
  mirror_->step(1.7e9 + 8'000);
  mirror_->step(1.7e9 + 8'001);
  EXPECT_EQ(ask(kContents), "2");
  EXPECT_EQ(ask(kWhole), "2");
  put("b", 1500);
  mirror_->step(1.7e9 + 12'000);
  EXPECT_EQ(ask(kContents), "3");
  EXPECT_EQ(ask(kWhole), "2");
  expect_same();
}

TEST_F(MirrorTest, ContentThatAWriterClaimsStaysForItsRows) {
  measure("r1", 1);
  expect_same();
  ask("INSERT INTO railgauge.blob (digest, part, body, used_at) SELECT sha256(i::text::bytea), 0, "
      "i::text::bytea, now() - interval '2 days' FROM generate_series(1, 3) i");
  const auto digest = [this](int i) {
    std::string bytes;
    const std::string hex = ask(fmt::format("SELECT encode(sha256('{}'), 'hex')", i));
    for (std::size_t at = 0; at < hex.size(); at += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
    return bytes;
  };
  auto writer = pq::Connection::open({.url = url_});
  ASSERT_TRUE(writer) << writer.error().message;
  const auto claimed = claim_content(**writer, {{.digest = digest(1), .bytes = ""},
                                                {.digest = std::string(32, 'x'), .bytes = ""}});
  ASSERT_TRUE(claimed) << claimed.error().message;
  EXPECT_EQ(*claimed, (std::map<std::string, std::size_t>{{hex_of(digest(1)), 1}}));
  // Another writer has the second one under way.
  ASSERT_TRUE((*writer)->script("BEGIN; SELECT 1 FROM railgauge.blob WHERE body='2' FOR UPDATE"));
  auto keeper = pq::Connection::open({.url = url_});
  ASSERT_TRUE(drop_unused_content(**keeper));
  ASSERT_TRUE((*writer)->execute("ROLLBACK"));
  EXPECT_EQ(ask("SELECT string_agg(convert_from(body, 'UTF8'), ' ' ORDER BY body) FROM "
                "railgauge.blob WHERE length(body)=1"),
            "1 2");
}

TEST_F(MirrorTest, MonthsThatNoSiteKeepsAreDropped) {
  measure("r1", 1);
  store::PairMatrixRow matrix{.run_id = "r1", .kernel = "k", .metric = "latency_ns", .unit = "ns"};
  matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
  matrix.values = {NAN, 1500, 1600, NAN};
  ASSERT_TRUE(store_->put_pair_matrix(matrix));
  MirrorOptions brief = options("east");
  brief.keep_days = 30;
  mirror_ = std::make_unique<Mirror>(brief, *store_, note_, [] { return false; });
  expect_same();
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point_y2023m11"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.pair_matrix"), "1");
  ask("UPDATE railgauge.run SET created_at=to_timestamp(1.7e9)");
  mirror_->step(1.7e9 + 100 * 86'400.0);
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.pair_matrix"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.run"), "1");
  EXPECT_EQ(ask("SELECT to_regclass('railgauge.point_y2023m11') IS NULL"), "t");
}

// Deletes that the triggers did not see are found by the walk.
TEST_F(MirrorTest, WhatWasDeletedWhileTheMirrorWasOffIsDeletedThere) {
  measure("r1", 1);
  store::PairMatrixRow matrix{.run_id = "r1", .kernel = "k", .metric = "latency_ns", .unit = "ns"};
  matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
  matrix.values = {NAN, 1500, 1600, NAN};
  ASSERT_TRUE(store_->put_pair_matrix(matrix));
  expect_same();
  reopen_without_mirror();
  ASSERT_TRUE(store_->put_pair_matrices("r1", {}));
  reopen_armed();
  expect_same();
}

TEST_F(MirrorTest, APreflightThatIsStoredAgainReplacesTheFirst) {
  measure("r1", 1);
  store::PreflightRow preflight{.node_id = "id-1", .at = 5, .state = "warn"};
  preflight.checks.push_back({.check_id = "acs_on_path", .state = "warn"});
  ASSERT_TRUE(store_->write(store::write_preflight, preflight));
  expect_same();
  preflight.checks[0].check_id = "mtu";
  ASSERT_TRUE(store_->write(store::write_preflight, preflight));
  expect_same();
}

// Rows that retention takes here stay there, and their ids are never given again.
TEST_F(MirrorTest, RetentionTakesNothingFromTheArchive) {
  measure("r1", 2);
  ASSERT_TRUE(store_->update_run(
      {.run_id = "r1", .state = store::RunState::kEnded, .outcome = "passed", .ended_at = 1.7e9}));
  expect_same();
  ASSERT_TRUE(store_->prune({.point_days = 1}, 4e9));
  measure("r2", 2);
  ASSERT_TRUE(drain(*mirror_, *store_));
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "4");
  EXPECT_EQ(ask("SELECT string_agg(run_id || ' ' || tasks, ', ' ORDER BY run_id) FROM "
                "railgauge.run_tasks"),
            "r1 2, r2 2");
}

// An archive of before a run said so gets it for the runs that are there, and copies nothing else.
TEST_F(MirrorTest, AnOlderArchiveLearnsWhichRunsWerePruned) {
  measure("r1", 1);
  ASSERT_TRUE(store_->update_run(
      {.run_id = "r1", .state = store::RunState::kEnded, .outcome = "passed", .ended_at = 1.7e9}));
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(store_->prune({.point_days = 1}, 4e9));
  ASSERT_TRUE(drain(*mirror_, *store_));
  EXPECT_EQ(ask("SELECT pruned FROM railgauge.run"), "3");
  ask("UPDATE railgauge.run SET pruned=NULL");
  ask("UPDATE railgauge.event SET text='as before'");
  ask("UPDATE railgauge.site SET schema_version=7");
  reopen_armed();
  ASSERT_TRUE(drain(*mirror_, *store_));
  EXPECT_EQ(ask("SELECT pruned FROM railgauge.run"), "3");
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.event WHERE text<>'as before'"), "0");
}

// However many there are, a statement drops some of them, and the newest that went is known.
TEST_F(MirrorTest, ChangesOfADayAgoAreDroppedInPieces) {
  auto database = pq::Connection::open({.url = url_});
  ASSERT_TRUE(database && ensure_schema(**database));
  ASSERT_TRUE(
      (*database)->execute("INSERT INTO railgauge.lease (site_name, generation, holder, "
                           "expires_at) VALUES ('east', 1, 'aa', "
                           "now() + interval '1 hour')"));
  auto wanted = options("east");
  wanted.lease = 1;
  mirror_ = std::make_unique<Mirror>(wanted, *store_, note_, [] { return false; });
  measure("r1", 1);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ask("UPDATE railgauge.change SET at=now() - interval '25 hours'");
  ask("INSERT INTO railgauge.change (site, source, key, at) SELECT 1, 0, n, now() - interval '25 "
      "hours' FROM generate_series(1, 25000) n");
  ask("INSERT INTO railgauge.change (site, source, key) VALUES (1, 0, 7)");
  double now = 1.7e9 + 7'200;
  int steps = 0;
  for (; steps < 100 && ask("SELECT count(*) FROM railgauge.change") != "1"; ++steps) {
    mirror_->step(now);
    now += 0.5;
  }
  EXPECT_GE(steps, 2) << "10,000 at once";
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.change"), "1");
  EXPECT_EQ(ask("SELECT changes_from=(SELECT min(position) - 1 FROM railgauge.change) FROM "
                "railgauge.site"),
            "t");
}

}  // namespace
}  // namespace railgauge::mirror
