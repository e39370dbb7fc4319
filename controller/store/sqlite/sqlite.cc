#include "controller/store/sqlite/sqlite.h"

#include <cerrno>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {
namespace {

constexpr std::size_t kMaxStatements = 256;  // kept at once: a person's filters make new texts

// The meaning of SQLite's code for the caller, and a remedy.
std::pair<Code, std::string_view> meaning_of(int extended) {
  switch (extended & 0xff) {
    case SQLITE_FULL:
      return {Code::kResourceExhausted, "; free space on its file system"};
    case SQLITE_NOTADB:
      return {Code::kDataLoss, "; name another file, or restore it from a backup"};
    case SQLITE_CORRUPT:
      return {Code::kDataLoss, "; restore it from a backup"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, "; another program holds its lock"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::kPermissionDenied, "; file and folder must be writable"};
    case SQLITE_CANTOPEN:
      return {Code::kUnavailable, "; its folder must exist and be writable"};
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
      return {Code::kUnavailable, ""};
    case SQLITE_NOMEM:
      return {Code::kResourceExhausted, ""};
    case SQLITE_INTERRUPT:
      return {Code::kDeadlineExceeded, "; the query took longer than allowed, narrow it"};
    default:
      return {Code::kInternal, ""};
  }
}

// The message of the last error in one line: a message about a damaged schema quotes its SQL.
std::string message_of(sqlite3* database) {
  std::string message = sqlite3_errmsg(database);
  std::ranges::replace(message, '\n', ' ');
  return printable(message);
}

// SQLite says "full" for ENOSPC of a write alone: a quota, a limit of file sizes and the log's
// index are I/O errors to it.
bool is_full(sqlite3* database) {
  const int code = sqlite3_errcode(database) & 0xff;
  const int system_code = sqlite3_system_errno(database);
  return code == SQLITE_FULL ||
         ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) &&
          (system_code == ENOSPC || system_code == EDQUOT || system_code == EFBIG));
}

Error error_of(sqlite3* database, const std::string& path, std::string_view act) {
  const int code = sqlite3_extended_errcode(database);
  const auto [meaning, help] = meaning_of(is_full(database) ? SQLITE_FULL : code);
  if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY)
    return {Code::kAlreadyExists, fmt::format("store {}: {}: {}", path, act, message_of(database))};
  const int system_code = sqlite3_system_errno(database);
  const bool system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  return {meaning, fmt::format("store {}: {}: {}{}{}", path, act, message_of(database),
                               system && system_code != 0 ? fmt::format(" (errno {})", system_code)
                                                          : std::string(),
                               help)};
}

}  // namespace

Rows::Rows(Connection& connection, sqlite3_stmt* statement)
    : connection_(&connection), statement_(statement) {
  ++connection_->living_rows_;
}

Rows::Rows(Rows&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      once_(std::move(other.once_)) {}

Rows::~Rows() {
  if (statement_ == nullptr) return;
  --connection_->living_rows_;
  sqlite3_reset(statement_);  // repeats the last step's code, which was returned already
  sqlite3_clear_bindings(statement_);
}

Status Rows::check_states() const {
  if (!unknown_text_) return {};
  return fail(Code::kDataLoss, "state \"{}\" in the database is unknown to this controller",
              *unknown_text_);
}

Result<bool> Rows::next() {
  RG_TRY_OK(check_states());
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const std::string_view sql(sqlite3_sql(statement_));
  return tl::unexpected(connection_->error(sql.substr(0, sql.find_first_of(" \n"))));
}

bool Rows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::uint32_t Rows::small(int column) const { return static_cast<std::uint32_t>(integer(column)); }

double Rows::real(int column) const { return sqlite3_column_double(statement_, column); }

std::optional<double> Rows::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

std::string_view Rows::view(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text), size);
}

std::string Rows::text(int column) const { return std::string(view(column)); }

std::string Rows::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

int Rows::column_count() const { return sqlite3_column_count(statement_); }

std::string Rows::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name == nullptr ? "" : name;
}

