#include "agent/link/spool.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "kernels/core/base/failpoint.h"

namespace railgauge::agent {
namespace {
constexpr int kSchemaVersion = 2;
constexpr std::uint64_t kPageBytes = 4096;
constexpr int kBusyMs = 5000;
constexpr std::int64_t kRoomRecords = 256;  // records dropped at first; doubled on each retry
constexpr double kMarkSeconds = 60;

constexpr const char* kSchema = R"sql(
CREATE TABLE record (
  spool_id INTEGER PRIMARY KEY AUTOINCREMENT,
  stored_unix_seconds REAL NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE TABLE task (
  run_id TEXT NOT NULL, task_id TEXT NOT NULL, attempt INTEGER NOT NULL, rank INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,
  next_sequence INTEGER NOT NULL DEFAULT 0,
  opened_unix_seconds REAL NOT NULL,
  closed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run_id, task_id, attempt, rank)
) STRICT, WITHOUT ROWID;
CREATE TABLE acknowledgement (one INTEGER PRIMARY KEY CHECK (one = 1), through INTEGER NOT NULL) STRICT;
INSERT INTO acknowledgement VALUES (1, 0);
)sql";

// Acknowledged ids with their times, one row a minute.
constexpr const char* kSecondVersion = R"sql(
CREATE TABLE acknowledged_at (
  minute INTEGER PRIMARY KEY,
  through INTEGER NOT NULL,
  unix_seconds REAL NOT NULL
) STRICT;
PRAGMA user_version = 2;
)sql";

double unix_now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Code code_of(int error) {
  switch (error & 0xff) {
    case SQLITE_FULL:
      return Code::kResourceExhausted;
    case SQLITE_CONSTRAINT:
      return Code::kAlreadyExists;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Code::kDataLoss;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Code::kPermissionDenied;
    default:
      return Code::kInternal;
  }
}

std::string_view help_for(Code code) {
  if (code == Code::kDataLoss)
    return "; move the file away: what it holds and the controller has not is lost";
  return code == Code::kPermissionDenied ? "; --state-dir must be there and writable" : "";
}

tl::unexpected<Error> failed(sqlite3* database, std::string_view act) {
  const char* file = sqlite3_db_filename(database, "main");
  const Code code = code_of(sqlite3_errcode(database));
  return fail(code, fmt::format("spool {}: {}: {}{}", file != nullptr ? file : "", act,
                                sqlite3_errmsg(database), help_for(code)));
}

struct StatementTraits {
  using Type = sqlite3_stmt*;
  static Type empty() { return nullptr; }
  static void release(Type statement) { sqlite3_finalize(statement); }
};

// One prepared statement with its parameters bound in order. SQL is ours: a bad one is a bug.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    sqlite3_stmt* raw = nullptr;
    prepared_ = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);
    statement_.reset(raw);
  }
  Statement& bind(std::int64_t value) {
    sqlite3_bind_int64(statement_.get(), ++bound_, value);
    return *this;
  }
  Statement& bind(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
  Statement& bind(double value) {
    sqlite3_bind_double(statement_.get(), ++bound_, value);
    return *this;
  }
  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind_blob(const std::string& bytes) {
    sqlite3_bind_blob(statement_.get(), ++bound_, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  // True for a row, false at the end.
  Result<bool> step() {
    if (prepared_ != SQLITE_OK) return failed(database_, "prepare");
    const int result = sqlite3_step(statement_.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    return failed(database_, "step");
  }
  Status run() {
    while (RG_TRY(step())) {
    }
    return {};
  }
  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
  }
  [[nodiscard]] std::string bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    return data == nullptr ? std::string()
                           : std::string(data, static_cast<std::size_t>(
                                                   sqlite3_column_bytes(statement_.get(), column)));
  }

 private:
  sqlite3* database_;
  Handle<StatementTraits> statement_;
  int prepared_ = SQLITE_OK;
  int bound_ = 0;
};

Status execute(sqlite3* database, const char* sql, const char* act) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return failed(database, act);
  return {};
}

Result<std::uint64_t> number_of(sqlite3* database, const char* sql) {
  Statement statement(database, sql);
  return RG_TRY(statement.step()) ? statement.number(0) : 0;
}

template <class Key>
Statement& bind_key(Statement& statement, const Key& key) {
  return statement.bind(key.run_id())
      .bind(key.task_id())
      .bind(std::uint64_t{key.attempt()})
      .bind(std::uint64_t{key.rank()});
}
}  // namespace

void DatabaseTraits::release(sqlite3* database) { RG_CHECK(sqlite3_close(database) == SQLITE_OK); }

