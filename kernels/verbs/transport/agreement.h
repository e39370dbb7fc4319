// Ending a step together (kernels/core/agreement.h), with what verbs' ranks tell each other.
#pragma once

#include "kernels/core/agreement.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// As agree_on, with nothing to tell but how it went.
Status agree(Group& group, const Status& mine, double timeout_seconds);

}  // namespace railgauge::verbs
