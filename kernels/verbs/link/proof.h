// A proof message before anything is timed: each rank sends bytes from its own memory into the
// other's and checks what came. A NIC registers a GPU's memory by a wrong mapping without an error
// (kernels/core/dmabuf_mapping.h), and timed loops look at no data.
#pragma once

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/receive_queue.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

class Link;

// A reliable queue pair of its own, since not every transport of the lanes reports a loss, and SEND
// needs no remote access. For the link's thread.
class Proof {
 public:
  // Makes the queue pair and gives the link its number. Call before the addresses are exchanged;
  // the link outlives this object.
  static Result<Proof> open(Link& link);
  // Brings the queue pair up towards the link's peer.
  Status connect(const Context& context, Link& link);
  // Sends, receives and compares. Both ranks call, and each learns how it went at both. kDataLoss:
  // wrong bytes came; other errors are those of the adapter. Clears what it wrote.
  Status run(const Context& context, Link& link, Group& group);

 private:
  Status prepare(Link& link);
  Status transfer(Link& link);

  std::size_t bytes_ = 0;
  CompletionQueueHandle send_completions_;
  CompletionQueueHandle receive_completions_;
  QueuePairHandle queue_pair_;
  AddressHandle address_;  // of SRD
  SendQueue sends_;
  ReceiveQueue receives_;
};

}  // namespace railgauge::verbs
