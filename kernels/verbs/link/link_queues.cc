// The part of a link that makes its queues.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/verbs/link/link.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Requests beyond the depth, for messages that drain receives and close a stream.
constexpr std::uint32_t kSpareDepth = 8;

// A channel whose descriptor never blocks: a wait sleeps on it with a limit of its own.
Result<ChannelHandle> make_channel(const Device& device) {
  errno = 0;
  ChannelHandle made(loaded_verbs().create_channel(device.context()));
  if (!made)
    return fail(Code::kInternal, fmt::format("{}: make a completion channel: {}", device.endpoint(),
                                             errno_words(errno)));
  const int flags = fcntl(made.get()->fd, F_GETFL);
  if (flags < 0 || fcntl(made.get()->fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return fail(Code::kInternal, fmt::format("{}: make the completion channel not block: {}",
                                             device.endpoint(), errno_words(errno)));
  return made;
}

// kFailedPrecondition: "fake0:1: parameter qps: 2000 queue pairs are above the device's 1000".
tl::unexpected<Error> above(const Device& device, std::string_view parameter, std::string_view what,
                            std::int64_t wanted, std::int64_t limit) {
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: parameter {}: {} {} are above the "
                          "device's {}",
                          device.endpoint(), parameter, wanted, what, limit));
}

// IBV_QP_EX_WITH_*: the one kind of request that the link posts.
// A link posts one verb, so that no other needs to be asked for.
std::uint64_t extended_operation(Verb verb, bool immediate) {
  switch (verb) {
    case Verb::kWrite:
      return IBV_QP_EX_WITH_RDMA_WRITE;
    case Verb::kWriteImm:
      return IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    case Verb::kRead:
      return IBV_QP_EX_WITH_RDMA_READ;
    case Verb::kSend:
      return immediate ? IBV_QP_EX_WITH_SEND_WITH_IMM : IBV_QP_EX_WITH_SEND;
    case Verb::kFetchAdd:
      return IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    case Verb::kCompareSwap:
      return IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
  }
  return 0;
}

}  // namespace

// Completion queues that never overflow: each holds all posts of all lanes. Checked against the
// device's limits first, because providers report an excess by a bare EINVAL.
Status Link::make_queues() {
  const ibv_device_attr& limits = device_.attributes();
  const auto depth_limit = static_cast<std::uint32_t>(limits.max_qp_wr);
  if (options_.send_depth + kSpareDepth > depth_limit)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: parameter depth: the device takes at most {} requests in a queue",
                            device_.endpoint(), depth_limit - kSpareDepth));
  const std::int64_t queue_limit = options_.shares_receives ? limits.max_srq_wr : limits.max_qp_wr;
  if (options_.receive_depth > queue_limit)
    return above(device_, "receive_depth", "receives", options_.receive_depth, queue_limit);
  if (options_.lanes >= static_cast<std::uint32_t>(limits.max_qp))
    return above(device_, "qps", "queue pairs, beside one for control,", options_.lanes,
                 limits.max_qp);
  const auto lanes = static_cast<std::int64_t>(options_.lanes);
  const std::int64_t sends = lanes * options_.send_depth + kSpareDepth;
  const std::int64_t receives =
      options_.receive_depth * (options_.shares_receives ? 1 : lanes) + kSpareDepth;
  if (std::max(sends, receives) > limits.max_cqe)
    return above(device_, sends > receives ? "depth" : "receive_depth",
                 "completions of all queue pairs", std::max(sends, receives), limits.max_cqe);
  const auto vectors = static_cast<std::uint32_t>(std::max(1, device_.context()->num_comp_vectors));
  if (options_.completion_vector >= vectors)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: parameter completion_vector: {} is above the device's last, {}",
                            device_.endpoint(), options_.completion_vector, vectors - 1));
  if (options_.sleeps) send_channel_ = RG_TRY(make_channel(device_));
  send_completions_ = RG_TRY(make_completions(static_cast<std::uint32_t>(sends),
                                              send_channel_.get(), options_.completion_vector));
  if (options_.receive_depth > 0) {
    if (options_.sleeps) receive_channel_ = RG_TRY(make_channel(device_));
    receive_completions_ = RG_TRY(make_completions(
        static_cast<std::uint32_t>(receives), receive_channel_.get(), options_.completion_vector));
  }
  return make_shared_receives();
}