std::variant<std::monostate, double, std::int64_t, std::string> Rows::value(int column) const {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;  // a double has no more bits
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_NULL:
      return std::monostate();
    case SQLITE_INTEGER:
      if (integer(column) > kExact || integer(column) < -kExact) return integer(column);
      return real(column);
    case SQLITE_FLOAT:
      return real(column);
    case SQLITE_BLOB:
      return fmt::format("{} bytes", sqlite3_column_bytes(statement_, column));
    default:
      return text(column);
  }
}

namespace {

// Tables that have calls of their own for those who may read them: the audit trail names people,
// enrolment has hashes of secrets, keys and addresses. SQLite's own have copies of any table's
// values or pages.
constexpr std::array<const char*, 6> kUnreadable{"audit",        "enrolment_token", "enrolment",
                                                 "sqlite_stat4", "sqlite_dbpage",   "sqlite_stmt"};

bool is_unreadable(const char* table) {
  return std::ranges::any_of(kUnreadable,
                             [&](const char* one) { return sqlite3_stricmp(table, one) == 0; });
}

// Refuses actions that SQLite counts as reading and a stranger may not do. Statements that write
// are refused as a whole.
int allow_reading(void*, int act, const char* first, const char* second, const char*, const char*) {
  switch (act) {
    // A table without a used column is named as the statement spells it.
    case SQLITE_READ:
      return is_unreadable(first) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_PRAGMA:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return SQLITE_DENY;
    case SQLITE_FUNCTION:
      return std::string_view(second == nullptr ? "" : second) == "load_extension" ? SQLITE_DENY
                                                                                   : SQLITE_OK;
    default:
      return SQLITE_OK;
  }
}

// The pragmas behind the functions that describe the schema (pragma_table_info). SQLite prepares
// them while the statement runs.
int allow_description(void*, int act, const char* first, const char* second, const char* third,
                      const char* fourth) {
  constexpr std::array<std::string_view, 14> kDescribe{
      "table_info",  "table_xinfo",      "table_list",     "index_list",    "index_info",
      "index_xinfo", "foreign_key_list", "database_list",  "function_list", "compile_options",
      "page_count",  "page_size",        "freelist_count", "user_version"};
  if (act != SQLITE_PRAGMA) return allow_reading(nullptr, act, first, second, third, fourth);
  const bool is_known =
      first != nullptr && std::ranges::find(kDescribe, std::string_view(first)) != kDescribe.end();
  // All but "user_version" have names as arguments; that one would set it.
  return is_known && (second == nullptr || std::string_view(first) != "user_version") ? SQLITE_OK
                                                                                      : SQLITE_DENY;
}

}  // namespace

// The call begins the use of SQLite, after which open() cannot turn the counting off.
void bound_memory(std::int64_t bytes) { sqlite3_hard_heap_limit64(bytes); }

Result<Rows> Connection::query_once(const std::string& sql) {
  constexpr int kMaxValueBytes = 16 << 20;  // of one text or blob: zeroblob(1e9) is memory
  sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_set_authorizer(database_.get(), allow_reading, nullptr);
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()), &raw, &rest);
  sqlite3_set_authorizer(database_.get(), allow_description, nullptr);
  StatementHandle statement(raw);
  if (code != SQLITE_OK)
    return fail(Code::kInvalidArgument,
                fmt::format("sql: {}; only a SELECT over the database's tables is taken",
                            message_of(database_.get())));
  const bool more = rest != nullptr &&
                    std::string_view(rest).find_first_not_of(" ;\n\t") != std::string_view::npos;
  if (raw == nullptr || more || sqlite3_stmt_readonly(raw) == 0)
    return fail(Code::kInvalidArgument, "sql: exactly one SELECT");
  Rows rows(*this, raw);
  rows.once_ = std::move(statement);
  return rows;
}

