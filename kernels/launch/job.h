// The state that leader and followers of an MPI task share once the nodes have exchanged hellos.
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

// One rank's view of the task. The referenced objects outlive it. All nodes fill it in the same way
// before they part into leader and followers.
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
  std::function<void()> measuring = {};  // called once rank 0 has connected; for the phases
};

// Checks that these nodes can run one MPI task, from the view of the node with `own`. Rank 0's
// address becomes part of the lease, so it must be on the data network that this node determined by
// itself.
Status check_nodes(const std::vector<LaunchHello>& nodes, const DataAddress& own);

// Returns the reason to end the task now: a cancel, a signal, the end of the relay (unless
// nullptr), or the deadline. Absent while the task may continue.
std::optional<Error> reason_to_end(const MpiJob& job, MpiRelay* relay);

// Returns the lease by which the nodes of `addresses` may start the task's daemons, which call rank
// 0's node.
launch::Lease lease_of(const MpiJob& job, std::set<std::string> addresses);

// Returns the settings for starting daemons on this node.
MpiDaemons::Options daemon_options(const MpiJob& job);

// Returns the started record with the facts of the launch.
Started started_of(const MpiJob& job);

// Waits until no daemon is left; ends them by force after `patience_seconds`. Gives up after 10 s.
void end_daemons(MpiDaemons& daemons, double patience_seconds);

// Runs rank 0's part after all nodes have met, and reports the end to the others.
MpiOutcome lead_mpi_task(MpiJob& job);
// Runs the part of the other ranks.
MpiOutcome follow_mpi_task(MpiJob& job);

}  // namespace railgauge
