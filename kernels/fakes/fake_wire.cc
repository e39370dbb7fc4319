// The fake's data path: posting, doing the write, completing.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "kernels/fakes/fake_objects.h"
#include "kernels/fakes/fake_verbs.h"

namespace railgauge::fake {
namespace {

void wait_delay() {
  const std::uint64_t delay_ns = verbs_control().delay_ns;
  if (delay_ns == 0) return;
  const auto now_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
  };
  const std::uint64_t end = now_ns() + delay_ns;
  while (now_ns() < end) {
  }
}

// Bytes of a request: from its inline copy or from local memory under a key that covers them.
bool gather(const ibv_send_wr& wr, const Table& own, std::vector<std::uint8_t>& bytes) {
  bytes.clear();
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    if ((wr.send_flags & IBV_SEND_INLINE) == 0) {
      const RegionSlot& region = own.regions[slot_of(sge.lkey)];
      if (region.in_use == 0 || sge.addr < region.address ||
          sge.addr + sge.length > region.address + region.length)
        return false;
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): verbs carry addresses as numbers
    const auto* from = reinterpret_cast<const std::uint8_t*>(sge.addr);
    bytes.insert(bytes.end(), from, from + sge.length);
  }
  return true;
}

bool peer_answers(const FakeQueuePair& mine) {
  const std::uint64_t limit = verbs_control().lose_after;
  if (limit != 0 && verbs_control().writes >= limit) return false;
  if (mine.peer == nullptr) return false;
  const QueuePairSlot& theirs = mine.peer->queue_pairs[slot_of(mine.destination)];
  return theirs.in_use != 0 && theirs.destination == mine.qp.qp_num &&
         (theirs.state == IBV_QPS_RTR || theirs.state == IBV_QPS_RTS);
}

bool peer_permits(const Table& peer, const ibv_send_wr& wr, std::size_t count) {
  const RegionSlot& region = peer.regions[slot_of(wr.wr.rdma.rkey)];
  return region.in_use != 0 && (region.access & IBV_ACCESS_REMOTE_WRITE) != 0 &&
         wr.wr.rdma.remote_addr >= region.address &&
         wr.wr.rdma.remote_addr + count <= region.address + region.length;
}

ibv_wc_status do_write(const FakeQueuePair& mine, const ibv_send_wr& wr) {
  thread_local std::vector<std::uint8_t> bytes;
  if (!gather(wr, *own_table(), bytes)) return IBV_WC_LOC_PROT_ERR;
  if (!peer_answers(mine)) return IBV_WC_RETRY_EXC_ERR;
  const pid_t peer_pid = pid_of(mine.destination);
  if (pid_of(wr.wr.rdma.rkey) != peer_pid || !peer_permits(*mine.peer, wr, bytes.size()))
    return IBV_WC_REM_ACCESS_ERR;
  wait_delay();
  constexpr std::size_t kControlWordBytes = 8;  // left whole, so that a test fails where it should
  if (bytes.size() > kControlWordBytes) {
    const bool chosen = ++verbs_control().data_writes == verbs_control().flip_write;
    if (chosen || verbs_control().flip_byte != 0) bytes[bytes.size() / 2] ^= 0x40U;
  }
  ++verbs_control().writes;
  switch (copy_to(peer_pid, wr.wr.rdma.remote_addr, bytes.data(), bytes.size())) {
    case Copied::kDone:
      return IBV_WC_SUCCESS;
    case Copied::kPeerGone:
      return IBV_WC_RETRY_EXC_ERR;
    case Copied::kFault:
      break;
  }
  return IBV_WC_REM_OP_ERR;
}

void complete(FakeQueuePair& mine, const ibv_send_wr& wr, ibv_wc_status status) {
  auto& queue = *reinterpret_cast<FakeCompletionQueue*>(mine.qp.send_cq);
  const std::lock_guard lock(queue.mutex);
  if (queue.entries.size() >= static_cast<std::size_t>(queue.cq.cqe)) {
    queue.overrun = true;
    return;
  }
  Completion completion;
  completion.wc.wr_id = wr.wr_id;
  completion.wc.status = status;
  completion.wc.opcode = IBV_WC_RDMA_WRITE;
  completion.wc.qp_num = mine.qp.qp_num;
  completion.queue_pair = &mine;
  completion.retires = mine.unsignalled;
  mine.unsignalled = 0;
  queue.entries.push_back(completion);
}

int post_one(FakeQueuePair& mine, const ibv_send_wr& wr) {
  if (fails_now()) return EIO;
  if (mine.qp.state != IBV_QPS_RTS && mine.qp.state != IBV_QPS_ERR) return EINVAL;
  if (wr.opcode != IBV_WR_RDMA_WRITE) return EOPNOTSUPP;
  if (mine.outstanding >= mine.cap.max_send_wr) return ENOMEM;
  std::size_t count = 0;
  for (int i = 0; i < wr.num_sge; ++i) count += wr.sg_list[i].length;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0 && count > mine.cap.max_inline_data) return EINVAL;
  ++mine.outstanding;
  ++mine.unsignalled;
  const ibv_wc_status status =
      mine.qp.state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : do_write(mine, wr);
  if (status != IBV_WC_SUCCESS) {
    mine.qp.state = IBV_QPS_ERR;
    own_table()->queue_pairs[slot_of(mine.qp.qp_num)].state = IBV_QPS_ERR;
  }
  if (status != IBV_WC_SUCCESS || mine.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0)
    complete(mine, wr, status);
  return 0;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  const std::lock_guard lock(objects_mutex());
  auto& mine = *reinterpret_cast<FakeQueuePair*>(qp);
  for (; wr != nullptr; wr = wr->next) {
    if (const int error = post_one(mine, *wr); error != 0) {
      *bad_wr = wr;
      return error;
    }
  }
  return 0;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  auto& queue = *reinterpret_cast<FakeCompletionQueue*>(cq);
  const std::lock_guard lock(queue.mutex);
  if (queue.overrun) return -1;
  if (queue.entries.empty()) {
    sched_yield();  // the peer may need this CPU: it does the wire's work
    return 0;
  }
  if (fails_now()) return -1;
  int taken = 0;
  for (; taken < count && !queue.entries.empty(); ++taken) {
    const Completion& completion = queue.entries.front();
    wc[taken] = completion.wc;
    completion.queue_pair->outstanding -= completion.retires;
    queue.entries.pop_front();
  }
  return taken;
}

}  // namespace railgauge::fake
