// The records that a rank may report, and those that are put aside: attempts, metrics, bounds,
// ends, times. A reader must see no difference after a record that was refused.
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/ingest/record_sink.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RefusedRecords : public StoreTest {
 protected:
  // One task, which declares latency_ns; its first attempt is dispatched.
  void plan() {
    for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
    std::vector<TaskRow> tasks = pair_tasks(1);
    tasks[0].metrics = {"latency_ns"};
    ASSERT_TRUE(store_->create_run(run_row("r1"), tasks));
    dispatch(*store_, "r1", "t0001");
    ASSERT_TRUE(deliver(*store_, "id-1", {started_record({}), point_record({}, 1)}));
  }
  // Everything that readers are shown, in the order in which they are shown it.
  std::string seen() {
    auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 5);
    EXPECT_TRUE(connection);
    std::string text;
    for (const char* sql :
         {"SELECT quote(id)||quote(series)||quote(measured_ms)||quote(median)||quote(flags)||"
          "quote(fact_set) FROM point ORDER BY id",
          "SELECT quote(point)||quote(mean)||quote(histogram) FROM distribution ORDER BY point",
          "SELECT quote(id)||quote(metric)||quote(message_bytes) FROM series ORDER BY id",
          "SELECT quote(attempt)||quote(rank)||quote(outcome)||quote(ended_at)||quote(started_at) "
          "FROM rank ORDER BY id",
          "SELECT quote(task)||quote(attempt)||quote(outcome) FROM attempt ORDER BY id",
          "SELECT quote(counted_attempt)||quote(outcome) FROM task ORDER BY id",
          "SELECT quote(rank)||quote(sequence)||quote(text) FROM note ORDER BY rank, sequence"}) {
      const auto lines = connection->column<std::string>(sql);
      EXPECT_TRUE(lines);
      for (const std::string& line : lines.value_or(std::vector<std::string>{}))
        text += line + "\n";
    }
    return text;
  }
  double refused(const std::string& reason) { return store_->stats()->refused_records.at(reason); }
};

TEST_F(RefusedRecords, AnAttemptThatNobodyDispatchedChangesNothing) {
  plan();
  ASSERT_TRUE(deliver(*store_, "id-1", {final_record({}, 2, "passed")}));
  const std::string before = seen();
  for (const std::uint32_t attempt : {2U, 5U, 1'000U})
    ASSERT_TRUE(
        deliver(*store_, "id-1",
                {started_record({.attempt = attempt}), point_record({.attempt = attempt}, 1, 1),
                 note_record({.attempt = attempt}, 2, "hello"),
                 final_record({.attempt = attempt}, 3, "passed")}));
  EXPECT_EQ(seen(), before);
  EXPECT_EQ(refused("attempt"), 12);
  EXPECT_EQ(store_->stats()->orphan_records, 12);
  reopen();
  ASSERT_TRUE(deliver(*store_, "id-1", {started_record({.attempt = 2})})) << "acknowledged again";
  EXPECT_EQ(seen(), before);
}

TEST_F(RefusedRecords, AMetricThatTheKernelDoesNotDeclareIsPutAside) {
  plan();
  const std::string before = seen();
  Record made_up = point_record({}, 2, 1);
  made_up.mutable_point()->set_metric("made_up_ns");
  ASSERT_TRUE(deliver(*store_, "id-1", {made_up}));
  EXPECT_EQ(seen(), before);
  EXPECT_EQ(refused("metric"), 1);
  EXPECT_THAT(store_->list_events(1)->at(0).text,
              HasSubstr("kernel verbs.write_lat declares no metric \"made_up_ns\""));
  ASSERT_TRUE(deliver(*store_, "id-1", {point_record({}, 3)})) << "the next sound one is taken";
  EXPECT_NE(seen(), before);
}

TEST_F(RefusedRecords, AKernelThatDeclaresNothingReportsNothingAndAnOldTaskEverything) {
  for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
  std::vector<TaskRow> tasks = pair_tasks(2);
  tasks[0].metrics.emplace();
  ASSERT_TRUE(store_->create_run(run_row("r1"), tasks));
  for (const char* task : {"t0001", "t0002"}) {
    dispatch(*store_, "r1", task);
    ASSERT_TRUE(deliver(*store_, "id-1",
                        {started_record({.task_id = task}), point_record({.task_id = task}, 1)}));
  }
  const auto rows = all();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].task_id, "t0002") << "planned before the database knew metrics";
}

