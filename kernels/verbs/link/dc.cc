#include "kernels/verbs/link/dc.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

constexpr const char* kInstead = "take transport RC or XRC";

// A device without DC waives. EINVAL is none: the adapter has DC then, and what we ask for is
// wrong.
tl::unexpected<Error> refused(const Device& device, const std::string& act, int error) {
  if (error != EOPNOTSUPP && error != ENOSYS)
    return tl::unexpected(pinning_error(fmt::format("{}: {}", device.endpoint(), act), error));
  return fail(Code::kUnimplemented,
              fmt::format("{}: {}: {}; this adapter, its firmware or its driver has no DC; {}",
                          device.endpoint(), act, errno_words(error), kInstead));
}

// The library is asked about no device of another driver.
Result<const Mlx5Dc*> library_for(const Device& device) {
  // "mlx5_core.sf" of a sub-function; "unknown" where sysfs hides it.
  const bool may_be_mlx5 = device.driver().starts_with("mlx5_core") ||
                           device.driver() == "unknown" ||
                           std::getenv(kMlx5LibraryVariable) != nullptr;
  if (!may_be_mlx5)
    return fail(Code::kUnimplemented,
                fmt::format("{}: transport DC: driver {} has none; only mlx5_core's adapters do; "
                            "{}",
                            device.endpoint(), device.driver(), kInstead));
  const auto mlx5 = load_mlx5_dc();
  if (!mlx5)
    return fail(Code::kUnimplemented,
                fmt::format("{}: transport DC: {}; libmlx5 of rdma-core 24 or later has it",
                            device.endpoint(), mlx5.error().message));
  if ((*mlx5)->is_supported(device.context()->device)) return *mlx5;
  return fail(Code::kUnimplemented,
              fmt::format("{}: transport DC: {} does not know the device, whose provider is "
                          "another; {}",
                          device.endpoint(), (*mlx5)->path, kInstead));
}

Result<QueuePairHandle> make_target(const Mlx5Dc& mlx5, const Device& device, ibv_pd* domain,
                                    ibv_srq* receives, ibv_cq* completions, std::uint64_t key) {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_DRIVER;
  wanted.send_cq = wanted.recv_cq = completions;
  wanted.srq = receives;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD;
  wanted.pd = domain;
  Mlx5QueuePairForm form{.mask = kMlx5MaskDc, .dc_type = kMlx5DcTarget, .access_key = key};
  errno = 0;
  QueuePairHandle made(mlx5.create_qp(device.context(), &wanted, &form));
  if (!made) return refused(device, "make a DC target", errno);
  return made;
}

}  // namespace

// The key is of this process and moment, so that an earlier task's late packet finds no target.
Result<Dc> Dc::open(const Device& device, ibv_pd* domain, ibv_cq* completions, std::uint32_t depth,
                    std::uint32_t lanes) {
  constexpr unsigned kProcessBits = 22;
  Dc made;
  made.mlx5_ = RG_TRY(library_for(device));
  made.key_ = static_cast<std::uint64_t>(monotonic_now_ns()) << kProcessBits ^
              static_cast<std::uint64_t>(getpid());
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = depth;
  shared.attr.max_sge = 1;
  errno = 0;
  made.shared_ = SharedReceivesHandle(loaded_verbs().create_srq(domain, &shared));
  if (!made.shared_)
    return tl::unexpected(pinning_error(
        fmt::format("{}: make a receive queue of {}", device.endpoint(), depth), errno));
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    made.targets_.push_back(RG_TRY(
        make_target(*made.mlx5_, device, domain, made.shared_.get(), completions, made.key_)));
  return made;
}

// As perftest's: what a short read brings goes to its own memory, not into the completion.
Result<QueuePairHandle> Dc::make_initiator(const Device& device, ibv_pd* domain,
                                           ibv_qp_init_attr& init, std::uint64_t operations) const {
  if (loaded_verbs().qp_to_qp_ex == nullptr)
    return refused(device, "make a DC initiator without ibv_qp_to_qp_ex", EOPNOTSUPP);
  Mlx5QueuePairForm form{.mask = kMlx5MaskDc | kMlx5MaskCreateFlags,
                         .create_flags = kMlx5NoScatterToCqe,
                         .dc_type = kMlx5DcInitiator};
  QueuePairHandle made = create_with_inline(init, domain, operations, [&](auto& asked) {
    return mlx5_->create_qp(device.context(), &asked, &form);
  });
  if (!made)  // the target that is there shows that the adapter has DC
    return tl::unexpected(pinning_error(
        fmt::format("{}: make a DC initiator of depth {}", device.endpoint(), init.cap.max_send_wr),
        errno));
  return made;
}

// The masks are exactly those that mlx5's driver takes of a target.
Status Dc::bring_up_targets(const Introduction& with) const {
  for (std::size_t lane = 0; lane < targets_.size(); ++lane) {
    ibv_qp_attr step{};
    step.qp_state = IBV_QPS_INIT;
    step.port_num = with.device.port();
    step.pkey_index = with.addressing.pkey_index;
    step.qp_access_flags = static_cast<unsigned>(with.access);
    RG_TRY_OK(modify_queue_pair(
        with, targets_[lane].get(), step,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT"));
    step.qp_state = IBV_QPS_RTR;
    step.path_mtu = mtu_of_bytes(std::min(with.mine.mtu_bytes(), with.peer.mtu_bytes()));
    step.min_rnr_timer = kRnrTimer;
    step.ah_attr = path_to(with.addressing, with.device, with.peer, lane);
    RG_TRY_OK(modify_queue_pair(with, targets_[lane].get(), step,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER,
                                "RTR"));
  }
  return {};
}

void Dc::describe(PeerAddress& mine) const {
  mine.set_access_key(key_);
  for (const QueuePairHandle& one : targets_) mine.add_receiving_queue_pairs(one.get()->qp_num);
}

Status Dc::bring_up_initiator(const Introduction& with, ibv_qp* queue_pair) {
  ibv_qp_attr step{};
  step.qp_state = IBV_QPS_INIT;
  step.port_num = with.device.port();
  step.pkey_index = with.addressing.pkey_index;
  RG_TRY_OK(modify_queue_pair(with, queue_pair, step,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, "INIT"));
  step.qp_state = IBV_QPS_RTR;
  step.path_mtu = mtu_of_bytes(std::min(with.mine.mtu_bytes(), with.peer.mtu_bytes()));
  RG_TRY_OK(modify_queue_pair(with, queue_pair, step, IBV_QP_STATE | IBV_QP_PATH_MTU, "RTR"));
  step.qp_state = IBV_QPS_RTS;
  step.sq_psn = with.mine.packet_sequence();
  const int reliable = reliable_sender(with, step);
  return modify_queue_pair(with, queue_pair, step, IBV_QP_STATE | IBV_QP_SQ_PSN | reliable, "RTS");
}

Remote Dc::remote(const PeerAddress& peer, std::size_t lane, ibv_qp* initiator,
                  ibv_ah* address) const {
  return {.address = address,
          .number = peer.receiving_queue_pairs(static_cast<int>(lane)),
          .key = peer.access_key(),
          .dc = mlx5_->extended_of(loaded_verbs().qp_to_qp_ex(initiator))};
}

}  // namespace railgauge::verbs
