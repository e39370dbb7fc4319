#include "controller/mirror/pq/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "controller/mirror/pq/apart.h"
#include "controller/mirror/pq/url.h"
#include "kernels/core/base/clock.h"

namespace railgauge::pq {
namespace {

// Between two looks whether the owner stops.
constexpr int kPollMilliseconds = 100;
constexpr std::size_t kCopyPieceBytes = 256U << 10U;

// One line without the "ERROR:" in front.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text)
    line += letter == '\n' || letter == '\t' || letter == '\r' ? ' ' : letter;
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

// By PostgreSQL's classes of errors: a full disk, a time limit, rights, a lost server, wrong SQL.
Code code_of(std::string_view state) {
  if (state == "53100" || state == "53200") return Code::kResourceExhausted;
  if (state == "57014") return Code::kDeadlineExceeded;
  if (state == "55P03") return Code::kUnavailable;  // a lock of others, whatever the load
  if (state == "42501" || state.starts_with("28")) return Code::kPermissionDenied;
  if (state == "25006") return Code::kPermissionDenied;
  if (state.starts_with("40")) return Code::kAborted;
  if (state.starts_with("08") || state.starts_with("57") || state.starts_with("53"))
    return Code::kUnavailable;
  if (state.starts_with("42") || state.starts_with("22")) return Code::kInvalidArgument;
  return Code::kInternal;
}

const Libpq& loaded() {
  const auto library = load_libpq();
  RG_CHECK(library);
  return **library;
}

}  // namespace

void ConnectionTraits::release(Type raw) { loaded().finish(raw); }
void ResultTraits::release(Type raw) { loaded().clear(raw); }

// --- answers -----------------------------------------------------------------------------------

std::string Answer::column_name(int column) const {
  return library_->column_name(result_.get(), column);
}
unsigned int Answer::column_type(int column) const {
  return library_->column_type(result_.get(), column);
}
bool Answer::is_null(int row, int column) const {
  return library_->is_null(result_.get(), row, column) != 0;
}
std::string_view Answer::text(int row, int column) const {
  return {library_->value(result_.get(), row, column),
          static_cast<std::size_t>(library_->length(result_.get(), row, column))};
}
std::int64_t Answer::integer(int row, int column) const {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
double Answer::real(int row, int column) const {
  const std::string_view digits = text(row, column);
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
std::optional<double> Answer::optional_real(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return real(row, column);
}
std::string Answer::bytes(int row, int column) const {
  const std::string_view digits = text(row, column);
  const auto half = [](char digit) {
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
  };
  std::string bytes;
  if (!digits.starts_with("\\x")) return bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 2; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(half(digits[i]) * 16 + half(digits[i + 1]));
  return bytes;
}
std::int64_t Answer::changed() const {
  const std::string_view digits = library_->changed(result_.get());
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// --- connecting --------------------------------------------------------------------------------

// libpq looks names up within its calls, and a dead name server takes half a minute: the connection
// is made on a thread of its own, which whoever stops leaves behind.
Result<std::unique_ptr<Connection>> Connection::open(ConnectOptions options) {
  RG_TRY_OK(check_url(options.url));
  const Libpq* library = RG_TRY(load_libpq());
  std::function<bool()> is_over = std::exchange(options.is_over, {});
  auto opened = run_apart(
      [library, options](const std::atomic<bool>& is_given_up) {
        ConnectOptions own = options;
        own.is_over = [&is_given_up] { return is_given_up.load(); };
        return open_here(*library, std::move(own));
      },
      options.connect_seconds, is_over);
  if (!opened) {
    if (is_over && is_over())
      return fail(Code::kCancelled, "{}: ended: the program stops", shown_url(options.url));
    return fail(Code::kDeadlineExceeded, "{}: connect: no answer in time", shown_url(options.url));
  }
  if (*opened) (**opened)->options_.is_over = std::move(is_over);
  return std::move(*opened);
}

Result<std::unique_ptr<Connection>> Connection::open_here(const Libpq& library,
                                                          ConnectOptions options) {
  const std::array keywords{"dbname", "application_name", "client_encoding", "keepalives_idle",
                            static_cast<const char*>(nullptr)};
  const std::array values{options.url.c_str(), options.application.c_str(), "UTF8", "10",
                          static_cast<const char*>(nullptr)};
  Handle<ConnectionTraits> raw(library.connect_start(keywords.data(), values.data(), 1));
  if (raw.get() == nullptr)
    return fail(Code::kResourceExhausted, "{}: connect: no memory", shown_url(options.url));
  std::unique_ptr<Connection> connection(
      new Connection(library, std::move(options), std::move(raw)));
  RG_TRY_OK(connection->connect());
  return connection;
}

Status Connection::connect() {
  const double deadline_ns = monotonic_now_ns() + options_.connect_seconds * 1e9;
  // As after a reading step: wait for writing first.
  int state = kPollingWriting;
  while (state != kPollingOk) {
    if (state == kPollingFailed) {
      Error failure = lost("connect");
      const std::string& text = failure.message;
      const bool is_refused = text.find("authentication failed") != std::string::npos ||
                              text.find("pg_hba.conf") != std::string::npos ||
                              text.find("does not exist") != std::string::npos;
      if (is_refused) failure.code = Code::kPermissionDenied;
      return tl::unexpected(std::move(failure));
    }
    RG_TRY_OK(wait(state == kPollingWriting, deadline_ns));
    state = library_->connect_poll(raw_.get());
  }
  if (library_->set_nonblocking(raw_.get(), 1) != 0) return tl::unexpected(lost("connect"));
  return {};
}

// --- statements --------------------------------------------------------------------------------

Result<Answer> Connection::query(const std::string& sql, const Values& values) {
  const double deadline_ns = monotonic_now_ns() + options_.answer_seconds * 1e9;
  last_state_.clear();
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const auto& value : values) texts.push_back(value ? value->c_str() : nullptr);
  if (library_->send_query(raw_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr,
                           texts.data(), nullptr, nullptr, 0) == 0)
    return tl::unexpected(lost("send"));
  RG_TRY_OK(flush(deadline_ns));
  return Answer(*library_, RG_TRY(finish(deadline_ns)));
}

Status Connection::execute(const std::string& sql, const Values& values) {
  const Result<Answer> answer = query(sql, values);
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Result<Answer> Connection::script(const std::string& sql) {
  const double deadline_ns = monotonic_now_ns() + options_.answer_seconds * 1e9;
  last_state_.clear();
  if (library_->send_script(raw_.get(), sql.c_str()) == 0) return tl::unexpected(lost("send"));
  RG_TRY_OK(flush(deadline_ns));
  return Answer(*library_, RG_TRY(finish(deadline_ns)));
}

// Each piece has a deadline of its own: a large copy takes as long as it takes.
Status Connection::copy_in(const std::string& sql, std::string_view data) {
  double deadline_ns = monotonic_now_ns() + options_.answer_seconds * 1e9;
  last_state_.clear();
  if (library_->send_script(raw_.get(), sql.c_str()) == 0) return tl::unexpected(lost("send"));
  RG_TRY_OK(flush(deadline_ns));
  const auto begun = RG_TRY(next(deadline_ns));
  if (library_->result_status(begun.get()) != kResultCopyIn)
    return tl::unexpected(error("copy", begun.get()));
  while (!data.empty()) {
    deadline_ns = monotonic_now_ns() + options_.answer_seconds * 1e9;
    const std::string_view piece = data.substr(0, kCopyPieceBytes);
    int sent = 0;
    while ((sent = library_->put_copy_data(raw_.get(), piece.data(),
                                           static_cast<int>(piece.size()))) == 0)
      RG_TRY_OK(flush(deadline_ns));
    if (sent < 0) return tl::unexpected(lost("copy"));
    RG_TRY_OK(flush(deadline_ns));
    data.remove_prefix(piece.size());
  }
  int ended = 0;
  while ((ended = library_->put_copy_end(raw_.get(), nullptr)) == 0) RG_TRY_OK(flush(deadline_ns));
  if (ended < 0) return tl::unexpected(lost("copy"));
  RG_TRY_OK(flush(deadline_ns));
  const auto result = finish(deadline_ns);
  if (!result) return tl::unexpected(result.error());
  return {};
}

// --- waiting -----------------------------------------------------------------------------------

Status Connection::wait(bool for_writing, double deadline_ns) {
  for (;;) {
    if (options_.is_over && options_.is_over())
      return fail(Code::kCancelled, "{}: ended: the program stops", shown_url(options_.url));
    const double left_ns = deadline_ns - monotonic_now_ns();
    if (left_ns <= 0)
      return fail(Code::kDeadlineExceeded, "{}: no answer in time", shown_url(options_.url));
    pollfd wanted{.fd = library_->socket(raw_.get()),
                  .events = static_cast<short>(POLLIN | (for_writing ? POLLOUT : 0)),
                  .revents = 0};
    if (wanted.fd < 0) return tl::unexpected(lost("wait"));
    const int milliseconds = std::clamp(static_cast<int>(left_ns / 1e6) + 1, 1, kPollMilliseconds);
    if (::poll(&wanted, 1, milliseconds) > 0) return {};
  }
}

// The server may have to be read before it reads: both directions count.
Status Connection::flush(double deadline_ns) {
  int left = 0;
  while ((left = library_->flush(raw_.get())) > 0) {
    RG_TRY_OK(wait(true, deadline_ns));
    if (library_->consume_input(raw_.get()) == 0) return tl::unexpected(lost("send"));
  }
  if (left < 0) return tl::unexpected(lost("send"));
  return {};
}

// Reads only as much as one result needs.
Result<Handle<ResultTraits>> Connection::next(double deadline_ns) {
  while (library_->is_busy(raw_.get()) != 0) {
    RG_TRY_OK(wait(false, deadline_ns));
    if (library_->consume_input(raw_.get()) == 0) return tl::unexpected(lost("receive"));
  }
  return Handle<ResultTraits>(library_->get_result(raw_.get()));
}

// All results have to be taken before the next statement.
Result<Handle<ResultTraits>> Connection::finish(double deadline_ns) {
  Handle<ResultTraits> last;
  std::optional<Error> failure;
  for (;;) {
    Handle<ResultTraits> result = RG_TRY(next(deadline_ns));
    if (result.get() == nullptr) break;
    const int status = library_->result_status(result.get());
    if (status != kResultCommandOk && status != kResultTuplesOk) {
      if (!failure) failure = error("statement", result.get());
      if (status == kResultCopyIn) return tl::unexpected(*failure);  // it would never end
    }
    last = std::move(result);
  }
  if (failure) return tl::unexpected(std::move(*failure));
  if (last.get() == nullptr) return tl::unexpected(lost("receive"));
  return last;
}

Error Connection::error(std::string_view act, RawResult* result) {
  const char* state = library_->result_field(result, kFieldState);
  last_state_ = state == nullptr ? "" : state;
  const char* message = library_->result_field(result, kFieldMessage);
  const std::string cause = one_line(message != nullptr ? message : library_->result_error(result));
  if (last_state_.empty() && library_->status(raw_.get()) != kConnectionOk) return lost(act);
  return {code_of(last_state_), fmt::format("{}: {}: {}", shown_url(options_.url), act, cause)};
}

Error Connection::lost(std::string_view act) {
  return {Code::kUnavailable, fmt::format("{}: {}: {}", shown_url(options_.url), act,
                                          one_line(library_->error_message(raw_.get())))};
}

}  // namespace railgauge::pq
