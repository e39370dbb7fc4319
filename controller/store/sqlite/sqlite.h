// The C API of SQLite behind Handle, Result and typed binding. Uses prepared statements only; a
// connection prepares each text once and keeps it, up to a bound of texts. Errors are one line that
// names file, act and cause.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include <sqlite3.h>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

struct DatabaseTraits {
  using Type = sqlite3*;
  static Type empty() { return nullptr; }
  static void release(Type raw) { RG_CHECK(sqlite3_close(raw) == SQLITE_OK); }
};
struct StatementTraits {
  using Type = sqlite3_stmt*;
  static Type empty() { return nullptr; }
  // Ignores the result: it repeats the last step's error, which was returned already.
  static void release(Type raw) { sqlite3_finalize(raw); }
};
using StatementHandle = Handle<StatementTraits>;

// Bytes, as opposed to text.
struct Blob {
  std::string_view bytes;
};

// Allows lookup by string_view without a copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

class Connection;

// One execution of a prepared statement. Rewinds the statement when destroyed. Must not outlive its
// connection.
class Rows {
 public:
  Rows(Connection& connection, sqlite3_stmt* statement);
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows();

  // Steps to the next row; false at the end. Columns are valid until the next call. Fails
  // as check_states() for the row before.
  Result<bool> next();
  // kDataLoss: a state of the present row has a text that its table lacks.
  [[nodiscard]] Status check_states() const;

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint32_t small(int column) const;  // for a column of 32-bit values
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::optional<double> optional_real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  // The text without a copy; valid until the next call of next().
  [[nodiscard]] std::string_view view(int column) const;
  [[nodiscard]] std::string blob(int column) const;
  // Reads the columns in order, each as the type of its field; NULL becomes 0, "" or absent.
  template <class... Fields>
  void read(Fields&... fields) const {
    int column = 0;
    (get(column++, fields), ...);
  }
  [[nodiscard]] int column_count() const;
  [[nodiscard]] std::string column_name(int column) const;
  // Returns the value as stored. Integers beyond 2^53 stay integers; a blob is its size in words.
  [[nodiscard]] std::variant<std::monostate, double, std::int64_t, std::string> value(
      int column) const;

 private:
  friend class Connection;
  void get(int column, std::string& field) const { field = text(column); }
  void get(int column, double& field) const { field = real(column); }
  template <std::integral Integer>
  void get(int column, Integer& field) const {
    field = static_cast<Integer>(integer(column));
  }
  // Reads an enumeration by the table of its texts (controller/api/states.h). NULL leaves the field
  // unchanged. A text that the table lacks makes check_states() fail.
  template <class State>
  requires std::is_enum_v<State>
  void get(int column, State& field) const {
    if (is_null(column)) return;
    const auto texts = texts_of(field);
    const auto found = std::ranges::find(texts, text(column));
    if (found == texts.end())
      unknown_text_ = text(column);
    else
      field = static_cast<State>(found - texts.begin());
  }
  template <class Value>
  void get(int column, std::optional<Value>& field) const {
    if (is_null(column)) return field.reset();
    get(column, field.emplace());
  }

  Connection* connection_;
  sqlite3_stmt* statement_;
  StatementHandle once_{};                           // a statement that is not kept
  mutable std::optional<std::string> unknown_text_;  // of a state that no table has
};

// The members of a row in the order of a query's columns.
template <class Row, class... Fields>
struct Columns {
  explicit constexpr Columns(Fields Row::*... in_order) : members(in_order...) {}
  void read(const Rows& rows, Row& row) const {
    std::apply([&](auto... member) { rows.read(row.*member...); }, members);
  }
  std::tuple<Fields Row::*...> members;
};

// Bounds the memory that SQLite takes in this process; beyond it, statements fail with
// kResourceExhausted. Call it before the first connection is opened.
void bound_memory(std::int64_t bytes);

// One connection to a database file. Not thread safe: use it on one thread at a time.
class Connection {
 public:
  enum class Mode : std::uint8_t { kCreate, kReadOnly };
  // Waits up to `busy_timeout_seconds` for locks of other programs.
  static Result<Connection> open(const std::string& path, Mode mode, double busy_timeout_seconds);

  // Runs fixed text of one or many statements without values: pragmas, migrations.
  Status script(const char* sql);

  // Runs a statement with `values` bound in order. The text is prepared once and kept.
  template <class... Values>
  Result<Rows> query(std::string_view sql, const Values&... values) {
    return bound(sql, SQLITE_TRANSIENT, values...);
  }
  // Runs a person's statement, which may only read this database: no other file, no pragma, no
  // second statement. Only those functions of pragmas work that describe the schema. From then on
  // the connection takes nothing else, and its values have at most 16 MiB.
  // kInvalidArgument, with SQLite's message: any other statement.
  Result<Rows> query_once(const std::string& sql);
  // Runs a statement to its end and ignores rows.
  template <class... Values>
  Status execute(std::string_view sql, const Values&... values) {
    Rows rows = RG_TRY(bound(sql, SQLITE_STATIC, values...));
    for (bool more = true; more;) more = RG_TRY(rows.next());
    return {};
  }
  // Returns the first column of the first row; absent without rows.
  template <class... Values>
  Result<std::optional<std::int64_t>> integer(std::string_view sql, const Values&... values) {
    Rows rows = RG_TRY(bound(sql, SQLITE_STATIC, values...));
    if (!RG_TRY(rows.next())) return std::nullopt;
    return rows.integer(0);
  }

