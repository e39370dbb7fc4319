// Messages of an agent, as bytes from its stream: parsed, checked, and records stored as the
// controller's writer stores them. The database has one planned run; each input is rolled back.
// Properties: no content of a record or of a Hello makes the store fail; a second delivery changes
// nothing; a node stores nothing for a rank of another node; each refusal is counted and is one
// line; texts that the fleet keeps are within their bounds.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include "controller/api/agent.pb.h"
#include "controller/fleet/hello_check.h"
#include "controller/store/ingest/interner.h"
#include "controller/store/ingest/parcel.h"
#include "controller/store/ingest/record_sink.h"
#include "controller/store/ingest/run_sink.h"
#include "controller/store/sqlite/compress.h"
#include "controller/store/upkeep/schema.h"
#include "deploy/fuzz/message_mutator.h"
#include "deploy/fuzz/properties.h"

namespace railgauge::fuzz {
namespace {

constexpr double kNow = 1.7e9;
constexpr std::int64_t kMaxOrphanBytes = 1 << 20;
constexpr const char* kOwnNode = "id-1";

// The two forms of the sink: with checks of dispatched attempts, and the one before it.
template <class Orphans>
inline constexpr bool kChecksAttempts = requires {
  typename Orphans::Bounds;
};

template <class Orphans>
Orphans make_orphans(store::Connection& connection) {
  if constexpr (kChecksAttempts<Orphans>)
    return Orphans(
        connection,
        typename Orphans::Bounds{.bytes = kMaxOrphanBytes, .node_bytes = kMaxOrphanBytes}, {});
  else
    return Orphans(connection, kMaxOrphanBytes, {});
}
template <class Runs>
void dispatch(Runs& runs, std::uint32_t attempt) {
  const store::TaskUpdate update{.run_id = "r1", .task_id = "t1", .attempts = attempt};
  if constexpr (requires { runs.update_task(update, kNow); })
    FUZZ_CHECK(runs.update_task(update, kNow), "dispatch");
  else
    FUZZ_CHECK(runs.update_task(update), "dispatch");
}
template <class Sink>
void deliver(Sink& sink, const store::Parcel& parcel) {
  if constexpr (requires { typename Sink::Arrival; }) {
    const auto stored = sink.store(kOwnNode, parcel.records, typename Sink::Arrival{.now = kNow});
    FUZZ_CHECK(stored, error_of(stored));
  } else {
    const Status stored = sink.store(kOwnNode, parcel.records, kNow);
    FUZZ_CHECK(stored, error_of(stored));
  }
}
template <class Sink>
void take_waiting(Sink& sink) {
  if constexpr (requires { sink.take_orphans("r1", kNow); }) {
    FUZZ_CHECK(sink.take_orphans("r1", kNow), "take_orphans");
  } else {
    for (const std::uint32_t attempt : {1, 2})
      FUZZ_CHECK(sink.take_orphans({"r1", "t1", attempt}, kNow), "take_orphans");
  }
}

// The writer's sinks over a database in memory: run r1 with task t1 of two ranks, on n1 and n2.
class Sinks {
 public:
  Sinks() {
    for (int i = 1; i <= 2; ++i)
      expect(runs_.put_node({.node_id = fmt::format("id-{}", i), .name = fmt::format("n{}", i)},
                            kNow));
    const store::TaskRow task{.task_id = "t1",
                              .kernel = "verbs.write_lat",
                              .parameters = {{"depth", "1"}},
                              .identity_parameters = {"depth"},
                              .ranks = {{.node_id = "id-1", .node = "n1", .endpoint = "rxe0:1"},
                                        {.node_id = "id-2", .node = "n2", .endpoint = "rxe0:1"}},
                              .deadline_seconds = 30,
                              .state = store::TaskState::kRunning,
                              .attempts = 2};
    const store::RunRow run{.run_id = "r1",
                            .suite = "quick",
                            .suite_text = "version: 1\n",
                            .trigger = "cli",
                            .requested_by = "root",
                            .state = store::RunState::kRunning,
                            .nodes = {"n1", "n2"}};
    expect(runs_.create_run(run, std::vector{task}, {}, kNow));
    for (const std::uint32_t attempt : {1, 2}) dispatch(runs_, attempt);
  }