TEST_F(RefusedRecords, ARankWithItsFinalRecordTakesNothingMoreAndExactRepeatsAreFine) {
  plan();
  const std::vector<Record> whole{started_record({}), point_record({}, 1),
                                  note_record({}, 2, "said"), final_record({}, 3, "passed")};
  ASSERT_TRUE(deliver(*store_, "id-1", whole));
  const std::string before = seen();
  ASSERT_TRUE(deliver(*store_, "id-1", whole));
  EXPECT_EQ(store_->stats()->orphan_records, 0);
  Record other_end = final_record({}, 9, "failed");
  ASSERT_TRUE(deliver(*store_, "id-1",
                      {point_record({}, 1, 1), point_record({}, 7, 1), point_record({}, 0, 1),
                       note_record({}, 2, "other"), note_record({}, 8, "late"), other_end}));
  EXPECT_EQ(seen(), before);
  EXPECT_EQ(refused("ended"), 3) << "two points and a note that are new";
  reopen();
  ASSERT_TRUE(deliver(*store_, "id-1", whole));
  ASSERT_TRUE(deliver(*store_, "id-1", {point_record({}, 10, 1), point_record({}, 1, 2)}));
  EXPECT_EQ(seen(), before) << "the database knows the end too";
}

// The run uses only what is new in a delivery.
TEST_F(RefusedRecords, RepeatsAreReportedApartFromRefusedRecordsWhateverTheyHold) {
  plan();
  NotNew last;
  const auto sort_out = [&](std::vector<Record> records) {
    const auto not_new = std::make_shared<NotNew>();
    Status stored = fail(Code::kUnknown, "never called");
    const Status taken = store_->append(
        "id-1", std::make_shared<const Parcel>(pack(std::move(records))),
        [&](const Status& status) { stored = status; }, {}, {}, not_new);
    EXPECT_TRUE(taken && store_->flush() && stored);
    last = *not_new;
  };
  sort_out({started_record({}), point_record({}, 1), point_record({}, 1, 9),
            note_record({}, 2, "a"), note_record({}, 2, "b"), point_record({}, 3),
            point_record({}, 3, 9), final_record({}, 4, "failed"), final_record({}, 4, "passed"),
            final_record({}, 9, "passed"), point_record({}, 10)});
  EXPECT_THAT(last.repeats, ElementsAre(0, 1, 2, 4, 6, 8, 9));
  EXPECT_THAT(last.refused, ElementsAre(10));
  EXPECT_FALSE(last.has(3) || last.has(5) || last.has(7)) << "note, point and end are new";
  EXPECT_TRUE(last.has(0) && last.has(10));
  const std::string before = seen();
  EXPECT_THAT(before, HasSubstr("failed"));
  reopen();
  sort_out({point_record({}, 3), final_record({}, 4, "failed"), final_record({}, 4, "passed")});
  EXPECT_THAT(last.repeats, ElementsAre(0, 1, 2)) << "the database knows them too";
  EXPECT_THAT(last.refused, IsEmpty());
  EXPECT_EQ(seen(), before);
}

