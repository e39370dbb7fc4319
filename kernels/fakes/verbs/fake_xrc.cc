// The fake's extended reliable connections (XRC): domains, and receive queues with a number and a
// completion queue of their own. As a driver does, it reads only the fields that a mask names.
#include <cerrno>
#include <mutex>

#include "kernels/fakes/verbs/fake_objects.h"

namespace railgauge::fake {

ibv_xrcd* open_domain(ibv_context* context, ibv_xrcd_init_attr* wanted) {
  if (fails_now()) return errno = EIO, nullptr;
  if (verbs_control().no_xrc == 3) return errno = EINVAL, nullptr;
  if (verbs_control().no_xrc != 0) return errno = ENOSYS, nullptr;
  constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if ((wanted->comp_mask & kNeeded) != kNeeded) return errno = EINVAL, nullptr;
  if (wanted->fd != -1) return errno = EBADF, nullptr;
  auto* domain = made(new FakeDomain);
  domain->xrcd.context = context;
  return &domain->xrcd;
}

// A receive queue or a queue pair that lives keeps its domain.
int close_domain(ibv_xrcd* xrcd) {
  auto* domain = reinterpret_cast<FakeDomain*>(xrcd);
  {
    const std::lock_guard lock(objects_mutex());
    if (domain->users != 0) return EBUSY;
  }
  delete domain;
  return released_with_answer();
}

// Its arrivals complete on the queue that it was made with.
ibv_srq* create_domain_receives(ibv_context* context, ibv_srq_init_attr_ex* wanted) {
  if (fails_now()) return errno = EIO, nullptr;
  constexpr std::uint32_t kNeeded =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if ((wanted->comp_mask & kNeeded) != kNeeded || wanted->srq_type != IBV_SRQT_XRC ||
      wanted->pd == nullptr || wanted->xrcd == nullptr || wanted->cq == nullptr)
    return errno = EINVAL, nullptr;
  const std::lock_guard lock(objects_mutex());
  if (wanted->attr.max_wr > kInboxDepth) return errno = EINVAL, nullptr;
  const std::uint32_t inbox = take_inbox();
  if (inbox == 0) return errno = ENOMEM, nullptr;
  auto* shared = made(new FakeSharedReceives);
  shared->srq.context = context;
  shared->srq.pd = wanted->pd;
  shared->inbox = inbox;
  shared->depth = wanted->attr.max_wr;
  shared->domain = reinterpret_cast<FakeDomain*>(wanted->xrcd);
  ++shared->domain->users;
  shared->completions = reinterpret_cast<FakeCompletionQueue*>(wanted->cq);
  const std::lock_guard queue_lock(shared->completions->mutex);
  shared->completions->inboxes.push_back(inbox);
  return &shared->srq;
}

int number_of_receives(ibv_srq* srq, std::uint32_t* number) {
  if (fails_now()) return EIO;
  *number = reinterpret_cast<FakeSharedReceives*>(srq)->inbox;
  return 0;
}

}  // namespace railgauge::fake