Result<Connection> Connection::open(const std::string& path, Mode mode,
                                    double busy_timeout_seconds) {
  const int flags =
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
      (mode == Mode::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  // Nobody asks how much memory SQLite has: counting it costs two locks for each allocation.
  static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(uncounted);  // refused when SQLite is in use already: then it counts
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Handle<DatabaseTraits> database(raw);
  if (code != SQLITE_OK) {
    if (raw == nullptr)
      return fail(Code::kResourceExhausted, fmt::format("store {}: open: no memory", path));
    return tl::unexpected(error_of(raw, path, "open"));
  }
  sqlite3_busy_timeout(raw, static_cast<int>(std::lround(busy_timeout_seconds * 1'000)));
  return Connection(path, std::move(database));
}

Status Connection::script(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    const std::string_view text(sql);
    return tl::unexpected(error(text.substr(0, text.find_first_of(";\n"))));
  }
  return {};
}

Result<sqlite3_stmt*> Connection::prepared(std::string_view sql) {
  const auto address = reinterpret_cast<std::uintptr_t>(sql.data());
  Recent& recent = recent_[(address / 8 + sql.size()) % recent_.size()];
  // The text is compared too: another text may be at the same address by now.
  if (recent.key.data() == sql.data() && recent.text == sql) {
    RG_CHECK(sqlite3_stmt_busy(recent.statement) == 0);  // one execution at a time
    return recent.statement;
  }
  const auto found = statements_.find(sql);
  if (found != statements_.end()) {
    RG_CHECK(sqlite3_stmt_busy(found->second.get()) == 0);
    recent = {sql, found->first, found->second.get()};
    return found->second.get();
  }
  if (statements_.size() >= kMaxStatements) forget_statements();
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &raw, nullptr) != SQLITE_OK)
    return tl::unexpected(error("prepare"));
  statements_.emplace(std::string(sql), StatementHandle(raw));
  return raw;
}

// Never under rows that are still there: they know their statement. Then the next text does it.
void Connection::forget_statements() {
  if (living_rows_ > 0) return;
  recent_ = {};
  statements_.clear();
}

int Connection::bind(const Place& place, std::nullopt_t) {
  return sqlite3_bind_null(place.statement, place.index);
}

int Connection::bind(const Place& place, double value) {
  return sqlite3_bind_double(place.statement, place.index, value);
}

int Connection::bind(const Place& place, std::string_view value) {
  // Never a null pointer: that would bind NULL.
  return sqlite3_bind_text64(place.statement, place.index, value.empty() ? "" : value.data(),
                             value.size(), place.lifetime, SQLITE_UTF8);
}

int Connection::bind(const Place& place, Blob value) {
  return sqlite3_bind_blob64(place.statement, place.index,
                             value.bytes.empty() ? "" : value.bytes.data(), value.bytes.size(),
                             place.lifetime);
}

int Connection::bind_integer(const Place& place, std::int64_t value) {
  return sqlite3_bind_int64(place.statement, place.index, value);
}

Connection::TimeLimit::TimeLimit(const Connection& connection, double seconds,
                                 std::function<bool()> is_over)
    : database_(connection.database_.get()),
      end_ns_(monotonic_now_ns() + seconds * 1e9),
      is_over_(std::move(is_over)) {
  constexpr int kOperations = 10'000;  // of SQLite's machine between two looks: below 1 ms
  sqlite3_progress_handler(database_, kOperations, look, this);
}

Connection::TimeLimit::TimeLimit(const Connection& connection, std::function<bool()> is_over)
    : TimeLimit(connection, std::numeric_limits<double>::infinity(), std::move(is_over)) {}

Connection::TimeLimit::~TimeLimit() { sqlite3_progress_handler(database_, 0, nullptr, nullptr); }

int Connection::TimeLimit::look(void* self) {
  const auto& limit = *static_cast<TimeLimit*>(self);
  return monotonic_now_ns() > limit.end_ns_ || (limit.is_over_ && limit.is_over_()) ? 1 : 0;
}

std::int64_t Connection::changes() const { return sqlite3_changes64(database_.get()); }

std::int64_t Connection::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

Status Connection::keep_temporary_in_memory() { return script("PRAGMA temp_store=MEMORY"); }

bool Connection::lacks_room() const { return is_full(database_.get()); }

Error Connection::error(std::string_view act) const {
  return error_of(database_.get(), path_, act);
}

}  // namespace railgauge::store