Result<Spool> Spool::open(const Options& options) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(options.path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Handle<DatabaseTraits> database(raw);
  if (opened != SQLITE_OK)
    return fail(code_of(opened), fmt::format("spool {}: open: {}{}", options.path,
                                             raw != nullptr ? sqlite3_errmsg(raw) : "no memory",
                                             help_for(code_of(opened))));
  Spool spool(options, std::move(database));
  RG_TRY_OK(spool.set_up());
  return spool;
}

Status Spool::set_up() {
  sqlite3* db = database_.get();
  sqlite3_busy_timeout(db, kBusyMs);
  RG_TRY_OK(execute(db,
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-512;"
                    "PRAGMA wal_autocheckpoint=256; PRAGMA journal_size_limit=4194304;",
                    "set up"));
  const std::string bound = fmt::format(
      "PRAGMA max_page_count={}", std::max<std::uint64_t>(options_.max_bytes / kPageBytes, 1));
  RG_TRY_OK(execute(db, bound.c_str(), "bound its size"));
  const std::uint64_t version = RG_TRY(number_of(db, "PRAGMA user_version"));
  if (version > kSchemaVersion)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("spool {}: has version {}, this agent knows {}; use the newer agent, or "
                    "another --state-dir",
                    options_.path, version, kSchemaVersion));
  RG_TRY_OK(migrate(version));
  acknowledged_ = RG_TRY(number_of(db, "SELECT through FROM acknowledgement"));
  last_id_ = std::max(acknowledged_, RG_TRY(number_of(db, "SELECT max(spool_id) FROM record")));
  waiting_records_ = RG_TRY(number_of(
      db, "SELECT count(*) FROM record WHERE spool_id > (SELECT through FROM acknowledgement)"));
  return {};
}

Status Spool::migrate(std::uint64_t version) {
  if (version == kSchemaVersion) return {};
  sqlite3* db = database_.get();
  return transact([&]() -> Status {
    if (version == 0) RG_TRY_OK(execute(db, kSchema, "make its tables"));
    RG_TRY_OK(execute(db, kSecondVersion, "make its tables"));
    const std::uint64_t through = RG_TRY(number_of(db, "SELECT through FROM acknowledgement"));
    return through == 0 ? Status() : mark_acknowledged(through);
  });
}

template <class Change>
Status Spool::transact(const Change& change) {
  sqlite3* db = database_.get();
  const auto once = [&]() -> Status {
    RG_TRY_OK(execute(db, "BEGIN IMMEDIATE", "begin"));
    Status status = change();
    if (status) status = execute(db, "COMMIT", "commit");
    // SQLite may have rolled back by itself, when the disk is full.
    if (!status && sqlite3_get_autocommit(db) == 0)
      static_cast<void>(execute(db, "ROLLBACK", "roll back"));
    return status;
  };
  Status status = once();
  // A large record may need the room of many small ones.
  for (std::int64_t count = kRoomRecords;
       !status && status.error().code == Code::kResourceExhausted; count *= 2) {
    if (!make_room(count)) return status;
    status = once();
  }
  return status;
}

Status Spool::make_room(std::int64_t max_records) {
  // With half of the bound free, the disk is full, and dropping more records would not help.
  if (RG_TRY(used_bytes()) < options_.max_bytes / 2)
    return fail(Code::kResourceExhausted, "the disk is full, not the spool");
  sqlite3* db = database_.get();
  Statement forget(db,
                   "DELETE FROM record WHERE spool_id IN (SELECT spool_id FROM record "
                   "WHERE spool_id <= ? ORDER BY spool_id LIMIT ?)");
  RG_TRY_OK(forget.bind(acknowledged_).bind(max_records).run());
  if (sqlite3_changes(db) == 0)
    return fail(Code::kResourceExhausted, "nothing acknowledged is left to forget");
  return {};
}

Status Spool::open_task(const OpenTask& task) {
  Status opened = transact([&] {
    Statement insert(database_.get(),
                     "INSERT INTO task (run_id, task_id, attempt, rank, pid, start_ticks, "
                     "opened_unix_seconds) VALUES (?, ?, ?, ?, ?, ?, ?)");
    return bind_key(insert, task.task)
        .bind(std::int64_t{task.pid})
        .bind(task.start_ticks)
        .bind(unix_now_seconds())
        .run();
  });
  if (!opened && opened.error().code == Code::kAlreadyExists)
    return fail(Code::kAlreadyExists,
                fmt::format("{} attempt {} rank {} has run here before", task.task.task_id(),
                            task.task.attempt(), task.task.rank()));
  return opened;
}

Status Spool::append(std::span<const Record> records) {
  RG_TRY_OK(transact([&] { return insert(records); }));
  failpoint("agent_record_spooled");
  last_id_ = static_cast<std::uint64_t>(sqlite3_last_insert_rowid(database_.get()));
  waiting_records_ += records.size();
  return {};
}

