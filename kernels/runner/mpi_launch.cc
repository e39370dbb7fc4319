#include "kernels/runner/mpi_launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/clock.h"
#include "kernels/core/framing.h"
#include "kernels/core/outcome.h"
#include "kernels/core/text.h"
#include "kernels/core/units.h"
#include "kernels/runner/run.h"
#include "kernels/runner/watchdog.h"

namespace railgauge {
namespace {

constexpr double kSendSeconds = 10;
constexpr double kGraceSeconds = 5;  // past the deadline, which the ranks keep by themselves
constexpr double kKillAfter =
    2;  // seconds from SIGTERM to SIGKILL; before our parent kills us (child.h)
constexpr std::size_t kReadBytes = 64U << 10U;
constexpr std::size_t kMostWords = 16U << 10U;  // of the launcher's, kept from the end
constexpr std::size_t kReasonLines = 3;
constexpr int kLookMs = 20;

// A folder of this run's own, removed at its end.
class Folder {
 public:
  static Result<Folder> make() {
    std::error_code none;
    std::string name = (std::filesystem::temp_directory_path(none) / "railgauge-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      return fail(Code::kUnavailable, fmt::format("{}: make: {}", name, std::strerror(errno)));
    return Folder(std::move(name));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&&) = delete;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Code::kInvalidArgument, fmt::format("{}: too long for a socket's name", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<Fd> listen_at(const std::string& path) {
  const sockaddr_un address = RG_TRY(address_of(path));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 1) != 0)
    return fail(Code::kUnavailable, fmt::format("{}: listen: {}", path, std::strerror(errno)));
  return socket;
}

// --- the launcher's process
// ------------------------------------------------------------------------

struct Running {
  pid_t process = -1;
  Fd words;  // its stdout and stderr
};

Result<Running> start(std::vector<std::string> command) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return fail(Code::kUnavailable, fmt::format("pipe: {}", std::strerror(errno)));
  Fd read_end(fds[0]);
  Fd write_end(fds[1]);
  RG_CHECK(::fcntl(read_end.get(), F_SETFL, O_NONBLOCK) == 0);
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(Code::kUnavailable, fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(write_end.get(), STDOUT_FILENO);
    ::dup2(write_end.get(), STDERR_FILENO);
    ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  ::setpgid(child, child);
  return Running{child, std::move(read_end)};
}

// The last lines that say something, as one.
std::string last_lines(const std::string& words) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find('\n', begin), words.size());
    std::string line = valid_utf8(words.substr(begin, end - begin));
    const auto says = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (std::ranges::any_of(line, says)) lines.push_back(std::move(line));
    begin = end + 1;
  }
  if (lines.empty()) return "it said nothing";
  if (lines.size() > kReasonLines) lines.erase(lines.begin(), lines.end() - kReasonLines);
  for (std::string& line : lines)
    for (char& c : line)
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::string text = fmt::format("{}", fmt::join(lines, " / "));
  while (text.ends_with('.')) text.pop_back();
  return text;
}

// The launcher until it is gone and all is read.
class Launch {
 public:
  Launch(Running started, Fd listener, double deadline_ns, std::string name, RecordSink& sink)
      : process_(started.process),
        words_fd_(std::move(started.words)),
        listener_(std::move(listener)),
        deadline_ns_(deadline_ns),
        name_(std::move(name)),
        signals_(ending_signals_fd()),
        sink_(sink) {}

  int supervise() {
    int status = 0;
    while (!reaped(status)) {
      std::array<pollfd, 4> wait{
          pollfd{words_fd_.get(), POLLIN, 0}, pollfd{listener_.get(), POLLIN, 0},
          pollfd{records_.get(), POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0}};
      ::poll(wait.data(), wait.size(), kLookMs);
      look(wait[3].revents != 0);
      if (end_ns_ == 0 && monotonic_now_ns() >= deadline_ns_) end_group(0);
      if (end_ns_ != 0 && monotonic_now_ns() >= end_ns_ + kKillAfter * 1e9)
        ::kill(-process_, SIGKILL);
    }
    ::kill(-process_, SIGKILL);  // what it may have left behind
    look(false);
    return finish(status);
  }

