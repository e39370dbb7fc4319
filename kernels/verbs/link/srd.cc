#include "kernels/verbs/link/srd.h"

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {

Result<Srd> Srd::open(const Device& device) {
  const bool may_be_efa = device.driver().starts_with("efa") || device.driver() == "unknown" ||
                          std::getenv(kEfaLibraryVariable) != nullptr;
  if (!may_be_efa)
    return fail(Code::kUnimplemented,
                fmt::format("{}: transport SRD: driver {} has none; only efa's adapters do; take "
                            "transport RC",
                            device.endpoint(), device.driver()));
  const auto efa = load_efa();
  if (!efa || loaded_verbs().qp_to_qp_ex == nullptr)
    return fail(Code::kUnimplemented,
                fmt::format("{}: transport SRD: {}; libefa and libibverbs of rdma-core 26 or later "
                            "have it",
                            device.endpoint(),
                            efa ? "libibverbs lacks ibv_qp_to_qp_ex" : efa.error().message));
  Srd made;
  made.efa_ = *efa;
  const int error = made.efa_->query_device(device.context(), &made.can_, sizeof made.can_);
  if (error == 0) return made;
  return fail(error == EOPNOTSUPP || error == ENOSYS ? Code::kUnimplemented : Code::kInternal,
              fmt::format("{}: transport SRD: efadv_query_device: {}", device.endpoint(),
                          errno_words(error)));
}

// A send is one packet or a few, as the port says; reads and writes have a limit of their own.
Status Srd::check(const Device& device, const Operation& does, std::uint64_t largest_bytes) const {
  if (does.is_atomic())
    return fail(Code::kUnimplemented,
                fmt::format("{}: transport SRD: has no atomic operations", device.endpoint()));
  if (!does.is_aimed()) return {};
  const bool is_read = does.verb == Verb::kRead;
  if ((can_.capabilities & (is_read ? kEfaReads : kEfaWrites)) == 0)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: transport SRD: efadv_query_device reports no RDMA {} (capabilities "
                    "{:#x}); verbs.send_bw and verbs.send_lat need none",
                    device.endpoint(), is_read ? "READ" : "WRITE", can_.capabilities));
  if (largest_bytes <= can_.max_rdma_bytes) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("{}: parameter sizes: {} is above the device's largest RDMA message of {} "
                  "bytes",
                  device.endpoint(), canonical_bytes(largest_bytes), can_.max_rdma_bytes));
}

Result<QueuePairHandle> Srd::make(const Device& device, ibv_pd* domain, ibv_qp_init_attr& init,
                                  std::uint64_t operations) const {
  EfaQueuePairForm form{};
  init.qp_type = IBV_QPT_DRIVER;
  QueuePairHandle made = create_with_inline(init, domain, operations, [&](auto& asked) {
    return efa_->create_qp_ex(device.context(), &asked, &form, sizeof form);
  });
  if (made) return made;
  const int error = errno;
  const std::string act = fmt::format("{}: make an SRD queue pair of depth {}", device.endpoint(),
                                      init.cap.max_send_wr);
  // The device is EFA's, as its query said: a refusal is of what we ask for. An older library knows
  // no writes.
  constexpr std::uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  if (error == EOPNOTSUPP && (operations & kWrites) != 0)
    return fail(Code::kUnimplemented,
                fmt::format("{}: {}; {} posts no RDMA WRITE", act, errno_words(error), efa_->path));
  return tl::unexpected(pinning_error(act, error));
}

// The steps of datagrams. Where the device tries again when a receive is missing, it does for ever:
// the stall limit bounds the wait.
Status Srd::bring_up(const Introduction& with, ibv_qp* queue_pair) const {
  ibv_qp_attr step{};
  step.qp_state = IBV_QPS_INIT;
  step.port_num = with.device.port();
  step.pkey_index = with.addressing.pkey_index;
  step.qkey = kDatagramKey;
  RG_TRY_OK(modify_queue_pair(with, queue_pair, step,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
                              "INIT"));
  step.qp_state = IBV_QPS_RTR;
  RG_TRY_OK(modify_queue_pair(with, queue_pair, step, IBV_QP_STATE, "RTR"));
  step.qp_state = IBV_QPS_RTS;
  step.sq_psn = with.mine.packet_sequence();
  step.rnr_retry = kRnrRetry;
  const bool retries = (can_.capabilities & kEfaRetries) != 0;
  return modify_queue_pair(
      with, queue_pair, step,
      IBV_QP_STATE | IBV_QP_SQ_PSN | (retries ? static_cast<int>(IBV_QP_RNR_RETRY) : 0), "RTS");
}

}  // namespace railgauge::verbs
