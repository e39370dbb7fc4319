// One rank's part of an MPI task up to the point where leader and followers part, and the record's
// first and last entries.
#include "kernels/launch/task.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/group/tcp.h"
#include "kernels/launch/ending.h"
#include "kernels/launch/job.h"
#include "kernels/runner/task/phase_timer.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

constexpr double kVersionSeconds = 30;  // an emulated node is slow to start the launcher
// The time limit for all nodes to meet, in seconds; nodes prepare at different speeds.
constexpr double kMeetSeconds = 60;
constexpr int kLookMs = 20;
constexpr std::size_t kMostVersionBytes = 64U << 10U;
constexpr const char* kAddressVariable = "RAILGAUGE_DATA_ADDRESS";

// The launcher's own version line.
Result<std::string> version_of(const MpiJob& job) {
  const MpiLauncher& launcher = job.launcher;
  MpiProcess kept = RG_TRY(
      MpiProcess::start({.keeper = launcher.shim,
                         .program = launcher.program,
                         .words = {std::filesystem::path(launcher.program).filename().string(),
                                   is_mpirun_rsh(launcher) ? "-v" : "--version"},
                         .environment = clean_environment(process_environment_words(), launcher),
                         .one_stream = true}));
  const double until_ns = monotonic_now_ns() + kVersionSeconds * 1e9;
  std::string text;
  while (!kept.ended()) {
    std::array<pollfd, 3> wait{pollfd{kept.exit_fd(), POLLIN, 0},
                               pollfd{job.options.end_request.fd(), POLLIN, 0},
                               pollfd{job.signals_fd, POLLIN, 0}};
    ::poll(wait.data(), wait.size(), kLookMs);
    const auto why = reason_to_end(job, nullptr);
    if (why && why->code != Code::kDeadlineExceeded) return tl::unexpected(*why);
    if (why || monotonic_now_ns() >= until_ns)
      return fail(Code::kDeadlineExceeded, "{} --version: does not end; its last lines: {}",
                  launcher.program, last_lines(text));
    read_what_is_there(kept.out(), text, kMostVersionBytes);
  }
  read_what_is_there(kept.out(), text, kMostVersionBytes);
  const std::string version = launcher_version(text);
  if (version.empty())
    return fail(Code::kFailedPrecondition, "{} --version: says nothing", launcher.program);
  return version;
}

// Prepares, and refuses what this node can judge alone: a missing or unsuitable launcher, and a
// data network on which the node has no address.
Status prepare(MpiJob& job) {
  const Params& params = job.task.params;
  job.mode = RG_TRY(launch_mode_of(params.text("launch")));
  job.launcher = RG_TRY(find_mpi_launcher(params.text("mpi"), params.text("mpi_installation"),
                                          job.mode == LaunchMode::kSsh));
  if (is_mpirun_rsh(job.launcher) && job.mode == LaunchMode::kAgent)
    return fail(Code::kFailedPrecondition,
                "launch=agent: {} knows no other way than ssh; say launch=ssh, or name the mpiexec "
                "beside it",
                job.launcher.program);
  if (job.mode == LaunchMode::kSlurm && job.group.rank() == 0 && program_in_path("srun").empty())
    return fail(Code::kNotFound, "launch=slurm: no srun in the PATH; say launch=agent");
  job.own = RG_TRY(data_address(params.text("data_network"), variable(kAddressVariable),
                                host_addresses(), rdma_netdevs()));
  // Running the launcher once also shows that it can run here.
  job.version = RG_TRY(version_of(job));
  return {};
}

// Exchanges hellos. The lists of network devices are compared later: only where all nodes agree may
// one setting name them.
Status meet(MpiJob& job) {
  LaunchHello hello;
  hello.set_address(job.own.address);
  hello.set_network(job.own.network);
  hello.set_interface(job.own.interface);
  for (const std::string& one : job.own.own_addresses) hello.add_own_addresses(one);
  hello.set_host_name(host_name());
  hello.set_mpi_version(job.version);
  hello.set_ranks_program(job.launcher.ranks_program);
  hello.set_endpoint(job.task.endpoint);
  hello.add_net_devices(job.own.interface);
  for (const std::string& port : rdma_ports()) hello.add_net_devices(port);
  for (const std::string& said :
       RG_TRY(job.group.exchange(hello.SerializeAsString(), kMeetSeconds))) {
    LaunchHello& node = job.nodes.emplace_back();
    if (!node.ParseFromString(said))
      return fail(Code::kDataLoss, "rendezvous: a rank's hello is garbage");
  }
  return check_nodes(job.nodes, job.own);
}