  // Reads the first row of a query into `fields`; false without rows.
  template <class... Fields, class... Values>
  Result<bool> row(const std::tuple<Fields&...>& fields, std::string_view sql,
                   const Values&... values) {
    Rows rows = RG_TRY(bound(sql, SQLITE_STATIC, values...));
    if (!RG_TRY(rows.next())) return false;
    std::apply([&](auto&... field) { rows.read(field...); }, fields);
    RG_TRY_OK(rows.check_states());
    return true;
  }
  // Returns all rows of a query, read by `columns`.
  template <class Row, class... Fields, class... Values>
  Result<std::vector<Row>> list(const Columns<Row, Fields...>& columns, std::string_view sql,
                                const Values&... values) {
    std::vector<Row> list;
    Rows rows = RG_TRY(bound(sql, SQLITE_STATIC, values...));
    while (RG_TRY(rows.next())) columns.read(rows, list.emplace_back());
    return list;
  }
  // Returns the first column of all rows.
  template <class Value, class... Values>
  Result<std::vector<Value>> column(std::string_view sql, const Values&... values) {
    std::vector<Value> list;
    Rows rows = RG_TRY(bound(sql, SQLITE_STATIC, values...));
    while (RG_TRY(rows.next())) rows.read(list.emplace_back());
    return list;
  }

  // Ends queries in its scope with kDeadlineExceeded after `seconds`, or when `is_over` returns
  // true.
  class TimeLimit {
   public:
    TimeLimit(const Connection& connection, double seconds, std::function<bool()> is_over = {});
    TimeLimit(const Connection& connection, std::function<bool()> is_over);
    ~TimeLimit();
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;

   private:
    static int look(void* self);
    sqlite3* database_;
    double end_ns_;
    std::function<bool()> is_over_;  // may be empty
  };

  // Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t last_id() const;
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] sqlite3* raw() const { return database_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Sorting and intermediate tables of this connection write no file.
  Status keep_temporary_in_memory();
  // Whether the last call failed because the file system is full.
  [[nodiscard]] bool lacks_room() const;
  // The last failure as an Error: "store PATH: ACT: CAUSE".
  [[nodiscard]] Error error(std::string_view act) const;

 private:
  Connection(std::string path, Handle<DatabaseTraits> database)
      : path_(std::move(path)), database_(std::move(database)) {}
  friend class Rows;
  Result<sqlite3_stmt*> prepared(std::string_view sql);
  void forget_statements();

  // Whether SQLite copies texts and blobs, or the caller keeps them until the rows are finished.
  using Lifetime = sqlite3_destructor_type;
  // A parameter of a statement.
  struct Place {
    sqlite3_stmt* statement;
    int index;
    Lifetime lifetime;
  };
  template <class... Values>
  Result<Rows> bound(std::string_view sql, [[maybe_unused]] Lifetime lifetime,
                     const Values&... values) {
    sqlite3_stmt* statement = RG_TRY(prepared(sql));
    int index = 0;
    int code = SQLITE_OK;
    ((code = code == SQLITE_OK ? bind({statement, ++index, lifetime}, values) : code), ...);
    RG_CHECK(index == sqlite3_bind_parameter_count(statement));
    if (code != SQLITE_OK) return tl::unexpected(error("bind"));
    return Rows(*this, statement);
  }
  static int bind(const Place& place, std::nullopt_t);
  static int bind(const Place& place, double value);
  static int bind(const Place& place, std::string_view value);
  static int bind(const Place& place, Blob value);
  static int bind_integer(const Place& place, std::int64_t value);
  template <std::integral Integer>
  static int bind(const Place& place, Integer value) {
    return bind_integer(place, static_cast<std::int64_t>(value));
  }
  template <class State>
  requires std::is_enum_v<State>
  static int bind(const Place& place, State state) {
    return bind(place, std::string_view(text_of(state)));
  }
  template <class Value>
  static int bind(const Place& place, const std::optional<Value>& value) {
    return value ? bind(place, *value) : bind(place, std::nullopt);
  }

  std::string path_;
  Handle<DatabaseTraits> database_;
  // Statements by their text; released before the database.
  std::unordered_map<std::string, StatementHandle, TextHash, std::equal_to<>> statements_;
  // Statements by the address of their text, which is nearly always a literal: hashing some hundred
  // bytes for each row would cost measurable time.
  struct Recent {
    std::string_view key{};  // the caller's text
    std::string_view text{};
    sqlite3_stmt* statement = nullptr;
  };
  std::array<Recent, 64> recent_{};
  int living_rows_ = 0;
};

}  // namespace railgauge::store