 private:
  [[nodiscard]] bool reaped(int& status) const {
    return ::waitpid(process_, &status, WNOHANG) == process_;
  }
  void end_group(int signal) {
    ending_signal_ = signal;
    end_ns_ = monotonic_now_ns();
    ::kill(-process_, SIGTERM);
  }
  // Whatever is there, without waiting.
  void look(bool signalled) {
    std::array<char, kReadBytes> bytes;
    for (ssize_t got = 0;
         words_fd_ && (got = ::read(words_fd_.get(), bytes.data(), bytes.size())) > 0;) {
      words_.append(bytes.data(), static_cast<std::size_t>(got));
      if (words_.size() > kMostWords) words_.erase(0, words_.size() - kMostWords);
    }
    if (!records_)
      records_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    for (ssize_t got = 0;
         records_ && (got = ::read(records_.get(), bytes.data(), bytes.size())) > 0;)
      frames_.feed({bytes.data(), static_cast<std::size_t>(got)});
    for (;;) {
      const auto next = frames_.next();
      Record record;
      if (!next || !*next || !record.ParseFromString(**next)) break;
      take(std::move(record));
    }
    signalfd_siginfo info{};
    if (signalled && end_ns_ == 0 && ::read(signals_.get(), &info, sizeof info) == sizeof info)
      end_group(static_cast<int>(info.ssi_signo));
  }
  // The final one waits for the launcher's end, which may know better.
  void take(Record record) {
    next_sequence_ = record.key().sequence() + 1;
    if (record.has_final())
      final_ = std::move(record);
    else
      static_cast<void>(sink_.write(record));
  }
  int finish(int status) {
    Record record = final_.value_or(Record());
    Final& final = *record.mutable_final();
    const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    // A rank that the launcher ended because of another one says "cancelled".
    const bool says =
        final_ && final.outcome() != kCancelledOutcome && (good || final.outcome() != kPassed);
    if (!says) {
      if (!final_) record.mutable_key()->set_sequence(next_sequence_);
      explain(status, final);
    }
    static_cast<void>(sink_.write(record));
    if (ending_signal_ != 0) return ending_signal_ == SIGINT ? kExitInterrupted : kExitTerminated;
    return exit_code_of(final.outcome());
  }
  void explain(int status, Final& final) const {
    if (ending_signal_ != 0) {
      final.set_outcome(std::string(kCancelledOutcome));
      final.set_reason(ending_signal_ == SIGINT ? "interrupted (SIGINT)" : "terminated (SIGTERM)");
      return;
    }
    final.set_stderr_tail(valid_utf8(words_));
    if (end_ns_ != 0) {
      final.set_outcome(std::string(kTimedOut));
      final.set_reason(fmt::format("{}: did not end by the deadline; its last lines: {}", name_,
                                   last_lines(words_)));
      return;
    }
    const bool no_library = words_.find("error while loading shared libraries") != words_.npos;
    final.set_outcome(std::string(no_library ? kWaived : kCrashed));
    final.set_reason(fmt::format("{}: {}; its last lines: {}", name_,
                                 WIFSIGNALED(status)
                                     ? fmt::format("was ended by signal {} (SIG{})",
                                                   WTERMSIG(status), sigabbrev_np(WTERMSIG(status)))
                                     : fmt::format("exited with {}{}", WEXITSTATUS(status),
                                                   final_ ? "" : " before rank 0's final record"),
                                 last_lines(words_)));
    if (WIFSIGNALED(status)) final.set_exit_signal(WTERMSIG(status));
  }

  const pid_t process_;
  Fd words_fd_;
  Fd listener_;
  Fd records_;
  const double deadline_ns_;
  const std::string name_;
  const Fd signals_;
  RecordSink& sink_;
  FrameReader frames_;
  std::string words_;
  std::optional<Record> final_;
  std::uint32_t next_sequence_ = 0;
  int ending_signal_ = 0;
  double end_ns_ = 0;  // when it was told to end; 0: not yet
};

Result<int> launch(const StandaloneOptions& options, RecordSink& sink) {
  const auto named = options.parameters.find("mpi");
  const MpiLauncher launcher =
      RG_TRY(find_mpi_launcher(named == options.parameters.end() ? "openmpi" : named->second));
  const Folder folder = RG_TRY(Folder::make());
  const std::string socket = folder.path() + "/records";
  Fd listener = RG_TRY(listen_at(socket));
  Running started = RG_TRY(start(launcher_command(launcher, options, socket)));
  const double deadline_ns = monotonic_now_ns() + (options.deadline_seconds + kGraceSeconds) * 1e9;
  return Launch(std::move(started), std::move(listener), deadline_ns,
                std::filesystem::path(launcher.program).filename().string(), sink)
      .supervise();
}

}  // namespace

std::vector<std::string> launcher_command(const MpiLauncher& launcher,
                                          const StandaloneOptions& options,
                                          const std::string& records_socket) {
  std::vector<std::string> words{launcher.program};
  words.insert(words.end(), launcher.options.begin(), launcher.options.end());
  const auto binding = options.parameters.find("binding");
  if (binding != options.parameters.end() && binding->second != "default")
    words.insert(words.end(), {launcher.bind_option, binding->second});
  words.insert(words.end(), {"-n", fmt::format("{}", options.ranks), launcher.ranks_program,
                             options.row->info().name(), "--records-to", records_socket,
                             "--deadline", canonical_duration(options.deadline_seconds * 1e9)});
  if (options.raw_samples) words.emplace_back("--raw-samples");
  if (!options.endpoint.empty()) words.insert(words.end(), {"-d", options.endpoint});
  for (const auto& [name, value] : options.parameters)
    words.insert(words.end(), {"--set", fmt::format("{}={}", name, value)});
  return words;
}

int run_mpi_launcher(const StandaloneOptions& options, RecordSink& sink) {
  RG_CHECK(::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  const auto ended = launch(options, sink);
  if (ended) return *ended;
  RecordWriter records(sink, RecordKey{});
  return finish_task(tl::unexpected(ended.error()), records);
}

Result<SocketSink> SocketSink::connect(const std::string& path) {
  const sockaddr_un address = RG_TRY(address_of(path));
  SocketSink sink(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  if (!sink.fd_ ||
      ::connect(sink.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(Code::kUnavailable, fmt::format("{}: connect: {}", path, std::strerror(errno)));
  return sink;
}

Status SocketSink::write(const Record& record) {
  return write_all(fd_.get(), frame(record), kSendSeconds);
}

}  // namespace railgauge
