#include "kernels/verbs/transport/agreement.h"

namespace railgauge::verbs {

// An empty report: only the status counts.
Status agree(Group& group, const Status& mine, double timeout_seconds) {
  RG_TRY(agree_on(group, mine, PeerStatus{}, timeout_seconds));
  return {};
}

}  // namespace railgauge::verbs