  void begin() { expect(connection_.script("BEGIN")); }
  void roll_back() {
    expect(connection_.script("ROLLBACK"));
    records_.forget();
    interner_.forget();
    orphans_.forget();
  }
  void store(const store::Parcel& parcel) { deliver(records_, parcel); }
  void take_orphans() { take_waiting(records_); }
  void put_node(const store::NodeRow& node) { expect(runs_.put_node(node, kNow)); }

  std::int64_t integer(std::string_view sql) {
    const auto value = connection_.integer(sql);
    FUZZ_CHECK(value, error_of(value));
    return value->value_or(0);
  }
  std::vector<std::string> texts(std::string_view sql) {
    auto values = connection_.column<std::string>(sql);
    FUZZ_CHECK(values, error_of(values));
    return std::move(*values);
  }
  // A digest of all that a delivery may change, but for events.
  std::string content() {
    std::string digest;
    for (const std::string_view sql :
         {"SELECT printf('%d %d', count(*), total(length(body))) FROM orphan_record",
          "SELECT printf('%d %.17g', count(*), total(median)) FROM point",
          "SELECT printf('%d %d', count(*), total(length(text))) FROM note",
          "SELECT printf('%d %s', count(*), group_concat(outcome)) FROM rank",
          "SELECT printf('%d %s', count(*), group_concat(outcome)) FROM attempt",
          "SELECT printf('%d', count(*)) FROM series",
          "SELECT printf('%d', total(counted_attempt)) FROM task"})
      digest += texts(sql).front() + ";";
    return digest;
  }

 private:
  static void expect(const Status& status) { FUZZ_CHECK(status, error_of(status)); }
  static store::Connection open() {
    spdlog::set_level(spdlog::level::off);
    auto opened = store::open_and_migrate(":memory:", 0, 0);
    FUZZ_CHECK(opened, error_of(opened));
    return std::move(*opened);
  }

