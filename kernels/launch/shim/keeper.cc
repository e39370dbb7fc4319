// railgauge-launch-shim --keep: starts a program and stays as the reaper of all that it leaves
// behind. Little beside the standard library is used, so that it starts in a millisecond.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "kernels/core/base/descendants.h"
#include "kernels/core/base/spawn.h"
#include "kernels/launch/shim/confinement.h"
#include "kernels/launch/shim/shim.h"

namespace railgauge::launch {
namespace {

// PARENT GRACE_MS PROGRAM and at least one word of argv.
constexpr std::size_t kLeastWords = 4;
constexpr timespec kUndisturbed{10, 0};   // signals wake the keeper; a measurement runs beside it
constexpr timespec kLook{0, 20'000'000};  // between two looks at the clock of the grace
constexpr long kKillLookNs = 2'000'000;   // between two rounds of killing
constexpr long kMostKillLookNs = 999'000'000;
constexpr double kOrphanGraceMs = 1000;  // at most, once the parent is gone
constexpr int kMostPasses = 100;         // over /proc before zombies are reaped
constexpr int kNotStarted = 127;         // the exit code of a shell for it

// CLOCK_MONOTONIC, in ms.
double now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Kills every living descendant that /proc shows, whatever its group and session, and returns their
// number. A pass misses processes that begin during it.
int kill_descendants() {
  const Relations all = read_relations();
  int killed = 0;
  for (const pid_t process : descendants_of(::getpid(), all))
    if (all.at(process).lives && ::kill(process, SIGKILL) == 0) ++killed;
  return killed;
}

// The loop from the start of the program until nothing of it is left.
class Keeper {
 public:
  struct Options {
    pid_t parent = 0;
    double grace_ms = 0;
    bool kills_by_scope = false;  // restrict_signals() succeeded in this process
  };
  Keeper(pid_t child, const sigset_t& signals, Options options)
      : child_(child), signals_(signals), options_(options) {}

  // The program's wait status, once nothing is left.
  int watch() {
    bool left = true;
    while (left && !ended_ && (kill_at_ms_ == 0 || now_ms() < kill_at_ms_)) {
      wait_for_signal(kill_at_ms_ == 0 ? kUndisturbed : kLook);
      hurry_without_parent();
      left = reap();
    }
    // The pauses grow, since a process that Linux holds in a system call dies later.
    for (long pause_ns = kKillLookNs; left; pause_ns = std::min(2 * pause_ns, kMostKillLookNs)) {
      kill_all();
      left = reap();
      if (left) wait_for_signal({0, pause_ns});
    }
    return status_;
  }

 private:
  // Waits for a signal. The first SIGTERM starts the grace, a second one or SIGQUIT ends it;
  // SIGCHLD only wakes the loop.
  void wait_for_signal(const timespec& longest) {
    siginfo_t info{};
    const int got = ::sigtimedwait(&signals_, &info, &longest);
    if (got <= 0 || got == SIGCHLD) return;
    if (kill_at_ms_ != 0 || got == SIGQUIT) {
      kill_at_ms_ = now_ms();
      return;
    }
    kill_at_ms_ = now_ms() + options_.grace_ms;
    ::kill(-child_, got);
  }

  // The parent's death is a SIGTERM too, and nobody waits for the program's words any more.
  void hurry_without_parent() {
    if (kill_at_ms_ != 0 && ::getppid() != options_.parent)
      kill_at_ms_ = std::min(kill_at_ms_, now_ms() + kOrphanGraceMs);
  }

  // By scope one call kills all at once, a fork bomb too. Else pass follows pass until one finds no
  // process alive. Zombies are reaped after that only: they keep their places in the limit of
  // processes, so that a fork bomb cannot fill them again.
  void kill_all() const {
    if (options_.kills_by_scope) {
      ::kill(-1, SIGKILL);
      return;
    }
    for (int pass = 0; pass < kMostPasses && kill_descendants() > 0; ++pass) {
    }
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
  const Options options_;
  double kill_at_ms_ = 0;  // 0: no request to end yet
  bool ended_ = false;
  int status_ = 0;
};

// Runs the program, in the child. exec keeps the setting of fork_process() that kills the child
// with the keeper. The keeper may be undumpable, which would close /proc/self to the child.
int become(std::span<char* const> words, const Confinement& confinement) {
  sigset_t none;
  sigemptyset(&none);
  ::setpgid(0, 0);
  ::prctl(PR_SET_DUMPABLE, 1);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (confinement.asked) {
    if (const Status confined = confine(confinement); !confined) {
      std::fprintf(stderr, "%s: confine: %s\n", words[0], confined.error().message.c_str());
      return kNotStarted;
    }
  }
  ::execv(words[0], words.data() + 1);
  std::fprintf(stderr, "%s: start: %s\n", words[0], std::strerror(errno));
  return kNotStarted;
}

// Starts the program and waits until nothing of it is left; returns its wait status. A confined
// program gets a Landlock domain inside the keeper's: the keeper's signals reach it, and its own do
// not reach the keeper.
Result<int> watch_program(std::span<char* const> words, Confinement& confinement,
                          const sigset_t& signals, Keeper::Options options) {
  Scratch scratch;
  if (confinement.asked) {
    scratch.make(confinement.files);
    ::prctl(PR_SET_DUMPABLE, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    options.kills_by_scope = confinement.landlock && restrict_signals();
  }
  const pid_t child =
      RG_TRY(fork_process("railgauge-launch-shim", [&] { return become(words, confinement); }));
  ::setpgid(child, child);
  // The program's pipes must end with the program.
  if (confinement.asked) ::close_range(STDERR_FILENO + 1, ~0U, 0);
  return Keeper(child, signals, options).watch();
}

// Ends this process as the program ended, so that the owner reads one wait status for both.
int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  ::prctl(PR_SET_DUMPABLE, 0);  // a core file of the keeper would show nothing
  die_of(WTERMSIG(status));
}

int misused() {
  std::fputs(
      "railgauge-launch-shim: --keep PARENT GRACE_MS [--confine [--hide PATH | --limit NAME=N | "
      "--landlock on|off]...] PROGRAM ARGV...\n",
      stderr);
  return 2;
}

}  // namespace

// The order matters: signals are blocked and the parent's death is watched before the parent is
// checked, so that no death in between is missed.
int keep(std::span<char* const> words) {
  if (words.size() < kLeastWords) return misused();
  Keeper::Options options{.parent = std::atoi(words[0]), .grace_ms = std::atof(words[1])};
  words = words.subspan(2);
  auto confinement = take_confinement(words);
  if (!confinement || words.size() < 2) return misused();
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != options.parent) return 128 + SIGTERM;  // the parent died before prctl()
  const auto status = watch_program(words, *confinement, signals, options);
  if (status) return end_as(*status);
  std::fprintf(stderr, "%s: %s\n", words[0], status.error().message.c_str());
  return kNotStarted;
}

}  // namespace railgauge::launch
