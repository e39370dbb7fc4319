// The shared steps of both sides of an MPI task, and the part of the ranks that have no launcher.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/severity.h"
#include "kernels/launch/job.h"

namespace railgauge {
namespace {

constexpr int kFollowLookMs = 100;  // between two looks at the deadline
// Between two looks at daemons that are ending.
constexpr int kEndLookMs = 10;
constexpr double kDaemonSeconds = 2;    // for a daemon whose launcher has ended
constexpr double kAgainSeconds = 0.3;   // between being asked to end and being killed
constexpr double kMostEndSeconds = 10;  // then the Linux kernel holds it

// The daemon that the launcher starts on other nodes: Open MPI 5 has prted, earlier ones orted.
launch::Daemon daemon_of(const MpiLauncher& launcher) {
  if (launcher.mpi != "openmpi") return launch::Daemon::kHydraProxy;
  return launcher.daemon.ends_with("/prted") ? launch::Daemon::kPrted : launch::Daemon::kOrted;
}

}  // namespace

// The outcome word of an error code, with the error's message as the reason.
MpiOutcome mpi_outcome_of(const Error& error) {
  return {std::string(outcome_of(error.code)), error.message};
}

// By priority: a cancel, a signal, the loss of the other nodes, the deadline. Reading the signalfd
// consumes the signal, so a second call does not see it again.
std::optional<Error> reason_to_end(const MpiJob& job, MpiRelay* relay) {
  if (auto why = job.options.end_request.why()) return why;
  signalfd_siginfo info{};
  if (::read(job.signals_fd, &info, sizeof info) == sizeof info)
    return Error{Code::kCancelled, "terminated (SIGTERM)"};
  if (relay != nullptr)
    if (auto why = relay->error()) return why;
  if (monotonic_now_ns() >= job.task.deadline_monotonic_ns)
    return Error{Code::kDeadlineExceeded, "the task did not end by its deadline"};
  return std::nullopt;
}

// The lease is made on each node from rank 0's hello, never from what rank 0 asks later.
launch::Lease lease_of(const MpiJob& job, std::set<std::string> addresses) {
  const LaunchHello& first = job.nodes.front();
  // The launcher's settings (words.h).
  const bool by_interface = daemon_of(job.launcher) == launch::Daemon::kHydraProxy;
  return {.task = job.options.name,
          .daemon = daemon_of(job.launcher),
          .nodes = std::move(addresses),
          .launchers = {first.own_addresses().begin(), first.own_addresses().end()},
          .network = by_interface ? first.interface() : first.network(),
          .expires_monotonic_ns = job.task.deadline_monotonic_ns};
}

// The daemon gets a clean environment: the agent's own variables mean nothing to MPI.
MpiDaemons::Options daemon_options(const MpiJob& job) {
  return {.keeper = job.launcher.shim,
          .daemon = job.launcher.daemon,
          .shim = job.launcher.shim,
          .lease = lease_of(job, {job.own.address}),
          .environment = clean_environment(process_environment_words(), job.launcher),
          .interface = job.own.interface};
}

// A daemon ends by itself when its launcher does. A process that Linux holds in a system call is
// given up after kMostEndSeconds, so that the task's record is written in any case.
void end_daemons(MpiDaemons& daemons, double patience_seconds) {
  const double begin_ns = monotonic_now_ns();
  double ask_ns = begin_ns + patience_seconds * 1e9;
  while (!daemons.empty() && monotonic_now_ns() < begin_ns + kMostEndSeconds * 1e9) {
    if (monotonic_now_ns() >= ask_ns) {
      daemons.end();
      ask_ns = monotonic_now_ns() + kAgainSeconds * 1e9;
    }
    std::vector<pollfd> set;
    daemons.add_to(set);
    ::poll(set.data(), set.size(), kEndLookMs);
    daemons.service();
  }
}

Started started_of(const MpiJob& job) {
  Started started = started_of(job.task, job.group.size());
  auto& facts = *started.mutable_facts();
  facts["launch"] = job.task.params.text("launch");
  if (!job.version.empty()) facts["mpi_launcher"] = job.version;
  return started;
}

// Serves this node's daemon until rank 0 sends the end, or until this node has a reason of its own.
MpiOutcome follow_mpi_task(MpiJob& job) {
  MpiRelay relay(job.group, job.task.deadline_monotonic_ns);
  MpiDaemons daemons(daemon_options(job),
                     [&relay](LaunchNews news) { relay.post(std::move(news)); });
  std::optional<MpiOutcome> told;
  std::optional<Error> why;
  while (!told && !why) {
    std::vector<pollfd> set{{relay.fd(), POLLIN, 0},
                            {job.options.end_request.fd(), POLLIN, 0},
                            {job.signals_fd, POLLIN, 0}};
    // A daemon whose output exceeds the room of the steps blocks until there is room.
    const bool room = relay.has_room();
    if (room) daemons.add_to(set);
    ::poll(set.data(), set.size(), kFollowLookMs);
    if (room) daemons.service();
    for (const auto& [rank, step] : relay.take()) {
      for (const LaunchAsk& ask : step.asks()) {
        // A step carries the requests for all nodes.
        if (ask.rank() != job.group.rank()) continue;
        const std::string refused = daemons.start(ask);
        if (!refused.empty()) job.records.note(severity::kWarning, refused);
      }
      for (const LaunchSignal& signal : step.signals()) daemons.stop(signal.number());
      if (step.has_end()) told = MpiOutcome{step.end().outcome(), step.end().reason()};
    }
    if (!told) why = reason_to_end(job, &relay);
  }
  end_daemons(daemons, told ? kDaemonSeconds : 0);
  return told ? *told : mpi_outcome_of(*why);
}

}  // namespace railgauge
