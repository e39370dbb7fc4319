// Several ranks of one task on this host, each a process, without agent or controller. The calling
// process is rank 0, forks the others and distributes the payloads of each step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"

namespace railgauge {

// The body of another rank, run in its own process; the result is that process's exit code. `group`
// is that rank's end of the group.
using RankBody = std::function<int(Group& group)>;

// Forks ranks 1 to `size` - 1 and returns rank 0's end of the group. Ignores SIGPIPE from then on.
// No other thread may run yet. kResourceExhausted: no further process. kUnavailable: no socket. An
// error of exchange() ends the group for all ranks; for a rank that is gone it names the rank and
// the end of its process. The group's destructor waits up to kEndSeconds for the others and kills
// the rest.
Result<std::unique_ptr<Group>> start_local_ranks(std::uint32_t size, const RankBody& body);

// The limit of that wait, in seconds.
inline constexpr double kEndSeconds = 10;

}  // namespace railgauge
