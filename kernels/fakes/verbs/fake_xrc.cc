// The fake's extended reliable connections (XRC): domains, and receive queues with a number and a
// completion queue of their own.
#include <cerrno>
#include <mutex>

#include "kernels/fakes/verbs/fake_objects.h"

namespace railgauge::fake {

ibv_xrcd* open_domain(ibv_context* context, ibv_xrcd_init_attr* wanted) {
  if (fails_now()) return errno = EIO, nullptr;
  if (verbs_control().no_xrc != 0) return errno = ENOSYS, nullptr;
  if (wanted->fd != -1) return errno = EBADF, nullptr;
  auto* domain = made(new FakeDomain);
  domain->xrcd.context = context;
  return &domain->xrcd;
}

int close_domain(ibv_xrcd* xrcd) {
  delete reinterpret_cast<FakeDomain*>(xrcd);
  return released_with_answer();
}

// Its arrivals complete on the queue that it was made with.
ibv_srq* create_domain_receives(ibv_context* context, ibv_srq_init_attr_ex* wanted) {
  if (fails_now()) return errno = EIO, nullptr;
  if (wanted->srq_type != IBV_SRQT_XRC || wanted->xrcd == nullptr || wanted->cq == nullptr)
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
