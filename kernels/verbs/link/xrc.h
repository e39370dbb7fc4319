// The receiving half of extended reliable connections (XRC): one receive queue of a domain serves
// the queue pairs of all peers, and each message names it by its number. A lane has a queue pair
// that sends and one that receives.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/peer.pb.h"
#include "kernels/verbs/transport/queue_pair.h"

namespace railgauge::verbs {

// Logs a failed release, as the other handles do.
struct XrcDomainTraits {
  using Type = ibv_xrcd*;
  static Type empty() { return nullptr; }
  static void release(Type domain) { note_release("close the XRC domain", ibv_close_xrcd(domain)); }
};

// One rank's receiving half: the domain, its receive queue, and a queue pair for each lane of the
// link. The link has the sending half. A write names the receive queue too, although it takes no
// receive, because each packet of XRC does. Released before its completion queue. Not thread safe.
class Xrc {
 public:
  // Makes the domain, a receive queue of `depth` that completes on `completions`, and `lanes`
  // queue pairs that receive. kUnimplemented where the device or its provider has no XRC.
  static Result<Xrc> open(const Device& device, ibv_pd* domain, ibv_cq* completions,
                          std::uint32_t depth, std::uint32_t lanes);

  // Returns the receive queue, into which the rank posts as into any shared one.
  [[nodiscard]] ibv_srq* shared_receives() const { return shared_.get(); }
  // Adds the numbers by which the peer aims.
  void describe(PeerAddress& mine) const;
  // Brings up the lane's receiving queue pair, towards the one that sends there. The peer's numbers
  // are in `with`, whose access is what the peer may do here: reads and atomics arrive at this
  // half.
  Status bring_up_lane(const Introduction& with, std::size_t lane) const;

 private:
  Handle<XrcDomainTraits> domain_;
  SharedReceivesHandle shared_;
  std::uint32_t number_ = 0;
  std::vector<QueuePairHandle> receivers_;
};

}  // namespace railgauge::verbs
