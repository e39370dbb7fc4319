// A runner for tests of the agent: speaks the runner's protocol and does what the task's parameter
// `script` says. Measures nothing; its points are marked synthetic.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge {
namespace {
constexpr int kRequestFd = 3;
constexpr int kRecordFd = 4;
constexpr double kWriteSeconds = 5;
constexpr int kPoints = 3;
constexpr int kManyPoints = 5000;

void send(const FromRunner& message) {
  if (!write_all(kRecordFd, frame(message), kWriteSeconds)) std::_Exit(9);
}

// The next message; leaves when the agent is gone.
ToRunner receive(FrameReader& frames) {
  for (;;) {
    auto next = frames.next();
    if (!next) std::_Exit(9);
    if (*next) {
      ToRunner message;
      message.ParseFromString(**next);
      return message;
    }
    std::array<char, 4096> chunk;
    const ssize_t n = ::read(kRequestFd, chunk.data(), chunk.size());
    if (n <= 0) std::_Exit(8);
    frames.feed({chunk.data(), static_cast<std::size_t>(n)});
  }
}

class Runner {
 public:
  explicit Runner(TaskRequest request) : request_(std::move(request)) {}

  void started() {
    Record record;
    record.mutable_started()->set_kernel(request_.kernel());
    record.mutable_started()->set_revision(1);
    record.mutable_started()->set_size(request_.size());
    record.mutable_started()->set_endpoint(request_.endpoint());
    *record.mutable_started()->mutable_parameters() = request_.parameters();
    emit(std::move(record));
  }
  void point(double bytes, const char* metric = "latency_ns") {
    Record record;
    Point& point = *record.mutable_point();
    point.set_metric(metric);
    point.set_meaning("half_rtt");
    point.set_unit("ns");
    point.set_message_bytes(bytes);
    point.set_median(1500);
    point.set_p99(2500);
    point.set_sample_count(1000);
    point.set_synthetic(true);
    emit(std::move(record));
  }
  void final(const std::string& outcome, const std::string& reason) {
    Record record;
    record.mutable_final()->set_outcome(outcome);
    record.mutable_final()->set_reason(reason);
    record.mutable_final()->mutable_phases()->set_start_ns(1);
    record.mutable_final()->mutable_phases()->set_measure_ns(1000);
    emit(std::move(record));
  }

 private:
  void emit(Record record) {
    *record.mutable_key() = request_.key();
    record.mutable_key()->set_sequence(sequence_++);
    record.set_unix_time_seconds(1.7e9);
    FromRunner message;
    *message.mutable_record() = std::move(record);
    send(message);
  }
  TaskRequest request_;
  std::uint32_t sequence_ = 0;
};

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

// Sleeps in a child that keeps every descriptor open; with its own session it leaves the group too.
// Returns its pid.
pid_t leave_grandchild(bool own_session) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (own_session) ::setsid();
  ::sleep(20);
  std::_Exit(0);
}

// A daemon as daemon(3) makes it: no descriptor, no parent, a session of its own. Returns its pid.
pid_t leave_daemon() {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) std::_Exit(9);
  if (const pid_t middle = ::fork(); middle != 0) {
    pid_t daemon = -1;
    if (::read(pipe[0], &daemon, sizeof(daemon)) != sizeof(daemon)) std::_Exit(9);
    ::waitpid(middle, nullptr, 0);
    return daemon;
  }
  ::setsid();
  if (::fork() != 0) std::_Exit(0);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  const pid_t self = ::getpid();
  static_cast<void>(!::write(pipe[1], &self, sizeof(self)));
  ::closefrom(0);
  ::sleep(60);
  std::_Exit(0);
}

// The parent of a process, from /proc.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string word; file >> word;)
    if (pid_t parent = 0; word == "PPid:") return file >> parent ? parent : 0;
  return 0;
}

std::string try_open(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY) >= 0 ? "opened" : std::strerror(errno);
}

// Tries what a runner must not be able to do to the agent, whose key and spool `words` names.
// Returns a line of what came of each.
std::string attack(const std::string& words) {
  std::istringstream paths(words);
  std::string key;
  std::string spool;
  paths >> key >> spool;
  const pid_t keeper = ::getppid();
  const pid_t agent = parent_of(keeper);
  const std::string proc = "/proc/" + std::to_string(agent);
  const auto word_of = [](long result) { return result == 0 ? "done" : std::strerror(errno); };
  std::string told = "key: " + try_open(key) + "; spool: " + try_open(spool) +
                     "; memory: " + try_open(proc + "/mem") +
                     "; environment: " + try_open(proc + "/environ");
  told += std::string("; trace: ") + word_of(::ptrace(PTRACE_SEIZE, agent, nullptr, nullptr));
  told += std::string("; signal: ") + word_of(::kill(agent, 0));
  told += std::string("; keeper: ") + word_of(::kill(keeper, SIGSTOP));
  return told;
}

