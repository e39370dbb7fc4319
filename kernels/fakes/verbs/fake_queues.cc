// The fake's control path for queues: completion queues and channels, queue pairs, shared receives,
// address handles.
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "kernels/fakes/verbs/fake_objects.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge::fake {
namespace {

constexpr long kTickNs = 100'000;  // how often a channel's descriptor becomes readable
constexpr int kNoMemoryForCompletions = 1;
constexpr int kNoMemoryForQueuePairs = 2;

// The masks that an adapter's driver demands for each step (IBTA 11.2.5.2, as the kernel checks).
int required_mask(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const bool starts = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  const bool answers = type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
  const bool datagram = type == IBV_QPT_UD;
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
    return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
           (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
    if (datagram) return IBV_QP_STATE;
    return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           (answers ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
  }
  if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
    return IBV_QP_STATE | IBV_QP_SQ_PSN |
           (type == IBV_QPT_XRC_RECV ? static_cast<int>(IBV_QP_TIMEOUT)
            : starts
                ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                : 0);
  return to == IBV_QPS_ERR ? IBV_QP_STATE : -1;
}

// Only RC has all attributes, XRC in two halves; a driver rejects ones that a type lacks.
int forbidden_mask(ibv_qp_type type) {
  constexpr int kReliableOnly = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT |
                                IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (type == IBV_QPT_RC) return IBV_QP_QKEY;
  if (type == IBV_QPT_XRC_SEND)
    return IBV_QP_QKEY | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (type == IBV_QPT_XRC_RECV)
    return IBV_QP_QKEY | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (type == IBV_QPT_UC) return kReliableOnly | IBV_QP_QKEY;
  return kReliableOnly | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_ACCESS_FLAGS;
}

// A provider's own types take no attribute beside those of the step.
bool mask_is_right(const FakeQueuePair& mine, ibv_qp_state to, int mask) {
  const ibv_qp_type type = mine.qp.qp_type;
  if (type == IBV_QPT_DRIVER) {
    const StepMasks step = provider_masks(mine.kind, mine.qp.state, to);
    return step.required >= 0 && (mask & step.required) == step.required &&
           (mask & ~(step.required | step.optional)) == 0;
  }
  const int required = required_mask(type, mine.qp.state, to);
  return required >= 0 && (mask & required) == required && (mask & forbidden_mask(type)) == 0;
}

bool path_is_right(const ibv_ah_attr& path) {
  auto& control = verbs_control();
  control.last_is_global = path.is_global;
  control.last_service_level = path.sl;
  control.last_traffic_class = path.grh.traffic_class;
  control.last_flow_label = path.grh.flow_label;
  if (path.port_num != 1) return false;
  const bool needs_route = control.infiniband != 1;
  return path.is_global != 0 ? path.grh.sgid_index < kGidCount : !needs_route;
}

// Each half of XRC has none of the other's queues.
void attach(FakeQueuePair* mine) {
  if (mine->qp.send_cq != nullptr) {
    auto& sends = *reinterpret_cast<FakeCompletionQueue*>(mine->qp.send_cq);
    const std::lock_guard lock(sends.mutex);
    sends.senders.push_back(mine);
  }
  if (mine->qp.recv_cq == nullptr) return;
  auto& receives = *reinterpret_cast<FakeCompletionQueue*>(mine->qp.recv_cq);
  const std::lock_guard lock(receives.mutex);
  receives.inboxes.push_back(mine->inbox);
}

void detach(FakeQueuePair* mine) {
  if (mine->qp.send_cq != nullptr) {
    auto& sends = *reinterpret_cast<FakeCompletionQueue*>(mine->qp.send_cq);
    const std::lock_guard lock(sends.mutex);
    std::erase(sends.senders, mine);
    std::erase_if(sends.entries, [mine](const auto& entry) { return entry.queue_pair == mine; });
  }
  if (mine->qp.recv_cq == nullptr) return;
  auto& receives = *reinterpret_cast<FakeCompletionQueue*>(mine->qp.recv_cq);
  const std::lock_guard lock(receives.mutex);
  const auto found = std::ranges::find(receives.inboxes, mine->inbox);
  if (found != receives.inboxes.end()) receives.inboxes.erase(found);
}

}  // namespace

// By number, for the connection manager; under the objects' lock.
static std::map<std::uint32_t, FakeQueuePair*>& queue_pairs() {
  static std::map<std::uint32_t, FakeQueuePair*> all;
  return all;
}

void connect_queue_pairs(std::uint32_t one, std::uint32_t other) {
  const std::lock_guard lock(objects_mutex());
  for (const auto& [mine, theirs] : {std::pair{one, other}, std::pair{other, one}}) {
    const auto found = queue_pairs().find(mine);
    if (found == queue_pairs().end()) continue;
    FakeQueuePair& queue_pair = *found->second;
    queue_pair.destination = theirs;
    queue_pair.peer = table_of(pid_of(theirs));
    queue_pair.qp.state = IBV_QPS_RTS;
    auto& slot = own_table()->queue_pairs[slot_of(mine)];
    slot.destination = theirs;
    slot.state = IBV_QPS_RTS;
  }
}

std::uint32_t take_inbox() {
  static std::atomic<std::uint32_t> turn{1};
  auto& inboxes = own_table()->inboxes;
  const std::uint32_t key = take_slot(inboxes, turn, getpid());
  if (key == 0) return 0;
  Inbox& inbox = inboxes[slot_of(key)];
  inbox.posted = inbox.arrived = inbox.polled = 0;
  return key;
}

void release_inbox(std::uint32_t key) { own_table()->inboxes[slot_of(key)].in_use = 0; }

}  // namespace railgauge::fake

