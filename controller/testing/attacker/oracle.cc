// Compares agents' spools with the controller's database: every record that was acknowledged is
// there, once, with the spool's figure. Reads both as files, while nobody writes.
#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "controller/testing/attacker/attacks.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::attacker {
namespace {

using Row = std::function<void(sqlite3_stmt*)>;

std::string text_of(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return bytes == nullptr ? "" : std::string(bytes, size);
}

// Ends the program where the file is no such database: a comparison with nothing proves nothing.
void read(const std::string& path, const char* sql, const Row& row) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(raw, &sqlite3_close);
  sqlite3_stmt* statement = nullptr;
  constexpr int kBusyMs = 5'000;
  sqlite3_busy_timeout(raw, kBusyMs);
  if (opened != SQLITE_OK || sqlite3_prepare_v2(raw, sql, -1, &statement, nullptr) != SQLITE_OK) {
    fmt::print(stderr, "railgauge-attacker: {}: {}\n", path, sqlite3_errmsg(raw));
    std::exit(4);
  }
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) row(statement);
  sqlite3_finalize(statement);
  if (step == SQLITE_DONE) return;
  fmt::print(stderr, "railgauge-attacker: {}: {}\n", path, sqlite3_errmsg(raw));
  std::exit(4);
}

// "RUN TASK ATTEMPT RANK SEQUENCE" of each stored point and note, and "... started" and "...
// final".
struct Stored {
  int count = 0;
  double median = 0;
};
using Index = std::map<std::string, Stored>;

constexpr const char* kPlaces =
    " JOIN attempt ON attempt.id=rank.attempt JOIN task ON task.id=attempt.task "
    "JOIN run ON run.id=task.run";
constexpr const char* kColumns =
    "run.run_id || ' ' || task.task_id || ' ' || attempt.attempt || ' ' || rank.rank";

Index index_of(const std::string& path) {
  Index index;
  const auto add = [&](sqlite3_stmt* row) {
    Stored& stored = index[text_of(row, 0)];
    ++stored.count;
    stored.median = sqlite3_column_double(row, 1);
  };
  const std::string columns = kColumns;
  const std::string places = kPlaces;
  read(path,
       ("SELECT " + columns +
        " || ' ' || point.sequence, median FROM point JOIN rank ON rank.id=point.rank" + places)
           .c_str(),
       add);
  read(path,
       ("SELECT " + columns +
        " || ' ' || note.sequence, 0 FROM note JOIN rank ON rank.id=note.rank" + places)
           .c_str(),
       add);
  read(path,
       ("SELECT " + columns + " || ' started', 0 FROM rank" + places +
        " WHERE rank.revision IS NOT NULL")
           .c_str(),
       add);
  read(path,
       ("SELECT " + columns + " || ' final', 0 FROM rank" + places +
        " WHERE rank.outcome IS NOT NULL")
           .c_str(),
       add);
  return index;
}

std::string key_of(const Record& record) {
  const RecordKey& key = record.key();
  std::string text =
      fmt::format("{} {} {} {}", key.run_id(), key.task_id(), key.attempt(), key.rank());
  if (record.has_started()) return text + " started";
  if (record.has_final()) return text + " final";
  return fmt::format("{} {}", text, key.sequence());
}

struct Count {
  int acknowledged = 0;
  int waiting = 0;
  int missing = 0;
  int twice = 0;
  int changed = 0;
  int aside = 0;  // kept as records that fit no known run
};

void compare(const std::string& spool, const Index& stored, const Index& aside, Count& count) {
  const auto one = [&](sqlite3_stmt* row) {
    if (sqlite3_column_int(row, 1) == 0) {
      ++count.waiting;
      return;
    }
    Record record;
    if (!record.ParseFromString(text_of(row, 0))) return;
    ++count.acknowledged;
    const std::string key = key_of(record);
    const auto found = stored.find(key);
    if (found == stored.end()) {
      const RecordKey& id = record.key();
      const bool put_aside = aside.contains(fmt::format("{} {} {} {} {}", id.run_id(), id.task_id(),
                                                        id.attempt(), id.rank(), id.sequence()));
      ++(put_aside ? count.aside : count.missing);
      say("{} {} of {}", put_aside ? "aside" : "missing", key, spool);
      return;
    }
    if (found->second.count > 1) ++count.twice;
    if (record.has_point() && record.point().median() != found->second.median) ++count.changed;
  };
  read(spool,
       "SELECT body, spool_id <= (SELECT through FROM acknowledgement) FROM record ORDER BY "
       "spool_id",
       one);
}

}  // namespace

int compare_spools(const Arguments& arguments) {
  const std::string database = arguments.text("database");
  const Index stored = index_of(database);
  Index aside;
  read(database,
       "SELECT run_id || ' ' || task_id || ' ' || attempt || ' ' || rank || ' ' || sequence FROM "
       "orphan_record",
       [&](sqlite3_stmt* row) { ++aside[text_of(row, 0)].count; });
  Count count;
  for (const std::string& spool : arguments.texts("spool")) compare(spool, stored, aside, count);
  say("acknowledged {} missing {} twice {} changed {} aside {} waiting {}", count.acknowledged,
      count.missing, count.twice, count.changed, count.aside, count.waiting);
  return count.missing + count.twice + count.changed == 0 ? 0 : 1;
}

}  // namespace railgauge::attacker
