// A runner that attacks the node it runs on, for deploy/e2e/trust.sh: opens the files that its
// parameters name, lists its environment, and leaves a process in a session of its own. Its Started
// record carries what it saw as facts. Measures nothing.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

#include <fmt/format.h>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge {
namespace {

constexpr int kRequestFd = 3;
constexpr int kRecordFd = 4;
constexpr double kWriteSeconds = 5;
constexpr unsigned kEscapeeSeconds = 120;  // it ends by itself should nothing end it

void send(const FromRunner& message) {
  if (!write_all(kRecordFd, frame(message), kWriteSeconds)) std::_Exit(9);
}

ToRunner receive(FrameReader& frames) {
  for (;;) {
    auto next = frames.next();
    if (!next) std::_Exit(9);
    if (*next) {
      ToRunner message;
      message.ParseFromString(**next);
      return message;
    }
    std::array<char, 4096> chunk{};
    const ssize_t n = ::read(kRequestFd, chunk.data(), chunk.size());
    if (n <= 0) std::_Exit(8);
    frames.feed({chunk.data(), static_cast<std::size_t>(n)});
  }
}

std::string parameter(const TaskRequest& request, const char* name) {
  const auto found = request.parameters().find(name);
  return found == request.parameters().end() ? "" : found->second;
}

// "opened", or the name of the error.
std::string opened(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return ::strerrorname_np(errno);
  ::close(fd);
  return "opened";
}

std::string names_of_environment() {
  std::string names;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string text = *word;
    names += (names.empty() ? "" : " ") + text.substr(0, text.find('='));
  }
  return names;
}

// "NoNewPrivs: 1" and the like, from /proc/self/status.
std::string status_of(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) return line.substr(line.find_last_of(" \t") + 1);
  return "absent";
}

// "/proc/N" of the agent among this process's ancestors; "" where none can be seen.
std::string agent_process() {
  constexpr int kMostAncestors = 6;
  std::string pid = std::to_string(::getppid());
  for (int i = 0; i < kMostAncestors && pid != "0"; ++i) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string text;
    std::getline(file, text);
    // "12 (railgauge-agent) S 7 ...": Linux cuts the name to 15 bytes
    if (text.find("(railgauge-agent)") != std::string::npos) return "/proc/" + pid;
    std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string state;
    if (!(rest >> state >> pid)) return "";
  }
  return "";
}

// Each open descriptor beyond those of the protocol, with what it is.
std::string foreign_descriptors() {
  std::string list;
  constexpr int kMost = 1'024;
  for (int fd = kRecordFd + 1; fd < kMost; ++fd) {
    std::array<char, 256> target{};
    const std::string link = fmt::format("/proc/self/fd/{}", fd);
    if (::readlink(link.c_str(), target.data(), target.size() - 1) > 0)
      list += fmt::format("{}{}", list.empty() ? "" : " ", target.data());
  }
  return list.empty() ? "none" : list;
}

// Leaves a process that has left the session, the group, the parent and every pipe, and ignores
// signals. Returns once it has: "escaped", or the reason.
std::string escape(const std::string& name) {
  if (name.empty() || name == "none") return "not asked";
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return ::strerrorname_np(errno);
  if (child != 0) {
    ::close(ends[1]);
    char byte = 0;
    const bool out = ::read(ends[0], &byte, 1) == 1;
    ::waitpid(child, nullptr, 0);
    return out ? "escaped" : "ended at once";
  }
  ::setsid();
  if (::fork() != 0) std::_Exit(0);
  ::prctl(PR_SET_NAME, name.c_str());
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  if (::write(ends[1], "x", 1) != 1) std::_Exit(1);
  constexpr int kMost = 1'024;
  for (int fd = 0; fd < kMost; ++fd) ::close(fd);
  ::sleep(kEscapeeSeconds);
  std::_Exit(0);
}

class Report {
 public:
  explicit Report(TaskRequest request) : request_(std::move(request)) {}
  void started() {
    Record record;
    Started& started = *record.mutable_started();
    started.set_kernel(request_.kernel());
    started.set_revision(1);
    started.set_size(request_.size());
    started.set_endpoint(request_.endpoint());
    *started.mutable_parameters() = request_.parameters();
    auto& facts = *started.mutable_facts();
    facts["key"] = opened(parameter(request_, "key"), O_RDONLY);
    facts["spool"] = opened(parameter(request_, "spool"), O_RDWR);
    facts["environment"] = names_of_environment();
    const std::string agent = agent_process();
    facts["agent_environment"] = agent.empty() ? "no agent" : opened(agent + "/environ", O_RDONLY);
    facts["agent_memory"] = agent.empty() ? "no agent" : opened(agent + "/mem", O_RDWR);
    facts["no_new_privileges"] = status_of("NoNewPrivs");
    facts["descriptors"] = foreign_descriptors();
    rlimit cores{};
    ::getrlimit(RLIMIT_CORE, &cores);
    facts["core_limit"] = fmt::format("{}", cores.rlim_cur);
    emit(std::move(record));
  }
  // Facts are in a page of results beside a point only.
  void point(const std::string& escaped) {
    Record record;
    Point& point = *record.mutable_point();
    point.set_metric("latency_ns");
    point.set_meaning("half_rtt");
    point.set_unit("ns");
    point.set_message_bytes(8);
    point.set_median(1'500);
    point.set_sample_count(1'000);
    point.set_synthetic(true);
    (*point.mutable_facts())["escape"] = escaped;
    emit(std::move(record));
  }
  void passed() {
    Record record;
    record.mutable_final()->set_outcome("passed");
    emit(std::move(record));
  }

 private:
  void emit(Record record) {
    *record.mutable_key() = request_.key();
    record.mutable_key()->set_sequence(sequence_++);
    record.set_unix_time_seconds(static_cast<double>(::time(nullptr)));
    FromRunner message;
    *message.mutable_record() = std::move(record);
    send(message);
  }
  TaskRequest request_;
  std::uint32_t sequence_ = 0;
};

int run_task() {
  ::signal(SIGPIPE, SIG_IGN);
  FrameReader frames;
  const TaskRequest request = receive(frames).request();
  Report report(request);
  report.started();
  FromRunner prepared;
  prepared.mutable_prepared();
  send(prepared);
  if (!receive(frames).has_go()) return 1;
  report.point(escape(parameter(request, "escape")));
  report.passed();
  return 0;
}

int list() {
  std::cout << R"({"schema_version":1,"kernels":[{"name":"test.hostile","revision":1,)"
            << R"("summary":"attacks its node","min_ranks":1,"max_ranks":1,)"
            << R"("endpoint_kind":"none","metrics":["latency_ns"],"parameters":[)"
            << R"({"name":"key","type":"text"},{"name":"spool","type":"text"},)"
            << R"({"name":"escape","type":"text"}]}]})" << std::endl;
  return 0;
}

}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) {
  const bool listing = argc > 1 && std::strcmp(argv[1], "--list") == 0;
  return listing ? railgauge::list() : railgauge::run_task();
}
