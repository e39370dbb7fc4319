// Extended work requests (ibv_wr_*) and the limit of a queue pair's rate: the calls that
// rdma-core's header makes through the queue pair and the context.
#include <cerrno>
#include <cstring>
#include <mutex>

#include "kernels/fakes/verbs/fake_objects.h"

namespace railgauge::fake {
namespace {

FakeQueuePair& queue_pair_of(ibv_qp_ex* qp) { return *reinterpret_cast<FakeQueuePair*>(qp); }

// A chain is kept until it is completed, then posted as one list of plain requests.
void start(ibv_qp_ex* qp) { queue_pair_of(qp).chain.clear(); }
void abort_chain(ibv_qp_ex* qp) { queue_pair_of(qp).chain.clear(); }

ibv_send_wr& next_request(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  ibv_send_wr& wr = queue_pair_of(qp).chain.emplace_back().wr;
  wr.wr_id = qp->wr_id;
  wr.send_flags = qp->wr_flags;
  wr.opcode = opcode;
  wr.num_sge = 1;
  return wr;
}
void aim(ibv_send_wr& wr, std::uint32_t key, std::uint64_t address) {
  wr.wr.rdma.rkey = key;
  wr.wr.rdma.remote_addr = address;
}

void write(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address) {
  aim(next_request(qp, IBV_WR_RDMA_WRITE), key, address);
}
void write_immediate(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, __be32 immediate) {
  ibv_send_wr& wr = next_request(qp, IBV_WR_RDMA_WRITE_WITH_IMM);
  aim(wr, key, address);
  wr.imm_data = immediate;
}
void read(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address) {
  aim(next_request(qp, IBV_WR_RDMA_READ), key, address);
}
void fetch_add(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint64_t add) {
  ibv_send_wr& wr = next_request(qp, IBV_WR_ATOMIC_FETCH_AND_ADD);
  wr.wr.atomic = {.remote_addr = address, .compare_add = add, .swap = 0, .rkey = key};
}
void compare_swap(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint64_t expected,
                  std::uint64_t swap) {
  ibv_send_wr& wr = next_request(qp, IBV_WR_ATOMIC_CMP_AND_SWP);
  wr.wr.atomic = {.remote_addr = address, .compare_add = expected, .swap = swap, .rkey = key};
}
void send(ibv_qp_ex* qp) { next_request(qp, IBV_WR_SEND); }
void send_immediate(ibv_qp_ex* qp, __be32 immediate) {
  next_request(qp, IBV_WR_SEND_WITH_IMM).imm_data = immediate;
}

void set_datagram(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t number, std::uint32_t key) {
  if (queue_pair_of(qp).kind == kSrd)
    queue_pair_of(qp).chain.back().aim = {.number = number, .key = key};
  else
    queue_pair_of(qp).chain.back().wr.wr.ud = {.ah = ah, .remote_qpn = number, .remote_qkey = key};
}
void set_receives(ibv_qp_ex* qp, std::uint32_t number) {
  queue_pair_of(qp).chain.back().wr.qp_type.xrc.remote_srqn = number;
}
void set_local(ibv_qp_ex* qp, std::uint32_t key, std::uint64_t address, std::uint32_t bytes) {
  queue_pair_of(qp).chain.back().sge = {.addr = address, .length = bytes, .lkey = key};
}
void set_inline(ibv_qp_ex* qp, void* data, std::size_t bytes) {
  Pending& last = queue_pair_of(qp).chain.back();
  last.wr.send_flags |= IBV_SEND_INLINE;
  last.sge = {.addr = reinterpret_cast<std::uint64_t>(data),
              .length = static_cast<std::uint32_t>(bytes),
              .lkey = 0};
}

int complete(ibv_qp_ex* qp) {
  ++verbs_control().extended_chains;
  return post_aimed(queue_pair_of(qp), queue_pair_of(qp).chain);
}

void set_dc_address(FakeDcExtension* extension, ibv_ah*, std::uint32_t target, std::uint64_t key) {
  extension->queue_pair->chain.back().aim = {.number = target, .key = key};
}

}  // namespace

// Refuses as a driver does: another error for a queue pair that cannot send yet.
int limit_rate(ibv_qp* qp, ibv_qp_rate_limit_attr* wanted) {
  if (fails_now()) return EIO;
  if (verbs_control().no_rate_limit != 0) return static_cast<int>(verbs_control().no_rate_limit);
  if (qp->state != IBV_QPS_RTS) return EINVAL;
  verbs_control().last_rate_limit = wanted->rate_limit;
  return 0;
}

// Only the kinds of requests that were asked for can be built. Fields that the mask does not name
// are not read.
ibv_qp* create_extended(ibv_context* context, ibv_qp_init_attr_ex* wanted) {
  const bool is_xrc = wanted->qp_type == IBV_QPT_XRC_SEND || wanted->qp_type == IBV_QPT_XRC_RECV;
  if (is_xrc ? verbs_control().no_xrc != 0 : verbs_control().no_extended != 0)
    return errno = EOPNOTSUPP, nullptr;
  const auto names = [&](std::uint32_t field) { return (wanted->comp_mask & field) != 0; };
  const bool receives = wanted->qp_type == IBV_QPT_XRC_RECV;
  if (receives && (!names(IBV_QP_INIT_ATTR_XRCD) || wanted->xrcd == nullptr))
    return errno = EINVAL, nullptr;
  if (!receives && (!names(IBV_QP_INIT_ATTR_PD) || wanted->pd == nullptr))
    return errno = EINVAL, nullptr;
  if (receives) wanted->pd = nullptr;
  ibv_qp* const made = create_with_operations(context, wanted, 0);
  if (made == nullptr || !receives) return made;
  const std::lock_guard lock(objects_mutex());
  auto* domain = reinterpret_cast<FakeDomain*>(wanted->xrcd);
  reinterpret_cast<FakeQueuePair*>(made)->domain = domain;
  ++domain->users;
  return made;
}

ibv_qp* create_with_operations(ibv_context* context, ibv_qp_init_attr_ex* wanted,
                               std::uint32_t kind) {
  ibv_qp_init_attr plain{};
  plain.send_cq = wanted->send_cq;
  plain.recv_cq = wanted->recv_cq;
  plain.srq = wanted->srq;
  plain.cap = wanted->cap;
  plain.qp_type = wanted->qp_type;
  plain.sq_sig_all = wanted->sq_sig_all;
  ibv_qp* const made = create_queue_pair(context, wanted->pd, &plain, kind);
  if (made == nullptr) return nullptr;
  wanted->cap = plain.cap;
  auto& own = *reinterpret_cast<FakeQueuePair*>(made);
  ibv_qp_ex& qp = own.extended;
  const auto asked = [&](std::uint64_t operation) {
    return (wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
           (wanted->send_ops_flags & operation) != 0;
  };
  own.dc = {.set_dc_address = kind == kDcInitiator ? set_dc_address : nullptr, .queue_pair = &own};
  qp.wr_start = start;
  qp.wr_abort = abort_chain;
  qp.wr_complete = complete;
  qp.wr_set_sge = set_local;
  qp.wr_set_inline_data = set_inline;
  qp.wr_set_ud_addr = set_datagram;
  qp.wr_set_xrc_srqn = set_receives;
  if (asked(IBV_QP_EX_WITH_RDMA_WRITE)) qp.wr_rdma_write = write;
  if (asked(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)) qp.wr_rdma_write_imm = write_immediate;
  if (asked(IBV_QP_EX_WITH_RDMA_READ)) qp.wr_rdma_read = read;
  if (asked(IBV_QP_EX_WITH_SEND)) qp.wr_send = send;
  if (asked(IBV_QP_EX_WITH_SEND_WITH_IMM)) qp.wr_send_imm = send_immediate;
  if (asked(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)) qp.wr_atomic_fetch_add = fetch_add;
  if (asked(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)) qp.wr_atomic_cmp_swp = compare_swap;
  return made;
}

}  // namespace railgauge::fake

extern "C" ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return qp == nullptr ? nullptr : &reinterpret_cast<railgauge::fake::FakeQueuePair*>(qp)->extended;
}
