// Several ranks of one task on this host, a process each, without agent or controller: the calling
// process is rank 0, forks the others and hands round what each of them says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"

namespace railgauge {

// The body of another rank, run in its own process; its value is that process's exit code. `group`
// is that rank's end of the group.
using RankBody = std::function<int(Group& group)>;

// Forks ranks 1 to `size` - 1, and ignores SIGPIPE from then on; gives rank 0's end of the group.
// No other thread may run yet. kResourceExhausted where Linux gives no further process,
// kUnavailable for a socket. After an error no rank can exchange anything more; a rank that is gone
// is named, with how its process ended. The group's destructor ends it, waits for the others at
// most kEndSeconds, and kills who is left.
Result<std::unique_ptr<Group>> start_local_ranks(std::uint32_t size, const RankBody& body);

// How long that destructor waits for each.
inline constexpr double kEndSeconds = 10;

}  // namespace railgauge