  store::Connection connection_ = open();
  store::Interner interner_{connection_};
  store::Orphans orphans_ = make_orphans<store::Orphans>(connection_);
  store::RecordSink records_{connection_, interner_, orphans_};
  store::RunSink runs_{connection_, interner_};
};

Sinks& sinks() {
  static auto* const all = new Sinks;
  return *all;
}

void check_parcel(const store::Parcel& parcel) {
  for (const store::ReadyRecord& ready : parcel.records) {
    if (ready.fault) check_line(*ready.fault);
    if (!ready.histogram) continue;
    const auto back = store::decompress(*ready.histogram);
    FUZZ_CHECK(back && *back == ready.record.point().histogram().SerializeAsString(),
               error_of(back));
  }
}

void check_records(api::RecordBatch batch) {
  std::vector<Record> list;
  for (api::SpooledRecord& spooled : *batch.mutable_records())
    list.push_back(std::move(*spooled.mutable_record()));
  const store::Parcel parcel = store::pack(std::move(list));
  check_parcel(parcel);
  Sinks& all = sinks();
  all.begin();
  const std::int64_t events = all.integer("SELECT count(*) FROM event");
  all.store(parcel);
  const std::int64_t refused = all.integer("SELECT count(*) FROM orphan_record");
  const std::int64_t more = all.integer("SELECT count(*) FROM event") - events;
  FUZZ_CHECK(more <= (refused > 0 ? 2 : 0), fmt::format("{} events, {} orphans", more, refused));
  for (const std::string& reason : all.texts("SELECT reason FROM orphan_record"))
    check_line(reason);
  // Before attempts were checked, the words of a refused key reached the event as they came.
  if (more > 0 && kChecksAttempts<store::Orphans>)
    check_line(all.texts("SELECT text FROM event ORDER BY id DESC LIMIT 1").front());
  FUZZ_CHECK(all.integer("SELECT count(*) FROM rank WHERE rank<>0") == 0,
             "a rank of another node has records");
  const std::string first = all.content();
  all.store(parcel);
  const std::string second = all.content();
  // A point in front of its task's start is put aside at first; the start is known the next time.
  FUZZ_CHECK(refused > 0 || second == first, first + " became " + second);
  all.store(parcel);
  FUZZ_CHECK(all.content() == second, second + " became " + all.content());
  all.take_orphans();
  FUZZ_CHECK(all.integer("SELECT count(*) FROM rank WHERE rank<>0") == 0,
             "a rank of another node has records");
  all.roll_back();
}

// Within the bounds a node may report anything about itself; the same again is no change.
void check_hello(const api::Hello& hello) {
  const auto bounds = fleet::check_bounds(hello);
  check_error(bounds);
  if (!bounds) return;
  constexpr std::string_view kDigest =
      "SELECT printf('%d %d %d %d %d', (SELECT count(*) FROM node), (SELECT count(*) FROM "
      "node_name), (SELECT count(*) FROM stack), (SELECT count(*) FROM epoch), (SELECT count(*) "
      "FROM fact_set))";
  store::NodeRow row = fleet::node_row(hello);
  row.node_id = kOwnNode;
  row.name = "n1";
  Sinks& all = sinks();
  all.begin();
  all.put_node(row);
  const std::string before = all.texts(kDigest).front();
  all.put_node(row);
  const std::string after = all.texts(kDigest).front();
  FUZZ_CHECK(before == after, before + " became " + after);
  FUZZ_CHECK(all.integer("SELECT count(*) FROM node") == 2, "another node");
  all.roll_back();
}

void check_short(std::string_view line) {
  FUZZ_CHECK(line.size() <= 512 && printable(line) == line, line);
}

// The texts that the fleet logs and shows of a message.
void check_texts(api::AgentMessage& message) {
  fleet::bound_texts(message);
  for (const api::BusyState* busy : {&message.hello().busy(), &message.heartbeat().busy()}) {
    FUZZ_CHECK(busy->reasons_size() <= 16, "reasons");
    for (const api::BusyReason& reason : busy->reasons()) {
      check_short(reason.source());
      check_short(reason.text());
    }
  }
  check_short(message.heartbeat().busy_task_id());
  check_short(message.refusal().outcome());
  check_short(message.ended().outcome());
  FUZZ_CHECK(message.refusal().reason().size() <= api::kMaxTextBytes, "refusal");
  FUZZ_CHECK(message.ended().reason().size() <= api::kMaxTextBytes, "ended");
  FUZZ_CHECK(message.heartbeat().spool_records() >= 0, "spool_records");
}

// A Hello has a name and ids mostly. Half of the records belong where the run was planned; chance
// would never find the words.
void mend(google::protobuf::Message& message, unsigned seed) {
  auto& agent = static_cast<api::AgentMessage&>(message);
  if (agent.has_hello() && (seed & 0x70000U) != 0) {
    agent.mutable_hello()->set_name("n1");
    agent.mutable_hello()->set_node_id(kOwnNode);
    agent.mutable_hello()->set_incarnation("1");
  }
  if (!agent.has_records()) return;
  for (api::SpooledRecord& spooled : *agent.mutable_records()->mutable_records()) {
    seed = seed * 1'103'515'245 + 12'345;
    if ((seed >> 16U & 1U) != 0) continue;
    RecordKey& key = *spooled.mutable_record()->mutable_key();
    key.set_run_id("r1");
    key.set_task_id("t1");
    key.set_attempt(1 + (seed >> 17U & 1U));
    key.set_rank((seed >> 18U & 7U) == 0 ? 1 : 0);
    if (spooled.record().has_started() && (seed >> 21U & 3U) != 0)
      spooled.mutable_record()->mutable_started()->set_kernel("verbs.write_lat");
  }
}

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const google::protobuf::LogSilencer quiet;
  return railgauge::fuzz::mutate_message(railgauge::api::AgentMessage(), data, size, max_size, seed,
                                         railgauge::fuzz::mend);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge;
  const google::protobuf::LogSilencer quiet;  // it logs each string that is no UTF-8
  api::AgentMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  if (message.has_hello()) fuzz::check_hello(message.hello());
  fuzz::check_texts(message);
  if (message.has_records()) fuzz::check_records(std::move(*message.mutable_records()));
  return 0;
}
