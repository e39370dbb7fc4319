// railgauge-launch-shim --keep: starts a program and stays as the reaper of all that it leaves
// behind. Little beside the standard library is used, so that it starts in a millisecond.
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "kernels/core/base/spawn.h"
#include "kernels/launch/shim/shim.h"

namespace railgauge::launch {
namespace {

// PARENT GRACE_MS PROGRAM and at least one word of argv.
constexpr std::size_t kLeastWords = 4;
constexpr long kLookNs = 20'000'000;     // between two looks at what runs
constexpr long kKillLookNs = 2'000'000;  // between two rounds of killing
constexpr long kMostKillLookNs = 999'000'000;
constexpr std::size_t kStatBytes = 1024;  // more than /proc/PID/stat is long

// CLOCK_MONOTONIC, in ms.
double now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Returns the parent of a process from /proc; 0: the process is gone.
pid_t parent_of(const char* process) {
  const std::string path = std::string("/proc/") + process + "/stat";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::array<char, kStatBytes> text{};
  const ssize_t got = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  if (got <= 0) return 0;
  const char* name_end = std::strrchr(text.data(), ')');  // a name may hold anything
  char state = '?';
  int parent = 0;
  if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d", &state, &parent) != 2) return 0;
  return parent;
}

// All processes whose parent this one is, read from /proc: a process that left its group or session
// is still a child of the subreaper.
void kill_children() {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return;
  const pid_t self = ::getpid();
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == self)
      ::kill(std::atoi(entry->d_name), SIGKILL);
  ::closedir(folder);
}

// The loop from the start of the program until nothing of it is left.
class Keeper {
 public:
  Keeper(pid_t child, const sigset_t& signals, double grace_ms)
      : child_(child), signals_(signals), grace_ms_(grace_ms) {}

  // The program's wait status, once nothing is left.
  int watch() {
    while (!ended_ && (kill_at_ms_ == 0 || now_ms() < kill_at_ms_)) {
      wait_for_signal(kLookNs);
      reap();
    }
    // The pauses grow, since a process that Linux holds in a system call dies later.
    for (long pause_ns = kKillLookNs;; pause_ns = std::min(2 * pause_ns, kMostKillLookNs)) {
      kill_children();  // orphans become our children, for the next round
      if (!reap()) return status_;
      wait_for_signal(pause_ns);
    }
  }

 private:
  // Waits for a signal. The first SIGTERM starts the grace, the second one ends it; SIGCHLD only
  // wakes the loop.
  void wait_for_signal(long ns) {
    const timespec longest{0, ns};
    siginfo_t info{};
    const int got = ::sigtimedwait(&signals_, &info, &longest);
    if (got <= 0 || got == SIGCHLD) return;
    if (kill_at_ms_ != 0) {  // second request
      kill_at_ms_ = now_ms();
      return;
    }
    kill_at_ms_ = now_ms() + grace_ms_;
    ::kill(-child_, got);
  }
  // False when there is no child left at all.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t gone = ::waitpid(-1, &status, WNOHANG);
      if (gone == 0) return true;
      if (gone < 0 && errno == EINTR) continue;
      if (gone < 0) return false;
      if (gone != child_) continue;
      ended_ = true;
      status_ = status;
    }
  }

  const pid_t child_;
  const sigset_t signals_;
  const double grace_ms_;
  double kill_at_ms_ = 0;  // 0: no request to end yet
  bool ended_ = false;
  int status_ = 0;
};

// Runs the program, in the child. exec keeps the setting of fork_process() that kills the child
// with the keeper.
int become(std::span<char* const> words) {
  sigset_t none;
  sigemptyset(&none);
  ::setpgid(0, 0);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(words[0], words.data() + 1);
  std::fprintf(stderr, "%s: start: %s\n", words[0], std::strerror(errno));
  return 127;
}

// Ends this process as the program ended, so that the owner reads one wait status for both.
int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  ::prctl(PR_SET_DUMPABLE, 0);  // a core file of the keeper would show nothing
  die_of(WTERMSIG(status));
}

}  // namespace

// The order matters: signals are blocked and the parent's death is watched before the parent is
// checked, so that no death in between is missed.
int keep(std::span<char* const> words) {
  if (words.size() < kLeastWords) {
    std::fputs("railgauge-launch-shim: --keep PARENT GRACE_MS PROGRAM ARGV...\n", stderr);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != std::atoi(words[0])) return 128 + SIGTERM;  // the parent died before prctl()
  const auto child =
      fork_process("railgauge-launch-shim", [&] { return become(words.subspan(2)); });
  if (!child) {
    std::fprintf(stderr, "%s: %s\n", words[2], child.error().message.c_str());
    return 127;
  }
  ::setpgid(*child, *child);
  return end_as(Keeper(*child, signals, std::atof(words[1])).watch());
}

}  // namespace railgauge::launch