// A message by XRC names a receive queue even where it takes no receive, and a target of DC has
// one.
Status Link::make_shared_receives() {
  ibv_cq* const arrivals =
      receive_completions_ ? receive_completions_.get() : send_completions_.get();
  const std::uint32_t depth = std::max<std::uint32_t>(1, options_.receive_depth);
  if (options_.transport == Transport::kXrc)
    xrc_ = RG_TRY(Xrc::open(device_, domain_.get(), arrivals, depth, options_.lanes));
  if (options_.transport == Transport::kDc)
    dc_ = RG_TRY(Dc::open(device_, domain_.get(), arrivals, depth, options_.lanes));
  if (xrc_ || dc_) return {};
  if (options_.receive_depth == 0 || !options_.shares_receives) return {};
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = options_.receive_depth;
  shared.attr.max_sge = 1;
  errno = 0;
  shared_receives_ = SharedReceivesHandle(loaded_verbs().create_srq(domain_.get(), &shared));
  if (!shared_receives_)
    return tl::unexpected(pinning_error(fmt::format("{}: make a shared receive queue of {}",
                                                    device_.endpoint(), options_.receive_depth),
                                        errno));
  return {};
}

// All lanes share one completion queue for sends and one for receives.
Status Link::make_lanes() {
  ibv_qp_init_attr init{};
  init.send_cq = send_completions_.get();
  init.recv_cq = receive_completions_ ? receive_completions_.get() : send_completions_.get();
  init.srq = shared_receives_.get();
  init.qp_type = send_type_of(options_.transport);
  init.cap.max_send_wr = options_.send_depth + kSpareDepth;
  init.cap.max_recv_wr = std::max<std::uint32_t>(1, options_.receive_depth);
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = operation().fetches ? 0 : options_.inline_bytes;
  if (xrc_) init.recv_cq = nullptr;  // a queue pair of its own receives
  if (shared_receives_ || xrc_ || dc_) init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
  std::vector<ibv_qp*> raw;
  for (std::uint32_t lane = 0; lane < options_.lanes; ++lane) {
    queue_pairs_.push_back(RG_TRY(make_lane(init)));
    raw.push_back(queue_pairs_.back().get());
  }
  // A device may take more than was asked for, but the CPU reads nothing out of a GPU's memory.
  inline_bytes_ = memory_->is_host() ? init.cap.max_inline_data : 0;
  sends_ = SendQueue(waiting_, {send_completions_.get(), send_channel_.get()}, raw,
                     options_.posts_extended);
  if (receive_completions_)
    receives_ = ReceiveQueue(waiting_, {receive_completions_.get(), receive_channel_.get()}, raw,
                             xrc_  ? xrc_->shared_receives()
                             : dc_ ? dc_->shared_receives()
                                   : shared_receives_.get());
  return {};
}

Result<QueuePairHandle> Link::make_lane(ibv_qp_init_attr& init) const {
  const std::uint64_t operations =
      options_.posts_extended ? extended_operation(options_.verb, options_.immediate) : 0;
  if (dc_) return dc_->make_initiator(device_, domain_.get(), init, operations);
  if (srd_) return srd_->make(device_, domain_.get(), init, operations);
  return make_queue_pair(device_, domain_.get(), init, operations);
}

Result<QueuePairHandle> Link::make_beside(ibv_qp_init_attr& init) const {
  if (srd_) return srd_->make(device_, domain_.get(), init, IBV_QP_EX_WITH_SEND);
  init.qp_type = IBV_QPT_RC;
  return make_queue_pair(device_, domain_.get(), init);
}

Result<AddressHandle> Link::join_beside(const Introduction& with, ibv_qp* queue_pair,
                                        std::uint32_t number, std::size_t lane,
                                        SendQueue& sends) const {
  if (!srd_) {
    RG_TRY_OK(bring_up(with, queue_pair, number, lane));
    return AddressHandle();
  }
  RG_TRY_OK(srd_->bring_up(with, queue_pair));
  AddressHandle address = RG_TRY(make_address(with, domain_.get(), lane));
  sends.aim(0, {.address = address.get(), .number = number, .key = kDatagramKey});
  return address;
}

}  // namespace railgauge::verbs