using railgauge::fake::fails_now;
using railgauge::fake::FakeAddressHandle;
using railgauge::fake::FakeChannel;
using railgauge::fake::FakeCompletionQueue;
using railgauge::fake::FakeQueuePair;
using railgauge::fake::FakeSharedReceives;
namespace fake = railgauge::fake;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (fails_now()) return nullptr;
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) return nullptr;
  const itimerspec ticks{{0, fake::kTickNs}, {0, fake::kTickNs}};
  timerfd_settime(fd, 0, &ticks, nullptr);
  auto* made = fake::made(new FakeChannel);
  made->channel.context = context;
  made->channel.fd = fd;
  return &made->channel;
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  auto* mine = reinterpret_cast<FakeChannel*>(channel);
  if (!mine->queues.empty()) return EBUSY;
  close(channel->fd);
  delete mine;
  return fake::released_with_answer();
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (fails_now()) return -1;
  std::uint64_t ticks = 0;
  static_cast<void>(!read(channel->fd, &ticks, sizeof ticks));
  for (FakeCompletionQueue* queue : reinterpret_cast<FakeChannel*>(channel)->queues) {
    if (!queue->armed || !fake::has_completion(*queue)) continue;
    queue->armed = false;
    *cq = &queue->cq;
    *cq_context = queue->cq.cq_context;
    return 0;
  }
  errno = EAGAIN;
  return -1;
}

void ibv_ack_cq_events(ibv_cq*, unsigned int) {}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                      ibv_comp_channel* channel, int vector) {
  if (fails_now()) return nullptr;
  if (vector < 0 || vector >= context->num_comp_vectors) return errno = EINVAL, nullptr;
  std::atomic<std::uint32_t>& highest = fake::verbs_control().highest_vector;
  highest = std::max(highest.load(), static_cast<std::uint32_t>(vector));
  if (entries < 1 || static_cast<std::size_t>(entries) > fake::kMaxQueueDepth)
    return errno = EINVAL, nullptr;
  if (fake::verbs_control().no_memory_for_queues == fake::kNoMemoryForCompletions)
    return errno = ENOMEM, nullptr;
  auto* queue = fake::made(new FakeCompletionQueue);
  queue->cq.context = context;
  queue->cq.cq_context = cq_context;
  queue->cq.channel = channel;
  queue->cq.cqe = entries;
  if (channel != nullptr) reinterpret_cast<FakeChannel*>(channel)->queues.push_back(queue);
  return &queue->cq;
}

int ibv_destroy_cq(ibv_cq* cq) {
  auto* queue = reinterpret_cast<FakeCompletionQueue*>(cq);
  if (cq->channel != nullptr)
    std::erase(reinterpret_cast<FakeChannel*>(cq->channel)->queues, queue);
  delete queue;
  return fake::released_with_answer();
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (fails_now()) return nullptr;
  const std::lock_guard lock(fake::objects_mutex());
  if (init->attr.max_wr > fake::kInboxDepth) return errno = EINVAL, nullptr;
  const std::uint32_t inbox = fake::take_inbox();
  if (inbox == 0) return errno = ENOMEM, nullptr;
  auto* made = fake::made(new FakeSharedReceives);
  made->srq.context = pd->context;
  made->srq.pd = pd;
  made->inbox = inbox;
  made->depth = init->attr.max_wr;
  return &made->srq;
}

int ibv_destroy_srq(ibv_srq* srq) {
  const std::lock_guard lock(fake::objects_mutex());
  auto* mine = reinterpret_cast<FakeSharedReceives*>(srq);
  if (mine->completions != nullptr) {
    const std::lock_guard queue_lock(mine->completions->mutex);
    std::erase(mine->completions->inboxes, mine->inbox);
  }
  if (mine->domain != nullptr) --mine->domain->users;
  fake::release_inbox(mine->inbox);
  delete mine;
  return fake::released_with_answer();
}

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* path) {
  if (fails_now()) return nullptr;
  if (!fake::path_is_right(*path)) return errno = EINVAL, nullptr;
  auto* made = fake::made(new FakeAddressHandle);
  made->ah.context = pd->context;
  made->ah.pd = pd;
  return &made->ah;
}

