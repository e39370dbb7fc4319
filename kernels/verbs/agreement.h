// Ending a step together: both ranks learn how it went on the other side.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/group.h"
#include "kernels/core/kernel.h"
#include "kernels/core/result.h"
#include "kernels/verbs/peer.pb.h"

namespace railgauge::verbs {

// Seconds until the task's deadline, at least 0.
double seconds_left(const Context& context);

// Tells all ranks how it went here. Well only when it went well everywhere: else this rank's own
// error, or the first other rank's with its number in front. kAborted, which only says that the
// other side gave up, yields to the other side's own words. A rank that failed waits for the others
// at most kTellSeconds: they may be what it lost.
inline constexpr double kTellSeconds = 5;
Status agree(Group& group, const Status& mine, double timeout_seconds);
// As agree, and each rank's numbers in `told` come to all, in rank order.
Result<std::vector<PeerStatus>> agree_on(Group& group, const Status& mine, PeerStatus told,
                                         double timeout_seconds);

}  // namespace railgauge::verbs