TEST_F(RefusedRecords, ARepeatWithAnotherFigureOrMetricMakesNoSeries) {
  plan();
  const std::string before = seen();
  Record other = point_record({}, 1, 1);
  other.mutable_point()->set_message_bytes(4'096);
  ASSERT_TRUE(deliver(*store_, "id-1", {other}));
  reopen();
  ASSERT_TRUE(deliver(*store_, "id-1", {other}));
  EXPECT_EQ(seen(), before);
}

TEST_F(RefusedRecords, ANodesWordsForARankOfAnotherChangeNothing) {
  plan();
  const std::string before = seen();
  ASSERT_TRUE(deliver(*store_, "id-2",
                      {point_record({}, 2, 1), final_record({}, 3, "failed"),
                       started_record({.rank = 2}), started_record({.rank = UINT32_MAX})}));
  EXPECT_EQ(seen(), before);
  EXPECT_EQ(refused("foreign_rank"), 4);
}

TEST_F(RefusedRecords, ARankHasAtMostSoManySeries) {
  plan();
  const auto points = [](std::uint32_t first, std::uint32_t count) {
    std::vector<Record> records;
    for (std::uint32_t i = 0; i < count; ++i) {
      records.push_back(record_at({}, first + i));
      records.back().mutable_point()->set_metric("latency_ns");
      records.back().mutable_point()->set_message_bytes(1'000 + first + i);
    }
    return records;
  };
  ASSERT_TRUE(deliver(*store_, "id-1", points(2, 3'000)));
  reopen();
  ASSERT_TRUE(deliver(*store_, "id-1", points(3'002, 3'000)));
  EXPECT_EQ(store_->list_series({.run_id = "all", .limit = kMaxResultRows})->size(),
            kMaxRankSeries);
  EXPECT_EQ(refused("bounds"), 6'001 - static_cast<double>(kMaxRankSeries));
  Record known = points(2, 1)[0];
  known.mutable_key()->set_sequence(9'000);
  ASSERT_TRUE(deliver(*store_, "id-1", {known, final_record({}, 9'001, "passed")}));
  EXPECT_EQ(store_->run_detail("r1")->tasks[0].counted_attempt, 1U) << "it still ends";
  EXPECT_EQ(results({.run_id = "all", .all_attempts = true, .limit = kMaxResultRows}).size(),
            kMaxRankSeries + 1)
      << "series that it has grow on";
}

TEST_F(RefusedRecords, ARankReportsAtMostSoManyBytesAlsoAfterARestart) {
  plan();
  constexpr std::uint32_t kNotes = 3'000;
  const std::string text(15'000, 'x');
  for (std::uint32_t half = 0; half < 2; ++half) {
    for (std::uint32_t part = 0; part < 10; ++part) {
      std::vector<Record> notes;
      for (std::uint32_t i = 0; i < kNotes / 10; ++i)
        notes.push_back(note_record({}, 2 + half * kNotes + part * kNotes / 10 + i, text));
      ASSERT_TRUE(deliver(*store_, "id-1", notes));
    }
    if (half == 0) reopen();
  }
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 5);
  const std::int64_t stored = **connection->integer("SELECT sum(length(text)) FROM note");
  EXPECT_LE(stored, kMaxRankBytes);
  EXPECT_GT(stored, kMaxRankBytes / 100 * 99);
  EXPECT_GT(refused("bounds"), 1'000);
  // Records put aside are bounded too, by node.
  EXPECT_LE(**connection->integer("SELECT sum(length(body)) FROM orphan_record"), 64 << 20);
}

TEST_F(RefusedRecords, ANodeStoresAtMostSoMuchInARunWhateverItsRanksMay) {
  store_ = nullptr;
  store_ = open_store(folder_.file("db"), {.node_run = {.bytes = 100'000, .rank_bytes = 10'000}});
  for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(3)));
  for (const char* task : {"t0001", "t0002", "t0003"}) {
    dispatch(*store_, "r1", task);
    std::vector<Record> records{started_record({.task_id = task})};
    for (std::uint32_t i = 1; i <= 10; ++i)
      records.push_back(note_record({.task_id = task}, i, std::string(10'000, 'x')));
    records.push_back(final_record({.task_id = task}, 11, "passed"));
    ASSERT_TRUE(deliver(*store_, "id-1", records));
  }
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 5);
  const std::int64_t stored = **connection->integer("SELECT sum(length(text)) FROM note");
  EXPECT_LE(stored, 130'000);
  EXPECT_GE(stored, 110'000);
  EXPECT_EQ(**connection->integer("SELECT count(*) FROM event WHERE text LIKE '%as much in this "
                                  "run as one may; its further%'"),
            1);
  EXPECT_EQ(**connection->integer("SELECT count(*) FROM rank WHERE outcome='passed'"), 3)
      << "final records are taken";
}

TEST_F(RefusedRecords, OneNodesOrphansDoNotPushOutThoseOfAnother) {
  store_.reset();
  store_ = open_store(folder_.file("db"), {.max_node_orphan_bytes = 100'000});
  ASSERT_TRUE(deliver(*store_, "honest", {note_record({.run_id = "r9"}, 0, "lost in a backup")}));
  std::vector<Record> flood;
  for (std::uint32_t i = 0; i < 2'000; ++i) flood.push_back(record_at({.run_id = "r9"}, i));
  ASSERT_TRUE(deliver(*store_, "id-1", flood));
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 5);
  const auto of = [&](std::string_view node) {
    return **connection->integer("SELECT count(*) FROM orphan_record WHERE node_id=?1", node);
  };
  EXPECT_EQ(of("honest"), 1);
  EXPECT_LT(of("id-1"), 500);
  EXPECT_EQ(store_->stats()->orphans_dropped, 2'000 - of("id-1"));
  reopen();
  ASSERT_TRUE(deliver(*store_, "honest", {note_record({.run_id = "r9"}, 1, "more")}));
  EXPECT_EQ(of("honest"), 2);
}

TEST_F(RefusedRecords, SixEventsAMinuteForANodeAndThenTheirNumber) {
  double now = 1'000;
  store_.reset();
  store_ = open_store(folder_.file("db"), {.clock = [&now] { return now; }});
  for (std::uint32_t i = 0; i < 50; ++i)
    ASSERT_TRUE(deliver(*store_, "id-1", {record_at({.run_id = "r9"}, i)}));
  ASSERT_TRUE(deliver(*store_, "id-2", {record_at({.run_id = "r9"}, 0)}));
  EXPECT_EQ(store_->list_events(100)->size(), 7U) << "another node has its own";
  now += 61;
  ASSERT_TRUE(deliver(*store_, "id-1", {record_at({.run_id = "r9"}, 99)}));
  const auto events = store_->list_events(100);
  ASSERT_EQ(events->size(), 9U);
  EXPECT_EQ(events->at(1).text, "44 more deliveries with records put aside within a minute");
}

TEST_F(RefusedRecords, EscapesOfARecordReachNoEvent) {
  plan();
  Record hostile = point_record({.run_id = "r\x1b[2J\n2026 forged"}, 2);
  hostile.mutable_point()->set_metric("m\x1b[31m");
  ASSERT_TRUE(deliver(*store_, "id-1", {hostile}));
  dispatch(*store_, "r1", "t0001", 2);
  Record renamed = started_record({.attempt = 2});
  renamed.mutable_started()->set_kernel("verbs.write\x7f\x1blat");
  ASSERT_TRUE(deliver(*store_, "id-1", {renamed}));
  const auto events = store_->list_events(2);
  ASSERT_EQ(events->size(), 2U);
  EXPECT_THAT(events->at(0).text, HasSubstr("the kernel \"verbs.write\\x7f\\x1blat\" is no word"));
  for (const EventRow& event : *events)
    for (const std::string& text : {event.text, event.run_id}) EXPECT_EQ(printable(text), text);
}

// --- what a record may hold ----------------------------------------------------------------------

TEST(Soundness, WhatNoKernelMeasuresIsNoRecord) {
  const auto faulty = [](const auto& change) {
    Record record = point_record({}, 1);
    change(*record.mutable_point());
    return make_ready(record).fault.has_value();
  };
  EXPECT_FALSE(faulty([](Point&) {}));
  EXPECT_FALSE(faulty([](Point& p) { p.set_unit("\u00b5s"); }));
  for (const char* steering : {"m\x7fs", "m\x1b[2J", "m s", "m\u009b2J", "m\u202es"})
    EXPECT_TRUE(faulty([&](Point& p) { p.set_metric(steering); })) << printable(steering);
  EXPECT_TRUE(faulty([](Point& p) { p.set_sample_count(-1); }));
  EXPECT_TRUE(faulty([](Point& p) { p.set_measure_ns(-5); }));
  EXPECT_TRUE(faulty([](Point& p) { p.set_warmup_count(-1); }));
  EXPECT_TRUE(faulty([](Point& p) { p.set_effective_sample_count(-1); }));
  EXPECT_TRUE(faulty([](Point& p) { p.set_unit("n s"); }));
  EXPECT_TRUE(faulty([](Point& p) { p.set_unit(std::string(300, 'x')); }));
  EXPECT_TRUE(faulty([](Point& p) { p.add_samples(std::nan("")); }));
  EXPECT_TRUE(faulty([](Point& p) { p.mutable_histogram()->set_count(0, INFINITY); }));
  EXPECT_TRUE(faulty([](Point& p) { p.mutable_histogram()->set_count(0, -1); }));
  EXPECT_TRUE(faulty([](Point& p) {
    for (int i = 0; i < 70'000; ++i) {
      p.mutable_histogram()->add_count(1);
      p.mutable_histogram()->add_lower_bound(i);
    }
  }));
  const auto faulty_end = [](const auto& change) {
    Record record = final_record({}, 1, "passed");
    change(*record.mutable_final());
    return make_ready(record).fault.has_value();
  };
  EXPECT_FALSE(faulty_end([](Final&) {}));
  EXPECT_TRUE(faulty_end([](Final& f) { f.set_cpu_seconds(-1); }));
  EXPECT_TRUE(faulty_end([](Final& f) { f.mutable_phases()->set_measure_ns(std::nan("")); }));
  EXPECT_TRUE(make_ready(note_record({}, 1, std::string(20'000, 'x'))).fault.has_value());
}

// --- times -------------------------------------------------------------------------------------

class Times : public RefusedRecords {
 protected:
  Status deliver_checked(std::vector<Record> records, bool clock_is_off = false) {
    Status told = fail(Code::kUnknown, "never told");
    Status taken = store_->append("id-1", std::make_shared<const Parcel>(pack(std::move(records))),
                                  [&](const Status& status) { told = status; }, {},
                                  {.is_checked = true, .clock_is_off = clock_is_off});
    if (!taken) return taken;
    if (Status flushed = store_->flush(); !flushed) return flushed;
    return told;
  }
  Record point_at(std::uint32_t sequence, double time) {
    Record record = point_record({}, sequence);
    record.set_unix_time_seconds(time);
    return record;
  }
  std::string clock_of(const ResultRow& row) {
    const auto fact = row.point.facts().find(std::string(kClockFact));
    return fact == row.point.facts().end() ? "" : fact->second;
  }
  double now_ = 1.8e9;
};

TEST_F(Times, ATimeThatTheAttemptCannotHaveHadIsThatOfItsArrival) {
  store_.reset();
  store_ = open_store(folder_.file("db"), {.clock = [this] { return now_; }});
  plan();
  now_ += 600;  // the spool delivers late, which is no fault of the clock
  const double day = 86'400;
  ASSERT_TRUE(deliver_checked({point_at(2, now_ - 500), point_at(3, now_ + 400 * day),
                               point_at(4, now_ - 400 * day), point_at(5, now_ + 3'500),
                               point_at(6, now_ - 600 - 3'500)}));
  ASSERT_TRUE(deliver_checked({point_at(7, now_)}, true));
  const auto rows = all();
  ASSERT_EQ(rows.size(), 7U);
  std::map<std::uint32_t, const ResultRow*> by;
  for (const ResultRow& row : rows) by[row.sequence] = &row;
  EXPECT_EQ(by[2]->measured_at, now_ - 500);
  EXPECT_EQ(clock_of(*by[2]), "");
  EXPECT_EQ(by[3]->measured_at, now_);
  EXPECT_EQ(clock_of(*by[3]), kClockOff);
  EXPECT_EQ(by[4]->measured_at, now_);
  EXPECT_EQ(clock_of(*by[4]), kClockOff);
  EXPECT_EQ(by[5]->measured_at, now_ + 3'500) << "up to an hour is believed";
  EXPECT_EQ(by[6]->measured_at, now_ - 4'100);
  EXPECT_EQ(clock_of(*by[7]), kClockOff) << "its heartbeats show that the clock is off";
}

// --- any order of anything -----------------------------------------------------------------------

// Whatever a hostile agent delivers, figures that were stored stay, and no delivery fails.
TEST_F(RefusedRecords, NoDeliveryChangesAStoredFigureOrFails) {
  plan();
  ASSERT_TRUE(deliver(*store_, "id-1", {final_record({}, 2, "passed")}));
  const std::string before = seen();
  std::mt19937 random(20'261'126);
  const auto pick = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<Record> batch;
    for (std::uint32_t i = 0, count = 1 + pick(12); i < count; ++i) {
      const At at{.run_id = pick(8) == 0 ? "r2" : "r1",
                  .task_id = pick(8) == 0 ? "t0002" : "t0001",
                  .attempt = pick(4),
                  .rank = pick(8) == 0 ? 1U : 0U};
      const std::uint32_t sequence = pick(6);
      switch (pick(4)) {
        case 0:
          batch.push_back(started_record(at));
          break;
        case 1:
          batch.push_back(point_record(at, sequence, pick(9)));
          break;
        case 2:
          batch.push_back(note_record(at, sequence, "n"));
          break;
        default:
          batch.push_back(final_record(at, sequence, "failed"));
      }
    }
    ASSERT_TRUE(deliver(*store_, "id-1", batch));
    if (round % 20 == 10) reopen();
  }
  EXPECT_EQ(seen(), before);
}

}  // namespace
}  // namespace railgauge::store
