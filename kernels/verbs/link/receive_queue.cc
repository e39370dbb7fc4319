#include "kernels/verbs/link/receive_queue.h"

#include <algorithm>

namespace railgauge::verbs {

// Slots are reused in turn where the ring is deeper than their number.
bool ReceiveQueue::fill(const Slots& slots, std::span<std::byte> area, std::uint32_t key,
                        std::uint32_t depth) {
  receives_.assign(slots.count, {});
  for (std::size_t k = 0; k < slots.count; ++k) {
    Receive& receive = receives_[k];
    receive.sge.addr = reinterpret_cast<std::uint64_t>(area.data()) + k * slots.stride_bytes;
    receive.sge.length = static_cast<std::uint32_t>(slots.bytes + slots.offset_bytes);
    receive.sge.lkey = key;
    receive.wr.sg_list = &receive.sge;
    receive.wr.num_sge = slots.bytes == 0 ? 0 : 1;
  }
  // One chain a ring, so that a ring costs one call.
  std::vector<ibv_recv_wr> chain(depth);
  const std::size_t rings = shared_ != nullptr ? 1 : queue_pairs_.size();
  for (std::size_t lane = 0; lane < rings; ++lane) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      chain[i] = receives_[i % slots.count].wr;
      chain[i].wr_id = lane << kLaneShift | i % slots.count;
      chain[i].next = i + 1 < depth ? &chain[i + 1] : nullptr;
    }
    if (!post(chain.front(), lane)) return false;
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
