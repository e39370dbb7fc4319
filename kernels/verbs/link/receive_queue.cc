#include "kernels/verbs/link/receive_queue.h"

#include <algorithm>

namespace railgauge::verbs {

// Slots are reused in turn where the ring is deeper than their number.
bool ReceiveQueue::fill(const Slots& slots, std::span<std::byte> area, std::uint32_t key,
                        std::uint32_t depth) {
  const std::size_t rings = shared_ != nullptr ? 1 : queue_pairs_.size();
  moves_ = is_cold_ring(slots);
  first_ = reinterpret_cast<std::uint64_t>(area.data());
  stride_ = slots.stride_bytes;
  slots_ = slots.count;
  const auto slot_address = [&](std::size_t slot) { return first_ + slot * stride_; };
  receives_.assign(moves_ ? rings : slots_, {});
  for (std::size_t k = 0; k < receives_.size(); ++k) {
    Receive& receive = receives_[k];
    receive.sge.addr = slot_address(k);
    receive.sge.length = static_cast<std::uint32_t>(slots.bytes + slots.offset_bytes);
    receive.sge.lkey = key;
    receive.wr.sg_list = &receive.sge;
    receive.wr.num_sge = slots.bytes == 0 ? 0 : 1;
  }
  // One chain a ring, so that a ring costs one call.
  std::vector<ibv_recv_wr> chain(depth);
  std::vector<ibv_sge> places(moves_ ? depth : 0);
  for (std::size_t lane = 0; lane < rings; ++lane) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      chain[i] = receives_[moves_ ? lane : i % slots_].wr;
      if (moves_) {
        places[i] = receives_[lane].sge;
        places[i].addr = slot_address(i % slots_);
        chain[i].sg_list = &places[i];
      }
      chain[i].wr_id = lane << kLaneShift | i % slots_;
      chain[i].next = i + 1 < depth ? &chain[i + 1] : nullptr;
    }
    if (!post(chain.front(), lane)) return false;
    // A ring that moves has its next slot there.
    if (moves_) receives_[lane].wr.wr_id = depth % slots_;
  }
  return true;
}

// Polls, and looks at the limits only after polls_between_looks() polls that found nothing.
std::int64_t ReceiveQueue::take_or_wait(bool again) {
  for (std::uint64_t since = 0;;) {
    for (unsigned i = 0; i < polls_between_looks_; ++i)
      if (const std::int64_t taken = take(again); taken != 0) return taken;
    if (!may_continue(since)) return -1;
  }
}

}  // namespace railgauge::verbs
