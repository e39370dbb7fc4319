#include "kernels/verbs/link/operation.h"

#include <array>

#include "kernels/core/base/result.h"

namespace railgauge::verbs {

// One row per operation, in the order of the enumerators; the check keeps table and enum together.
const Operation& operation_of(Verb verb) {
  static constexpr std::array kOperations{
      Operation{Verb::kWrite, "write", "to", IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
      Operation{Verb::kWriteImm, "write with immediate data", "to", IBV_WR_RDMA_WRITE_WITH_IMM,
                IBV_ACCESS_REMOTE_WRITE, true},
      Operation{Verb::kRead, "read", "from", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, false, true},
      Operation{Verb::kSend, "send", "to", IBV_WR_SEND, 0, true},
      Operation{Verb::kFetchAdd, "fetch-and-add", "to", IBV_WR_ATOMIC_FETCH_AND_ADD,
                IBV_ACCESS_REMOTE_ATOMIC, false, true},
      Operation{Verb::kCompareSwap, "compare-and-swap", "to", IBV_WR_ATOMIC_CMP_AND_SWP,
                IBV_ACCESS_REMOTE_ATOMIC, false, true}};
  const Operation& found = kOperations[static_cast<std::size_t>(verb)];
  RG_CHECK(found.verb == verb);
  return found;
}

}  // namespace railgauge::verbs