std::string names_of_variables() {
  std::string names;
  for (char** word = environ; *word != nullptr; ++word)
    names += std::string(*word, std::strcspn(*word, "=")) + " ";
  return names;
}

void ask_step(std::uint32_t step) {
  FromRunner mine;
  mine.mutable_step()->set_step(step);
  mine.mutable_step()->add_payloads("hello");
  send(mine);
}

void rendezvous(FrameReader& frames, std::uint32_t step) {
  ask_step(step);
  const ToRunner all = receive(frames);
  if (!all.has_step() || all.step().payloads_size() == 0 || all.step().step() != step)
    std::_Exit(7);
}

// Scripts that end before the task is prepared.
void before_prepared(const std::string& script, Runner& runner) {
  if (script == "refuse") {
    runner.final("waived", "no such device: rxe7");
    std::_Exit(5);
  }
  if (script == "exit_at_once") std::_Exit(3);
  if (script == "garbage") {
    static_cast<void>(write_all(kRecordFd, std::string(4096, '\xff'), kWriteSeconds));
    sleep_for_ever();
  }
  if (script == "text_garbage") {
    static_cast<void>(write_all(kRecordFd, "hello from a library\n", kWriteSeconds));
    std::_Exit(0);
  }
  if (script == "hang") sleep_for_ever();
  if (script == "daemon_and_hang") {
    runner.started();
    runner.point(leave_daemon(), "pid");
    ::signal(SIGTERM, SIG_IGN);
    sleep_for_ever();
  }
  if (script == "daemon_and_kill_keeper") {
    runner.started();
    runner.point(leave_daemon(), "pid");
    ::kill(::getppid(), SIGSTOP);
    ::kill(::getppid(), SIGKILL);
    sleep_for_ever();
  }
  if (script == "hang_ignoring_term") {
    ::signal(SIGTERM, SIG_IGN);
    sleep_for_ever();
  }
  if (script == "stderr_without_text") {
    std::cerr << "bytes \xff\xfe of a library" << std::endl;
    std::_Exit(3);
  }
  if (script == "flood") {
    const std::string line(1023, 'x');
    for (int i = 0; i < 4096; ++i) std::cerr << line << '\n';
    std::cerr << "the last words" << std::endl;
    std::_Exit(3);
  }
}

// Scripts that bend the end.
void at_the_end(const std::string& script, Runner& runner) {
  if (script == "crash") {
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would exit instead
    ::raise(SIGSEGV);
  }
  if (script == "no_final") std::_Exit(0);
  if (script == "point_without_text") runner.point(8, "\xff\xfe");
  if (script == "grandchild") runner.point(leave_grandchild(false), "pid");
  if (script == "escaped_grandchild") runner.point(leave_grandchild(true), "pid");
  if (script == "daemon") runner.point(leave_daemon(), "pid");
  if (script.starts_with("open_mode ")) ::chmod(script.substr(10).c_str(), 0777);
  if (script == "environment") return runner.final("failed", names_of_variables());
  if (script.starts_with("attack ")) return runner.final("failed", attack(script.substr(7)));
  runner.final("passed", "");
  if (script == "crash_after_final") ::raise(SIGABRT);
  if (script == "hang_after_final") sleep_for_ever();
  if (script == "more_after_final") runner.point(8);
}

int run_task() {
  ::signal(SIGPIPE, SIG_IGN);
  FrameReader frames;
  const ToRunner first = receive(frames);
  const TaskRequest& request = first.request();
  const auto chosen = request.parameters().find("script");
  const std::string script = chosen == request.parameters().end() ? "" : chosen->second;
  Runner runner(request);
  before_prepared(script, runner);
  runner.started();
  FromRunner prepared;
  prepared.mutable_prepared();
  send(prepared);
  const ToRunner go = receive(frames);
  if (go.has_cancel()) {
    if (script == "cancel_unheard") sleep_for_ever();
    runner.final("cancelled", go.cancel().reason());
    return 0;
  }
  if (script == "rendezvous" || script == "two_steps") rendezvous(frames, 0);
  if (script == "two_steps") rendezvous(frames, 1);
  if (script == "hang_after_step") {
    ask_step(0);
    sleep_for_ever();
  }
  for (int i = 0; i < kPoints; ++i) runner.point(8 << i);
  for (int i = 0; script == "many_points" && i < kManyPoints; ++i) runner.point(8);
  if (script == "wait_after_points") receive(frames);
  at_the_end(script, runner);
  return 0;
}

int list() {
  std::cout << R"({"schema_version":1,"kernels":[{"name":"test.scripted","revision":1,)"
            << R"("summary":"does what its script says","min_ranks":1,"endpoint_kind":"none",)"
            << R"("metrics":["latency_ns"],"parameters":[{"name":"script","type":"text"}]}]})"
            << std::endl;
  return 0;
}
}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) {
  const bool listing = argc > 1 && std::strcmp(argv[1], "--list") == 0;
  return listing ? railgauge::list() : railgauge::run_task();
}