Status Spool::insert(std::span<const Record> records) {
  sqlite3* db = database_.get();
  for (const Record& record : records) {
    Statement advance(db,
                      "UPDATE task SET next_sequence = ?, closed = ? WHERE run_id = ? AND "
                      "task_id = ? AND attempt = ? AND rank = ?");
    advance.bind(std::uint64_t{record.key().sequence()} + 1)
        .bind(std::int64_t{record.has_final() ? 1 : 0});
    RG_TRY_OK(bind_key(advance, record.key()).run());
    // Last, so that last_insert_rowid is the spool id.
    Statement insert(db, "INSERT INTO record (stored_unix_seconds, body) VALUES (?, ?)");
    RG_TRY_OK(insert.bind(unix_now_seconds()).bind_blob(record.SerializeAsString()).run());
  }
  return {};
}

Status Spool::acknowledge(std::uint64_t through) {
  through = std::min(through, last_id_);
  if (through <= acknowledged_) return {};
  sqlite3* db = database_.get();
  const Status noted = transact([&]() -> Status {
    RG_TRY_OK(Statement(db, "UPDATE acknowledgement SET through = ?").bind(through).run());
    return mark_acknowledged(through);
  });
  RG_TRY_OK(noted);
  acknowledged_ = through;
  Statement count(db, "SELECT count(*) FROM record WHERE spool_id > ?");
  waiting_records_ = RG_TRY(count.bind(through).step()) ? count.number(0) : 0;
  return {};
}

Status Spool::mark_acknowledged(std::uint64_t through) {
  const double now = unix_now_seconds();
  return Statement(database_.get(),
                   "INSERT INTO acknowledged_at VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
                   "through = excluded.through, unix_seconds = excluded.unix_seconds")
      .bind(static_cast<std::int64_t>(now / kMarkSeconds))
      .bind(through)
      .bind(now)
      .run();
}

Status Spool::prune(double unix_now_seconds) {
  const double before = unix_now_seconds - options_.keep_seconds;
  return transact([&]() -> Status {
    RG_TRY_OK(Statement(database_.get(),
                        "DELETE FROM record WHERE spool_id <= (SELECT max(through) FROM "
                        "acknowledged_at WHERE unix_seconds < ?)")
                  .bind(before)
                  .run());
    RG_TRY_OK(Statement(database_.get(), "DELETE FROM acknowledged_at WHERE unix_seconds < ?")
                  .bind(before)
                  .run());
    return Statement(database_.get(),
                     "DELETE FROM task WHERE closed = 1 AND opened_unix_seconds < ?")
        .bind(before)
        .run();
  });
}

Result<std::vector<api::SpooledRecord>> Spool::read(std::uint64_t after, std::size_t max_records,
                                                    std::size_t max_bytes) {
  Statement select(
      database_.get(),
      "SELECT spool_id, body FROM record WHERE spool_id > ? ORDER BY spool_id LIMIT ?");
  select.bind(after).bind(std::uint64_t{max_records});
  std::vector<api::SpooledRecord> found;
  std::size_t bytes = 0;
  while (RG_TRY(select.step())) {
    const std::string body = select.bytes(1);
    bytes += body.size();
    if (!found.empty() && bytes > max_bytes) break;
    api::SpooledRecord& record = found.emplace_back();
    record.set_spool_id(select.number(0));
    if (record.mutable_record()->ParseFromString(body)) continue;
    spdlog::error("spool {}: record {} is no record; an empty one is sent in its place",
                  options_.path, record.spool_id());
    record.clear_record();
    record.mutable_record();
  }
  return found;
}

Result<std::vector<OpenTask>> Spool::open_tasks() {
  Statement select(
      database_.get(),
      "SELECT run_id, task_id, attempt, rank, pid, start_ticks, next_sequence FROM task "
      "WHERE closed = 0");
  std::vector<OpenTask> open;
  while (RG_TRY(select.step())) {
    OpenTask& task = open.emplace_back();
    task.task.set_run_id(select.bytes(0));
    task.task.set_task_id(select.bytes(1));
    task.task.set_attempt(static_cast<std::uint32_t>(select.number(2)));
    task.task.set_rank(static_cast<std::uint32_t>(select.number(3)));
    task.pid = static_cast<int>(select.number(4));
    task.start_ticks = select.number(5);
    task.next_sequence = static_cast<std::uint32_t>(select.number(6));
  }
  return open;
}

Result<std::uint64_t> Spool::used_bytes() {
  const std::uint64_t pages = RG_TRY(number_of(database_.get(), "PRAGMA page_count"));
  const std::uint64_t free = RG_TRY(number_of(database_.get(), "PRAGMA freelist_count"));
  return (pages - free) * kPageBytes;
}

}  // namespace railgauge::agent
