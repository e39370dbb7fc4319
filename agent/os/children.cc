#include "agent/os/children.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/descendants.h"

namespace railgauge::agent {
namespace {

constexpr useconds_t kLookUs = 5000;  // between two looks at a child
constexpr double kSweepSeconds = 1;   // of the agent's loop, at most
constexpr useconds_t kPassUs = 2000;  // between two passes: Linux ends what was killed

struct Children {
  std::mutex mutex;  // held from a start to its entry, and from a look at /proc to its kills
  std::set<pid_t> known{};
  std::set<pid_t> left{};    // of `known`: nobody else reaps them
  std::set<pid_t> killed{};  // strays that are not reaped yet
  bool adopts = false;
  bool has_strays = false;
};

Children& children() {
  static Children* const all = new Children;  // other threads may use it until the process ends
  return *all;
}

std::set<pid_t> present_children() {
  std::set<pid_t> present;
  for (const auto& [process, relation] : read_relations())
    if (relation.parent == ::getpid()) present.insert(process);
  return present;
}

// Kills all strays that live and returns how many of them are new. A process that Linux holds in a
// system call dies later.
std::size_t kill_strays(Children& all) {
  const std::lock_guard lock(all.mutex);
  const Relations relations = read_relations();
  std::size_t fresh = 0;
  for (const pid_t stray : descendants_of(::getpid(), relations, all.known))
    if (relations.at(stray).lives && ::kill(stray, SIGKILL) == 0)
      fresh += all.killed.insert(stray).second ? 1 : 0;
  return fresh;
}

// Reaps all strays that have ended; returns whether there was a stray at all.
bool reap_strays(Children& all) {
  const std::lock_guard lock(all.mutex);
  const Relations relations = read_relations();
  const std::vector<pid_t> strays = descendants_of(::getpid(), relations, all.known);
  for (const pid_t stray : strays)
    if (!relations.at(stray).lives && relations.at(stray).parent == ::getpid() &&
        ::waitpid(stray, nullptr, WNOHANG) == stray)
      all.killed.erase(stray);
  return !strays.empty();
}

// The caller holds the mutex.
bool reap_locked(Children& all, pid_t child, int& wait_status, rusage& usage) {
  const pid_t got = ::wait4(child, &wait_status, WNOHANG, &usage);
  if (got == 0) return false;
  all.known.erase(child);
  all.left.erase(child);
  return true;
}

// The caller holds the mutex.
void reap_left(Children& all) {
  for (const pid_t child : std::set<pid_t>(all.left)) {
    int status = 0;
    rusage ignored{};
    if (reap_locked(all, child, status, ignored) && WIFSIGNALED(status)) all.has_strays = true;
  }
}

bool has_unknown_zombie(Children& all) {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
         !all.known.contains(info.si_pid);
}

}  // namespace

Result<pid_t> start_child(const Program& program) {
  Children& all = children();
  const std::lock_guard lock(all.mutex);
  const pid_t child = RG_TRY(start_program(program));
  all.known.insert(child);
  return child;
}

bool reap_child(pid_t child, int& wait_status, rusage& usage) {
  Children& all = children();
  const std::lock_guard lock(all.mutex);
  return reap_locked(all, child, wait_status, usage);
}

std::optional<int> wait_for_child(pid_t child, double seconds) {
  const double end_ns = monotonic_now_ns() + seconds * 1e9;
  int status = 0;
  rusage usage{};
  while (!reap_child(child, status, usage)) {
    if (monotonic_now_ns() > end_ns) {
      Children& all = children();
      const std::lock_guard lock(all.mutex);
      all.left.insert(child);
      return std::nullopt;
    }
    ::usleep(kLookUs);
  }
  return status;
}

void adopt_orphans() {
  Children& all = children();
  const std::lock_guard lock(all.mutex);
  for (const pid_t child : present_children()) {
    const bool is_new = all.known.insert(child).second;
    if (is_new) all.left.insert(child);
  }
  all.adopts = ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

// Zombies are reaped at the end: they keep their places in the limit of processes, so that a fork
// bomb cannot fill them again.
void end_strays() {
  Children& all = children();
  {
    const std::lock_guard lock(all.mutex);
    if (!all.adopts) return;
  }
  const double end_ns = monotonic_now_ns() + kSweepSeconds * 1e9;
  while (kill_strays(all) > 0 && monotonic_now_ns() < end_ns) ::usleep(kPassUs);
  const bool found_any = reap_strays(all);
  const std::lock_guard lock(all.mutex);
  all.has_strays = found_any;  // until a sweep finds nothing at all
  if (!found_any) all.killed.clear();
}

void end_strays_left() {
  Children& all = children();
  bool ends = false;
  bool reaps = false;
  {
    const std::lock_guard lock(all.mutex);
    reap_left(all);
    ends = all.has_strays;
    reaps = all.adopts && has_unknown_zombie(all);
  }
  if (ends) return end_strays();
  if (reaps) reap_strays(all);
}

}  // namespace railgauge::agent