// The final record has no reason where the task passed.
int finish(const MpiJob& job, const MpiOutcome& end) {
  job.records.finish(end.outcome, end.outcome == kPassed ? std::string() : end.reason);
  return exit_code_of(end.outcome);
}

}  // namespace

// Versions and paths must agree, since one node's launcher starts its daemons on all of them.
Status check_nodes(const std::vector<LaunchHello>& nodes, const DataAddress& own) {
  const LaunchHello& first = nodes.front();
  for (std::size_t rank = 1; rank < nodes.size(); ++rank) {
    const LaunchHello& node = nodes[rank];
    if (node.mpi_version() != first.mpi_version())
      return fail(Code::kFailedPrecondition,
                  "rank 0 on {} has {} and rank {} on {} has {}; install the same",
                  first.host_name(), first.mpi_version(), rank, node.host_name(),
                  node.mpi_version());
    if (node.ranks_program() != first.ranks_program())
      return fail(Code::kFailedPrecondition,
                  "rank 0 has {} and rank {} has {}; install Railgauge in one place",
                  first.ranks_program(), rank, node.ranks_program());
    if (node.network() != first.network())
      return fail(
          Code::kFailedPrecondition,
          "rank 0 has data network {} and rank {} has {}; declare the same data_network for both",
          first.network(), rank, node.network());
    if (!in_network(node.address(), first.network()))
      return fail(Code::kFailedPrecondition,
                  "rank {} is at {}, which is not on rank 0's data network {}", rank,
                  node.address(), first.network());
  }
  const auto off = [&](const std::string& one) { return !in_network(one, own.network); };
  const auto stray = std::ranges::find_if(first.own_addresses(), off);
  if (first.network() != own.network || stray != first.own_addresses().end())
    return fail(
        Code::kFailedPrecondition,
        "rank 0 on {} says data network {} and would be called at {}; this node's network is {}",
        first.host_name(), first.network(), fmt::join(first.own_addresses(), ", "), own.network);
  return {};
}

// A non-blocking eventfd, for a poll loop that waits for another thread.
EndRequest::EndRequest() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  RG_CHECK(static_cast<bool>(wake_));
}

// Later reasons are dropped: the first one is the cause.
void EndRequest::ring(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (why_) return;
  why_ = why;
  RG_CHECK(::eventfd_write(wake_.get(), 1) == 0);
}

std::optional<Error> EndRequest::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

// Phases: open (prepare), wait (for the others' prepare), exchange (until all ranks run), measure.
int run_mpi_task(const Task& task, const MpiTaskOptions& options, Group& group,
                 RecordWriter& records, const Ready& ready) {
  PhaseTimer laps(records, task);
  const Fd signals(ending_signals_fd());
  MpiJob job{task, options, group, records, signals.get()};
  Status status = prepare(job);
  laps.lap(&Phases::set_open_ns);
  if (status) {
    status = ready(status);
    laps.lap(&Phases::set_wait_ns);
  }
  if (status) status = meet(job);
  if (!status) {
    // A waived task has a started record too.
    records.started(started_of(job));
    return finish(job, mpi_outcome_of(options.end_request.why().value_or(status.error())));
  }
  bool measuring = false;
  job.measuring = [&] {
    if (!measuring) laps.lap(&Phases::set_exchange_ns);
    measuring = true;
  };
  if (group.rank() != 0) {
    records.started(started_of(job));
    job.measuring();
  }
  const MpiOutcome end = group.rank() == 0 ? lead_mpi_task(job) : follow_mpi_task(job);
  laps.lap(measuring ? &Phases::set_measure_ns : &Phases::set_exchange_ns);
  return finish(job, end);
}

}  // namespace railgauge
