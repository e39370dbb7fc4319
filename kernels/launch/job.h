// The facts that both sides of an MPI task share once its nodes have met.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/launch/launcher.h"
#include "kernels/launch/node/address.h"
#include "kernels/launch/node/daemons.h"
#include "kernels/launch/node/grammar.h"
#include "kernels/launch/node/launch.pb.h"
#include "kernels/launch/node/relay.h"
#include "kernels/launch/task.h"
#include "kernels/launch/words.h"

namespace railgauge {

// How an MPI task ended: the word of outcome.h and, unless it passed, the reason.
struct MpiOutcome {
  std::string outcome;
  std::string reason;
};
MpiOutcome mpi_outcome_of(const Error& error);

// One rank's view of the task. References outlive it; all nodes fill it alike before they part into
// leader and followers.
struct MpiJob {
  const Task& task;
  const MpiTaskOptions& options;
  Group& group;
  RecordWriter& records;
  int signals_fd = -1;
  MpiLauncher launcher{};
  LaunchMode mode = LaunchMode::kAgent;
  std::string version{};
  DataAddress own{};
  // The hello of each rank, in rank order.
  std::vector<LaunchHello> nodes{};
  std::function<void()> measuring = {};  // rank 0 has connected; for the phases
};

// Whether these can be one MPI task, as the node with `own` sees it. Rank 0's own address becomes
// the lease, so it has to be on the data network that this node knows by itself.
Status check_nodes(const std::vector<LaunchHello>& nodes, const DataAddress& own);

// Why it has to end now: a cancel, a signal, the end of the relay where there is one, the deadline.
// Nothing while it may go on.
std::optional<Error> reason_to_end(const MpiJob& job, MpiRelay* relay);

// The nodes of these addresses may start the task's daemons, calling rank 0's node.
launch::Lease lease_of(const MpiJob& job, std::set<std::string> addresses);

// The settings that daemons of this node are started with.
MpiDaemons::Options daemon_options(const MpiJob& job);

// The started record with the facts of the launch.
Started started_of(const MpiJob& job);

// Until no daemon is left: by itself within `patience_seconds`, then by force.
void end_daemons(MpiDaemons& daemons, double patience_seconds);

// Rank 0's part, after all have met; reports the end to the others.
MpiOutcome lead_mpi_task(MpiJob& job);
// The others'.
MpiOutcome follow_mpi_task(MpiJob& job);

}  // namespace railgauge
