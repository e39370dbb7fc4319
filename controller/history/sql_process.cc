#include "controller/history/sql_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "controller/history/sql_table.h"
#include "controller/store/queries/queries.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr char kTable = 'T';  // then an api::SqlTable
constexpr char kError = 'E';  // then the code's letter and the message
constexpr std::size_t kMaxAnswerBytes = 256U << 20U;
constexpr double kBusySeconds = 5;   // for a lock of another program
constexpr double kGraceSeconds = 1;  // for the process to say itself that its time is over

Error cause_of(std::string_view cause) {
  return {Code::kInternal, fmt::format("sql: no process for the statement: {}", cause)};
}

// A file in memory with these bytes, to be read from its beginning.
Result<Fd> file_of(const std::string& bytes) {
  Fd file(::memfd_create("sql", MFD_CLOEXEC));
  if (!file) return tl::unexpected(cause_of(errno_words(errno)));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (count <= 0) return tl::unexpected(cause_of(errno_words(errno)));
    at += static_cast<std::size_t>(count);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return tl::unexpected(cause_of(errno_words(errno)));
  return file;
}

// Reads the answer to its end. kDeadlineExceeded, kCancelled: the end did not come.
Result<std::string> read_answer(const Fd& pipe, double seconds,
                                const std::function<bool()>& cancelled) {
  constexpr int kLookMilliseconds = 50;
  const double end_ns = monotonic_now_ns() + (seconds + kGraceSeconds) * 1e9;
  std::string answer;
  while (true) {
    if (cancelled && cancelled()) return fail(Code::kCancelled, "sql: the caller is gone");
    if (monotonic_now_ns() > end_ns) return fail(Code::kDeadlineExceeded, "sql: killed");
    pollfd one{.fd = pipe.get(), .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, kLookMilliseconds) <= 0) continue;
    if (!read_available(pipe.get(), kMaxAnswerBytes - answer.size(), answer)) return answer;
    if (answer.size() >= kMaxAnswerBytes)
      return fail(Code::kResourceExhausted, "sql: the answer is too large; narrow it");
  }
}

Result<api::SqlTable> parse_answer(const std::string& answer) {
  api::SqlTable table;
  if (answer.starts_with(kTable) &&
      table.ParseFromArray(answer.data() + 1, static_cast<int>(answer.size() - 1)))
    return table;
  if (answer.starts_with(kError) && answer.size() > 2)
    return fail(static_cast<Code>(answer[1]), "{}", valid_utf8(std::string_view(answer).substr(2)));
  // Killed by the kernel, for example when the machine's memory ran out.
  return fail(Code::kResourceExhausted, "sql: its process ended without an answer; narrow it");
}

// --- in the process ----------------------------------------------------------------------------

// The process writes no large file, dumps no memory, gains no rights, does not outlive its parent,
// and goes first when memory runs out, even if SQLite had a hole.
void confine(double seconds) {
  constexpr rlim_t kMaxFileBytes = 16U << 20U;  // of the log's index, which readers share
  const auto limit = [](auto resource, rlim_t value) {
    const rlimit both{.rlim_cur = value, .rlim_max = value};
    static_cast<void>(::setrlimit(resource, &both));
  };
  limit(RLIMIT_CPU, static_cast<rlim_t>(seconds) + 2);
  limit(RLIMIT_FSIZE, kMaxFileBytes);
  limit(RLIMIT_CORE, 0);
  static_cast<void>(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, 10));
  const Fd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score) static_cast<void>(::write(score.get(), "1000", 4) < 0);
}

Result<api::SqlTable> answer_request(const std::string& database, const api::SqlRequest& request) {
  store::bound_memory(kSqlMemoryBytes);
  store::Connection reader = RG_TRY(store::open_for_reading(database, kBusySeconds));
  RG_TRY_OK(reader.keep_temporary_in_memory());
  const store::Connection::TimeLimit limit(reader, request.max_seconds());
  const auto table = store::run_sql(reader, request.sql(), request.max_rows());
  if (table) return railgauge::to_api(*table);
  if (table.error().code != Code::kResourceExhausted) return tl::unexpected(table.error());
  return fail(Code::kResourceExhausted, "sql: it needs more than {} MB of memory; narrow it",
              kSqlMemoryBytes >> 20);
}

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<api::SqlTable> run_sql_process(const std::string& program, const std::string& database,
                                      const api::SqlRequest& request,
                                      const std::function<bool()>& cancelled) {
  if (request.sql().size() > kMaxSqlTextBytes)
    return fail(Code::kInvalidArgument, "sql: the statement is longer than {} bytes",
                kMaxSqlTextBytes);
  const Fd input = RG_TRY(file_of(request.SerializeAsString()));
  PipeEnds output = RG_TRY(make_pipe());
  const auto child = start_program(
      {.argv = {program, kSqlProcessFlag, database},
       .descriptors = {{STDIN_FILENO, input.get()}, {STDOUT_FILENO, output.write.get()}},
       .detached = true,
       .closes_others = true});
  if (!child) return tl::unexpected(cause_of(child.error().message));
  output.write.reset();
  set_nonblocking(output.read);
  const Result<std::string> answer = read_answer(output.read, request.max_seconds(), cancelled);
  if (!answer) ::kill(*child, SIGKILL);
  if (!wait_for_end(*child, kGraceSeconds)) {
    ::kill(*child, SIGKILL);
    wait_for_end(*child);
  }
  if (!answer) return tl::unexpected(answer.error());
  return parse_answer(*answer);
}

int serve_sql_process(const std::string& database) {
  ::signal(SIGPIPE, SIG_IGN);
  std::string bytes;
  api::SqlRequest request;
  read_available(STDIN_FILENO, 2 * kMaxSqlTextBytes, bytes);
  if (!request.ParseFromString(bytes)) return 1;
  confine(request.max_seconds());
  Result<api::SqlTable> table = answer_request(database, request);
  const bool written = table
                           ? write_all(kTable + table->SerializeAsString())
                           : write_all(std::string{kError, static_cast<char>(table.error().code)} +
                                       table.error().message);
  return written ? 0 : 1;
}

}  // namespace railgauge
