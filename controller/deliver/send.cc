#include "controller/deliver/send.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::deliver {
namespace {

constexpr double kPostSeconds = 5;  // of each of connect, send and answer
constexpr double kChildSeconds = 20;
constexpr std::size_t kMostCauseBytes = 300;
constexpr std::size_t kMostPostBytes = 64U << 20U;
constexpr double kNanoseconds = 1e9;

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A file in memory with these bytes, to be read from its beginning.
Result<Fd> file_of_message(const std::string& bytes) {
  Fd file(::memfd_create("message", MFD_CLOEXEC));
  const auto failed = [] { return fail(Code::kResourceExhausted, errno_words(errno)); };
  if (!file) return failed();
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (count <= 0) return failed();
    at += static_cast<std::size_t>(count);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failed();
  return file;
}

// Returns the beginning of what a program wrote into the file, as one line.
std::string line_in(const Fd& file) {
  std::string text(kMostCauseBytes, '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return printable(text);
}

struct ChildEnd {
  int status = 0;  // of waitpid()
  std::string output{};
  std::string errors{};
};
// Runs the program with `input` on stdin, for kChildSeconds at most. Errors: those of
// start_program(); kDeadlineExceeded; kCancelled where it `is_ending`.
Result<ChildEnd> run_child(std::vector<std::string> argv, const std::string& input,
                           const std::function<bool()>& is_ending) {
  const Fd in = RG_TRY(file_of_message(input));
  const Fd out = RG_TRY(file_of_message(""));
  const Fd errors = RG_TRY(file_of_message(""));
  const std::string name = argv.front();
  const pid_t child = RG_TRY(start_program({.argv = std::move(argv),
                                            .descriptors = {{STDIN_FILENO, in.get()},
                                                            {STDOUT_FILENO, out.get()},
                                                            {STDERR_FILENO, errors.get()}},
                                            .detached = true,
                                            .closes_others = true}));
  constexpr double kLookSeconds = 0.05;
  const double until_ns = monotonic_now_ns() + kChildSeconds * kNanoseconds;
  while (true) {
    if (const auto status = wait_for_end(child, kLookSeconds))
      return ChildEnd{.status = *status, .output = line_in(out), .errors = line_in(errors)};
    const bool is_stopped = is_ending();
    if (!is_stopped && monotonic_now_ns() < until_ns) continue;
    ::kill(-child, SIGKILL);
    wait_for_end(child);
    if (is_stopped) return fail(Code::kCancelled, "the controller is stopping");
    return fail(Code::kDeadlineExceeded,
                fmt::format("{} did not end within {:.0f} s", name, kChildSeconds));
  }
}

// Most statuses above 399 stay as they are; these may pass.
Sent sent_with(int status) {
  constexpr int kTimeout = 408;
  constexpr int kTooEarly = 425;
  constexpr int kTooMany = 429;
  if (status >= 200 && status < 300) return {};
  const bool may_pass =
      status >= 500 || status == kTimeout || status == kTooEarly || status == kTooMany;
  return {.kind = may_pass ? Sent::Kind::kLater : Sent::Kind::kRefused,
          .cause = fmt::format("HTTP status {}", status)};
}

// The message for the other process: lines of settings, one empty line, the body.
std::string packed(const http::Url& url, const http::PostRequest& request) {
  std::string text = fmt::format("{}\n{}\n{}\n", url.server, url.path, request.ca_file);
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\n", name, value);
  return text + "\n" + request.body;
}

Sent post_by_program(const std::string& program, const http::Url& url,
                     const http::PostRequest& request, const std::function<bool()>& is_ending) {
  const auto end =
      run_child({program, std::string(kPostProcessFlag)}, packed(url, request), is_ending);
  if (!end) return {.kind = Sent::Kind::kLater, .cause = end.error().message};
  const bool has_status = WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
  if (const auto status = parse_integer(end->output); has_status && status)
    return sent_with(static_cast<int>(*status));
  return {.kind = Sent::Kind::kLater,
          .cause = end->errors.empty() ? "the process that posts ended early" : end->errors};
}

Sent post_letter(const Target& target, const std::string& program, const Letter& letter,
                 const std::function<bool()>& is_ending) {
  http::PostRequest request{
      .body = letter.body, .ca_file = target.ca_file, .seconds = kPostSeconds};
  request.headers = headers_of(letter.delivery_id, letter.body, target.secret, host_seconds());
  if (!program.empty()) return post_by_program(program, target.url, request, is_ending);
  const auto status = http::post(target.url, request);
  if (!status) return {.kind = Sent::Kind::kLater, .cause = status.error().message};
  return sent_with(*status);
}

// The program takes the addresses from the message (-t); a line with a dot alone ends nothing (-i).
Sent mail_letter(const std::string& program, const Letter& letter,
                 const std::function<bool()>& is_ending) {
  const auto end = run_child({program, "-i", "-t"}, letter.body, is_ending);
  if (!end) return {.kind = Sent::Kind::kLater, .cause = end.error().message};
  if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0) return {};
  const std::string how = WIFEXITED(end->status)
                              ? fmt::format("exit code {}", WEXITSTATUS(end->status))
                              : fmt::format("signal {}", WTERMSIG(end->status));
  return {.kind = Sent::Kind::kLater,
          .cause = end->errors.empty() ? how : fmt::format("{}: {}", how, end->errors)};
}

}  // namespace

Send sender_of(const Target& target, const std::string& post_program) {
  if (target.format == Format::kMail)
    return [program = target.program](const Letter& letter, const auto& is_ending) {
      return mail_letter(program, letter, is_ending);
    };
  return [target, post_program](const Letter& letter, const auto& is_ending) {
    return post_letter(target, post_program, letter, is_ending);
  };
}

int serve_post_process() {
  ::signal(SIGPIPE, SIG_IGN);
  std::string text;
  read_available(STDIN_FILENO, kMostPostBytes, text);
  std::string_view rest = text;
  const auto take_line = [&rest] {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return std::string(line);
  };
  http::Url url;
  http::PostRequest request{.seconds = kPostSeconds};
  url.server = take_line();
  url.path = take_line();
  request.ca_file = take_line();
  for (std::string line = take_line(); !line.empty(); line = take_line()) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos)
      request.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  request.body = rest;
  const auto status = http::post(url, request);
  if (status) {
    fmt::print("{}\n", *status);
    return 0;
  }
  fmt::print(stderr, "{}\n", status.error().message);
  return 1;
}

}  // namespace railgauge::deliver
