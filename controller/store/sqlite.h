// The C API of SQLite behind Handle, Result and typed binding. Prepared statements only; each is
// prepared once for a connection and kept. Errors are one line that names file, act and cause.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sqlite3.h>

#include "kernels/core/handle.h"
#include "kernels/core/result.h"

namespace railgauge::store {

struct DatabaseTraits {
  using Type = sqlite3*;
  static Type empty() { return nullptr; }
  static void release(Type raw) { RG_CHECK(sqlite3_close(raw) == SQLITE_OK); }
};
struct StatementTraits {
  using Type = sqlite3_stmt*;
  static Type empty() { return nullptr; }
  // Its result repeats the last step's error, which was told already.
  static void release(Type raw) { sqlite3_finalize(raw); }
};
using StatementHandle = Handle<StatementTraits>;

// A value of bytes rather than text.
struct Blob {
  std::string_view bytes;
};

// Lookup by string_view without a copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

class Connection;

// One execution of a prepared statement. Rewinds it when destroyed; lives shorter than its
// connection.
class Rows {
 public:
  Rows(Connection& connection, sqlite3_stmt* statement)
      : connection_(&connection), statement_(statement) {}
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows();

  // Steps to the next row; false at the end. Columns are valid until the next call.
  Result<bool> next();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint32_t small(int column) const;  // of a column that holds 32-bit values
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::optional<double> optional_real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::string blob(int column) const;

 private:
  Connection* connection_;
  sqlite3_stmt* statement_;
};

// Not thread safe: one thread at a time.
class Connection {
 public:
  enum class Mode : std::uint8_t { kCreate, kReadOnly };
  static Result<Connection> open(const std::string& path, Mode mode, double busy_timeout_seconds);

  // Fixed text of one or many statements without values (pragmas, migrations).
  Status script(const char* sql);

  template <class... Values>
  Result<Rows> query(std::string_view sql, const Values&... values) {
    sqlite3_stmt* statement = RG_TRY(prepared(sql));
    int index = 0;
    int code = SQLITE_OK;
    ((code = code == SQLITE_OK ? bind(statement, ++index, values) : code), ...);
    RG_CHECK(index == sqlite3_bind_parameter_count(statement));
    if (code != SQLITE_OK) return tl::unexpected(error("bind"));
    return Rows(*this, statement);
  }
  // To the end, rows ignored.
  template <class... Values>
  Status execute(std::string_view sql, const Values&... values) {
    Rows rows = RG_TRY(query(sql, values...));
    for (bool more = true; more;) more = RG_TRY(rows.next());
    return {};
  }
  // The first column of the first row; absent when there is none.
  template <class... Values>
  Result<std::optional<std::int64_t>> integer(std::string_view sql, const Values&... values) {
    Rows rows = RG_TRY(query(sql, values...));
    if (!RG_TRY(rows.next())) return std::nullopt;
    return rows.integer(0);
  }

  [[nodiscard]] std::int64_t changes() const;  // rows changed by the last statement
  [[nodiscard]] std::int64_t last_id() const;
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  // The last failure as an Error: "store PATH: ACT: CAUSE".
  [[nodiscard]] Error error(std::string_view act) const;

 private:
  Connection(std::string path, Handle<DatabaseTraits> database)
      : path_(std::move(path)), database_(std::move(database)) {}
  Result<sqlite3_stmt*> prepared(std::string_view sql);

  static int bind(sqlite3_stmt* statement, int index, std::nullopt_t);
  static int bind(sqlite3_stmt* statement, int index, double value);
  static int bind(sqlite3_stmt* statement, int index, std::string_view value);
  static int bind(sqlite3_stmt* statement, int index, Blob value);
  static int bind_integer(sqlite3_stmt* statement, int index, std::int64_t value);
  template <std::integral Integer>
  static int bind(sqlite3_stmt* statement, int index, Integer value) {
    return bind_integer(statement, index, static_cast<std::int64_t>(value));
  }
  template <class Value>
  static int bind(sqlite3_stmt* statement, int index, const std::optional<Value>& value) {
    return value ? bind(statement, index, *value) : bind(statement, index, std::nullopt);
  }

  std::string path_;
  Handle<DatabaseTraits> database_;
  // By their text; released before the database.
  std::unordered_map<std::string, StatementHandle, TextHash, std::equal_to<>> statements_;
};

}  // namespace railgauge::store
