// The fake's parts of libmlx5 and libefa that make queue pairs of their own: DC and SRD. As the
// drivers do, it takes exactly the attributes that a step needs.
#include <cerrno>
#include <mutex>

#include "kernels/dl/efa.h"
#include "kernels/dl/mlx5.h"
#include "kernels/fakes/verbs/fake_objects.h"

namespace railgauge::fake {
namespace {

constexpr std::uint64_t kLacksSupport = 1;
constexpr std::uint64_t kLacksCall = 2;
constexpr std::uint64_t kRefusesArgument = 3;
constexpr std::uint64_t kRefusesInitiators = 4;

// Errno of making a queue pair by the control `lack`; 0: it works.
int error_of(std::uint64_t lack) {
  if (lack == kLacksCall) return EOPNOTSUPP;
  return lack == kRefusesArgument ? EINVAL : 0;
}

StepMasks target_masks(ibv_qp_state from, ibv_qp_state to) {
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
    return {IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS};
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
    return {IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER};
  return {};
}

StepMasks initiator_masks(ibv_qp_state from, ibv_qp_state to) {
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
    return {IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT};
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
    return {IBV_QP_STATE | IBV_QP_PATH_MTU, IBV_QP_PKEY_INDEX | IBV_QP_AV};
  if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
    return {IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC,
            IBV_QP_MIN_RNR_TIMER};
  return {};
}

StepMasks srd_masks(ibv_qp_state from, ibv_qp_state to) {
  const bool retries = (verbs_control().efa_capabilities & kEfaRetries) != 0;
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
    return {IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY};
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
    return {IBV_QP_STATE, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
  if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
    return {IBV_QP_STATE | IBV_QP_SQ_PSN,
            IBV_QP_QKEY | (retries ? static_cast<int>(IBV_QP_RNR_RETRY) : 0)};
  return {};
}

}  // namespace

StepMasks provider_masks(std::uint32_t kind, ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_ERR) return {IBV_QP_STATE};
  if (kind == kDcTarget) return target_masks(from, to);
  return kind == kDcInitiator ? initiator_masks(from, to) : srd_masks(from, to);
}

}  // namespace railgauge::fake

namespace fake = railgauge::fake;
using railgauge::EfaDeviceAttributes;
using railgauge::EfaQueuePairForm;
using railgauge::Mlx5QueuePairForm;

extern "C" {

bool mlx5dv_is_supported(ibv_device*) { return fake::verbs_control().no_dc != fake::kLacksSupport; }

// A target has a receive queue of others' and no requests; an initiator receives nothing.
ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* wanted,
                         Mlx5QueuePairForm* form) {
  if (fake::fails_now()) return nullptr;
  if (const int error = fake::error_of(fake::verbs_control().no_dc); error != 0)
    return errno = error, nullptr;
  const bool is_target = form->dc_type == railgauge::kMlx5DcTarget;
  const bool is_initiator = form->dc_type == railgauge::kMlx5DcInitiator;
  if (is_initiator && fake::verbs_control().no_dc == fake::kRefusesInitiators)
    return errno = EOPNOTSUPP, nullptr;
  const bool sends = (wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (wanted->qp_type != IBV_QPT_DRIVER || (form->mask & railgauge::kMlx5MaskDc) == 0 ||
      (wanted->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || wanted->pd == nullptr ||
      wanted->send_cq == nullptr || wanted->recv_cq == nullptr || is_target == is_initiator ||
      is_target != (wanted->srq != nullptr) || is_initiator != sends ||
      wanted->cap.max_recv_wr != 0)
    return errno = EINVAL, nullptr;
  ibv_qp* const made = fake::create_with_operations(
      context, wanted, is_target ? fake::kDcTarget : fake::kDcInitiator);
  if (made == nullptr || !is_target) return made;
  auto& own = *reinterpret_cast<fake::FakeQueuePair*>(made);
  fake::own_table()->queue_pairs[fake::slot_of(own.number)].access_key = form->access_key;
  made->qp_num = 0;  // until it can receive
  return made;
}

fake::FakeDcExtension* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex* qp) {
  return &reinterpret_cast<fake::FakeQueuePair*>(qp)->dc;
}

int efadv_query_device(ibv_context*, EfaDeviceAttributes* attributes, std::uint32_t size) {
  if (fake::fails_now()) return EIO;
  if (fake::verbs_control().no_srd == fake::kLacksSupport) return EOPNOTSUPP;
  if (size < sizeof *attributes) return EINVAL;
  *attributes = {};
  attributes->inline_bytes = static_cast<std::uint16_t>(fake::verbs_control().max_inline);
  attributes->capabilities = static_cast<std::uint32_t>(fake::verbs_control().efa_capabilities);
  attributes->max_rdma_bytes = static_cast<std::uint32_t>(fake::verbs_control().efa_rdma_bytes);
  return 0;
}

// Inline data is for sends alone, which the queue pair's own limit says.
ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted,
                           EfaQueuePairForm* form, std::uint32_t size) {
  if (fake::fails_now()) return nullptr;
  if (const int error = fake::error_of(fake::verbs_control().no_srd); error != 0)
    return errno = error, nullptr;
  constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  const bool is_aimed = (wanted->send_ops_flags & ~kSends) != 0;
  if (wanted->qp_type != IBV_QPT_DRIVER || size < sizeof *form || form->driver_type != 0 ||
      (wanted->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || wanted->pd == nullptr ||
      (wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) == 0 || wanted->srq != nullptr ||
      (is_aimed && wanted->cap.max_inline_data != 0))
    return errno = EINVAL, nullptr;
  return fake::create_with_operations(context, wanted, fake::kSrd);
}

}  // extern "C"
