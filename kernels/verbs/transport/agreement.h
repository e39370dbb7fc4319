// Ends a step together (kernels/core/agreement.h), with the message of verbs' ranks.
#pragma once

#include "kernels/core/agreement.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// As agree_on, with no content but the result.
Status agree(Group& group, const Status& mine, double timeout_seconds);

}  // namespace railgauge::verbs
