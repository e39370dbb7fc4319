// The fake's data path on the receiving side: posting receives, polling, events.
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "kernels/fakes/verbs/fake_objects.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge::fake {
namespace {

int post_one(std::uint32_t key, std::uint32_t depth, const ibv_recv_wr& wr) {
  Table& table = *own_table();
  Inbox& inbox = table.inboxes[slot_of(key)];
  const std::uint32_t number = inbox.posted;
  if (number - inbox.polled >= depth) return ENOMEM;
  PostedReceive receive{.wr_id = wr.wr_id, .is_valid = 1};
  if (wr.num_sge > 0) {
    const ibv_sge& sge = *wr.sg_list;
    const RegionSlot& region = table.regions[slot_of(sge.lkey)];
    receive.address = sge.addr;
    receive.bytes = sge.length;
    receive.is_valid = region.in_use != 0 && (region.access & IBV_ACCESS_LOCAL_WRITE) != 0 &&
                       sge.addr >= region.address &&
                       sge.addr + sge.length <= region.address + region.length;
    receive.loses_data = region.loses_data;
  }
  inbox.receives[number % kInboxDepth] = receive;
  inbox.posted.store(number + 1, std::memory_order_release);
  return 0;
}

// Not the objects' lock, which a sender of this process holds while the wire copies its message and
// takes again at once: who waits for a receive would keep it from being posted.
std::mutex& receives_mutex() {
  static std::mutex mutex;
  return mutex;
}

int post_all(std::uint32_t key, std::uint32_t depth, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const std::lock_guard lock(receives_mutex());
  if (is_quiet()) return 0;
  if (transfer_fails_now()) return *bad_wr = wr, EIO;
  for (; wr != nullptr; wr = wr->next)
    if (const int error = post_one(key, depth, *wr); error != 0) return *bad_wr = wr, error;
  return 0;
}

bool has_arrival(const FakeCompletionQueue& queue) {
  return std::ranges::any_of(queue.inboxes, [](std::uint32_t key) {
    const Inbox& inbox = own_table()->inboxes[slot_of(key)];
    return inbox.arrived.load(std::memory_order_acquire) != inbox.polled;
  });
}

bool take_arrival(std::uint32_t key, ibv_wc& wc) {
  Inbox& inbox = own_table()->inboxes[slot_of(key)];
  const std::uint32_t number = inbox.polled;
  if (inbox.arrived.load(std::memory_order_acquire) == number) return false;
  const Arrival& arrival = inbox.arrivals[number % kInboxDepth];
  wc = {};
  wc.wr_id = arrival.wr_id;
  wc.status = static_cast<ibv_wc_status>(arrival.status);
  wc.opcode = static_cast<ibv_wc_opcode>(arrival.opcode);
  wc.byte_len = arrival.bytes;
  wc.imm_data = arrival.immediate;
  wc.qp_num = arrival.queue_pair;
  wc.wc_flags = arrival.flags;
  inbox.polled = number + 1;
  return true;
}

}  // namespace

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto& mine = *reinterpret_cast<FakeQueuePair*>(qp);
  if (qp->srq != nullptr || qp->state == IBV_QPS_RESET) return *bad_wr = wr, EINVAL;
  // As libefa: it writes a descriptor for each buffer, and so none.
  if (mine.kind == kSrd && wr != nullptr && wr->num_sge == 0) return 0;
  return post_all(mine.inbox, mine.cap.max_recv_wr, wr, bad_wr);
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  auto& mine = *reinterpret_cast<FakeSharedReceives*>(srq);
  return post_all(mine.inbox, mine.depth, wr, bad_wr);
}

bool has_completion(FakeCompletionQueue& queue) {
  continue_all(queue);
  const std::lock_guard lock(queue.mutex);
  return !queue.entries.empty() || has_arrival(queue);
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  auto& queue = *reinterpret_cast<FakeCompletionQueue*>(cq);
  if (is_quiet()) return sched_yield(), 0;
  if (is_gone()) return fails_now() ? -1 : 0;
  continue_all(queue);
  const std::lock_guard lock(queue.mutex);
  if (queue.overrun) return -1;
  if (queue.entries.empty() && !has_arrival(queue)) {
    sched_yield();  // the peer may need this CPU: it does the wire's work
    return 0;
  }
  if (transfer_fails_now()) return -1;
  int taken = 0;
  for (; taken < count && !queue.entries.empty(); ++taken) {
    const Completion& completion = queue.entries.front();
    wc[taken] = completion.wc;
    completion.queue_pair->outstanding -= completion.retires;
    queue.entries.pop_front();
  }
  for (const std::uint32_t key : queue.inboxes)
    while (taken < count && take_arrival(key, wc[taken])) ++taken;
  return taken;
}

int req_notify_cq(ibv_cq* cq, int) {
  if (fails_now()) return EIO;
  reinterpret_cast<FakeCompletionQueue*>(cq)->armed = true;
  return 0;
}

}  // namespace railgauge::fake
