// Scalable reliable datagrams (SRD) of EFA: every message arrives once, in any order, and each
// request names its target. A device of EFA has no connected queue pair: what else a link needs
// goes by sends of SRD too.
#pragma once

#include <cstdint>

#include "kernels/dl/efa.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/queue_pair.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

// The provider's functions, and what one device can do. Not owned parts live as long as the
// process. Thread safe.
class Srd {
 public:
  // kUnimplemented where the device is no EFA's.
  static Result<Srd> open(const Device& device);
  // Checks operation and size. kUnimplemented: the device has no reads or writes; kInvalidArgument
  // above its largest message.
  [[nodiscard]] Status check(const Device& device, const Operation& does,
                             std::uint64_t largest_bytes) const;
  // Makes a queue pair that posts `operations` (IBV_QP_EX_WITH_*). Inline bytes as
  // make_queue_pair() has them.
  Result<QueuePairHandle> make(const Device& device, ibv_pd* domain, ibv_qp_init_attr& init,
                               std::uint64_t operations) const;
  // Brings it up, to send and to receive.
  Status bring_up(const Introduction& with, ibv_qp* queue_pair) const;
  // "/usr/lib/libefa.so.1.2.44.0", for a fact.
  [[nodiscard]] const std::string& library() const { return efa_->path; }

 private:
  const Efa* efa_ = nullptr;
  EfaDeviceAttributes can_{};
};

}  // namespace railgauge::verbs
