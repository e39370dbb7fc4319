// Dynamically connected queue pairs (DC) of mlx5: an initiator sends to any target by that one's
// address, number and access key, which each request names; a target receives from anybody who
// knows the key, into a shared receive queue. A lane has one of each.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/dl/mlx5.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/peer.pb.h"
#include "kernels/verbs/transport/queue_pair.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

// One rank's targets, and what makes its initiators. Released before its completion queue. Not
// thread safe.
class Dc {
 public:
  // Makes a receive queue of `depth` that completes on `completions`, and `lanes` targets.
  // kUnimplemented where the device is no mlx5's, or its adapter or libmlx5 has no DC.
  static Result<Dc> open(const Device& device, ibv_pd* domain, ibv_cq* completions,
                         std::uint32_t depth, std::uint32_t lanes);

  // Returns the receive queue, into which the rank posts as into any shared one.
  [[nodiscard]] ibv_srq* shared_receives() const { return shared_.get(); }

  // Makes an initiator, which posts `operations` (IBV_QP_EX_WITH_*). Inline bytes as
  // make_queue_pair() has them.
  Result<QueuePairHandle> make_initiator(const Device& device, ibv_pd* domain,
                                         ibv_qp_init_attr& init, std::uint64_t operations) const;

  // Brings the targets up to receive, by the MTU that both ranks agreed on: a target has a number
  // only then. `with.access` is what the peer may do here.
  Status bring_up_targets(const Introduction& with) const;
  // Adds the numbers and the key by which the peer aims. After bring_up_targets().
  void describe(PeerAddress& mine) const;
  // Brings an initiator up to send.
  static Status bring_up_initiator(const Introduction& with, ibv_qp* queue_pair);
  // Returns where an initiator's requests go: the peer's target of `lane`.
  [[nodiscard]] Remote remote(const PeerAddress& peer, std::size_t lane, ibv_qp* initiator,
                              ibv_ah* address) const;
  // "libmlx5.so.1.24.44.0", for a fact.
  [[nodiscard]] const std::string& library() const { return mlx5_->path; }

 private:
  const Mlx5Dc* mlx5_ = nullptr;
  std::uint64_t key_ = 0;
  SharedReceivesHandle shared_;
  std::vector<QueuePairHandle> targets_;
};

}  // namespace railgauge::verbs