int ibv_destroy_ah(ibv_ah* ah) {
  delete reinterpret_cast<FakeAddressHandle*>(ah);
  return fake::released_with_answer();
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UC && init->qp_type != IBV_QPT_UD)
    return errno = EOPNOTSUPP, nullptr;
  return fake::create_queue_pair(pd->context, pd, init);
}

}  // extern "C"

ibv_qp* railgauge::fake::create_queue_pair(ibv_context* context, ibv_pd* pd, ibv_qp_init_attr* init,
                                           std::uint32_t kind) {
  if (fails_now("ibv_create_qp")) return nullptr;
  const std::lock_guard lock(fake::objects_mutex());
  if (init->cap.max_inline_data > fake::verbs_control().max_inline ||
      init->cap.max_send_wr > fake::kMaxQueueDepth || init->cap.max_recv_wr > fake::kInboxDepth)
    return errno = EINVAL, nullptr;
  if (fake::verbs_control().no_memory_for_queues == fake::kNoMemoryForQueuePairs)
    return errno = ENOMEM, nullptr;
  static std::atomic<std::uint32_t> turn{1};
  auto& slots = fake::own_table()->queue_pairs;
  const std::uint32_t number = fake::take_slot(slots, turn, getpid());
  const std::uint32_t inbox = init->srq != nullptr
                                  ? reinterpret_cast<FakeSharedReceives*>(init->srq)->inbox
                                  : fake::take_inbox();
  if (number == 0 || inbox == 0) return errno = ENOMEM, nullptr;
  auto& slot = slots[fake::slot_of(number)];
  slot.state = IBV_QPS_RESET;
  slot.type = kind != 0 ? kind : static_cast<std::uint32_t>(init->qp_type);
  slot.destination = 0;
  slot.inbox = inbox;
  auto* made = fake::made(new FakeQueuePair);
  made->kind = slot.type;
  made->number = number;
  made->cap = init->cap;
  made->signal_all = init->sq_sig_all != 0;
  made->inbox = inbox;
  made->qp.context = context;
  made->qp.pd = pd;
  made->qp.send_cq = init->send_cq;
  made->qp.recv_cq = init->recv_cq;
  made->qp.srq = init->srq;
  made->qp.qp_type = init->qp_type;
  made->qp.qp_num = number;
  made->qp.state = IBV_QPS_RESET;
  fake::attach(made);
  fake::queue_pairs()[number] = made;
  return &made->qp;
}

extern "C" {

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (fails_now()) return EIO;
  const std::lock_guard lock(fake::objects_mutex());
  auto& mine = *reinterpret_cast<FakeQueuePair*>(qp);
  const ibv_qp_state to = attributes->qp_state;
  if (!fake::mask_is_right(mine, to, mask)) return EINVAL;
  auto& slot = fake::own_table()->queue_pairs[fake::slot_of(mine.number)];
  if (to == IBV_QPS_INIT) {
    if (attributes->port_num != 1) return EINVAL;
    fake::verbs_control().last_pkey_index = attributes->pkey_index;
    slot.qkey = attributes->qkey;
  }
  if (to == IBV_QPS_RTR && mine.kind == fake::kDcTarget) {
    if (!fake::path_is_right(attributes->ah_attr)) return EINVAL;
    qp->qp_num = mine.number;
  } else if (to == IBV_QPS_RTR && qp->qp_type != IBV_QPT_UD && qp->qp_type != IBV_QPT_DRIVER) {
    if (!fake::path_is_right(attributes->ah_attr) || attributes->path_mtu > IBV_MTU_4096 ||
        attributes->max_dest_rd_atomic > fake::kMaxOutstandingReads)
      return EINVAL;
    mine.destination = attributes->dest_qp_num;
    mine.peer = fake::table_of(fake::pid_of(mine.destination));
    slot.destination = mine.destination;
  }
  if (to == IBV_QPS_RTS && fake::is_reliable(mine.kind) && mine.kind != fake::kSrd) {
    if (attributes->max_rd_atomic > fake::kMaxOutstandingReads) return EINVAL;
    fake::verbs_control().last_outstanding_reads = attributes->max_rd_atomic;
  }
  qp->state = to;
  slot.state = to;
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  if (fails_now()) return EIO;
  *attributes = {};
  *init = {};
  attributes->qp_state = qp->state;
  attributes->cap = reinterpret_cast<FakeQueuePair*>(qp)->cap;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  const std::lock_guard lock(fake::objects_mutex());
  auto* mine = reinterpret_cast<FakeQueuePair*>(qp);
  fake::detach(mine);
  fake::queue_pairs().erase(mine->number);
  fake::own_table()->queue_pairs[fake::slot_of(mine->number)].in_use = 0;
  if (mine->domain != nullptr) --mine->domain->users;
  if (qp->srq == nullptr) fake::release_inbox(mine->inbox);
  delete mine;
  return fake::released_with_answer();
}

}  // extern "C"
