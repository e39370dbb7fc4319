#include "kernels/runner/testing/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "kernels/core/base/clock.h"

namespace railgauge::testing_process {
namespace {

struct PipeEnds {
  Fd read_end;
  Fd write_end;
};

PipeEnds make_pipe() {
  int fds[2];
  RG_CHECK(::pipe2(fds, O_CLOEXEC) == 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

// Appends available bytes; closes the descriptor at end of file.
void read_some(Fd& fd, std::string& to) {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
  if (got > 0) return void(to.append(bytes.data(), static_cast<std::size_t>(got)));
  fd.reset();
}

}  // namespace

std::string program(const std::string& name) {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  RG_CHECK(build != nullptr);
  return std::string(build) + "/bin/" + name;
}

Process::Process(std::vector<std::string> arguments, bool agent_pipes,
                 std::vector<std::string> environment) {
  RG_CHECK(::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  PipeEnds out = make_pipe();
  PipeEnds err = make_pipe();
  PipeEnds request = make_pipe();
  PipeEnds record = make_pipe();
  if (agent_pipes)
    arguments.insert(arguments.end(),
                     {"--task", "--request-fd", std::to_string(request.read_end.get()),
                      "--record-fd", std::to_string(record.write_end.get())});
  pid_ = ::fork();
  RG_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    ::dup2(out.write_end.get(), STDOUT_FILENO);
    ::dup2(err.write_end.get(), STDERR_FILENO);
    if (agent_pipes) {
      ::fcntl(request.read_end.get(), F_SETFD, 0);
      ::fcntl(record.write_end.get(), F_SETFD, 0);
    }
    ::signal(SIGPIPE, SIG_DFL);
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    for (std::string& variable : environment) ::putenv(variable.data());
    ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  out_ = std::move(out.read_end);
  err_ = std::move(err.read_end);
  if (agent_pipes) {
    request_ = std::move(request.write_end);
    record_ = std::move(record.read_end);
  }
}

Process::~Process() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const { RG_CHECK(::kill(pid_, number) == 0); }

// Reads stdout and stderr once; false when both are at their end or the deadline has passed.
bool Process::pump(double deadline_ns) {
  if (!out_ && !err_) return false;
  const double left_ms = (deadline_ns - monotonic_now_ns()) / 1e6;
  if (left_ms <= 0) return false;
  std::array<pollfd, 2> wait{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0}};
  ::poll(wait.data(), wait.size(), static_cast<int>(left_ms) + 1);
  if (wait[0].revents != 0) read_some(out_, out_text_);
  if (wait[1].revents != 0) read_some(err_, err_text_);
  return true;
}

Ended Process::wait() {
  const double deadline_ns = monotonic_now_ns() + kPatienceSeconds * 1e9;
  while (pump(deadline_ns)) {
  }
  if (out_ || err_) ::kill(pid_, SIGKILL);
  int status = 0;
  RG_CHECK(::waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  Ended ended{.out = out_text_, .err = err_text_};
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

bool Process::wait_for_stderr(const std::string& text) {
  const double deadline_ns = monotonic_now_ns() + kPatienceSeconds * 1e9;
  while (err_text_.find(text) == std::string::npos)
    if (!pump(deadline_ns)) return false;
  return true;
}

std::string Process::listening_address() {
  RG_CHECK(wait_for_stderr("listening on ") && wait_for_stderr("\n"));
  const std::size_t begin = err_text_.find("127.0.0.1:");
  RG_CHECK(begin != std::string::npos);
  return err_text_.substr(begin, err_text_.find('\n') - begin);
}

void Process::tell(const ToRunner& message) { RG_CHECK(offer(message)); }

bool Process::offer(const ToRunner& message) const {
  return write_all(request_.get(), frame(message), kPatienceSeconds).has_value();
}

std::optional<FromRunner> Process::hear() {
  for (;;) {
    const auto next = frames_.next();
    RG_CHECK(next.has_value());
    FromRunner message;
    if (*next) {
      RG_CHECK(message.ParseFromString(**next));
      return message;
    }
    if (!record_) return std::nullopt;
    pollfd wait{record_.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(kPatienceSeconds * 1e3)) <= 0) return std::nullopt;
    std::string bytes;
    read_some(record_, bytes);
    frames_.feed(bytes);
  }
}

}  // namespace railgauge::testing_process
