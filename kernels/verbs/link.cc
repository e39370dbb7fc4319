#include "kernels/verbs/link.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/clock.h"
#include "kernels/verbs/agreement.h"
#include "kernels/verbs/words.h"

namespace railgauge::verbs {
namespace {

constexpr int kWriteAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr std::uint32_t kSpareDepth = 8;  // for control words beside the timed writes
constexpr std::uint8_t kHopLimit = 64;
constexpr std::uint8_t kRnrTimer = 12;  // 0.64 ms; writes need no receive, so it never runs
constexpr std::uint8_t kRnrRetry = 7;

// What the two ranks may choose each for itself.
bool is_own_choice(const std::string& parameter) { return parameter == "gid_index"; }

std::uint32_t first_packet_sequence() {
  // Not the one of the connection before, so that its late packets do not fit.
  const auto mixed =
      static_cast<std::uint64_t>(monotonic_now_ns()) ^ static_cast<std::uint64_t>(getpid()) << 12U;
  return static_cast<std::uint32_t>(mixed) & 0xffffffU;
}

}  // namespace

Result<Link> Link::open(const Context& context, const Options& options) {
  const Params& params = context.params;
  Link link;
  link.device_ = RG_TRY(Device::open(context.endpoint));
  const Device& device = link.device_;
  link.gid_ = RG_TRY(device.gid(params.integer("gid_index")));
  errno = 0;
  link.domain_ = ProtectionDomainHandle(loaded_verbs().alloc_pd(device.context()));
  if (!link.domain_)
    return fail(Code::kInternal, fmt::format("{}: make a protection domain: {}", device.endpoint(),
                                             errno_words(errno)));
  link.buffer_ = RG_TRY(HostBuffer::allocate(2 * round_up_to_pages(options.area_bytes)));
  link.region_ = RG_TRY(link.register_memory(link.buffer_.span(), options.relaxed_ordering));
  RG_TRY_OK(link.create_queues(static_cast<std::uint32_t>(params.bytes("inline_bytes")),
                               options.send_depth + kSpareDepth));
  const unsigned active = verbs::mtu_bytes(device.port_attributes().active_mtu);
  const auto wanted = static_cast<unsigned>(std::stoul(params.text("mtu")));
  if (wanted > active)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: parameter mtu: {} is above the port's active MTU of {}; raise the "
                            "netdev's or the fabric's MTU or ask for less",
                            device.endpoint(), wanted, active));
  link.mtu_bytes_ = wanted == 0 ? active : wanted;

  PeerAddress& mine = link.mine_;
  mine.set_endpoint(device.endpoint());
  mine.set_link_layer(std::string(link_layer_words(device.port_attributes().link_layer)));
  mine.set_gid_type(std::string(gid_type_words(link.gid_.type)));
  mine.set_gid(link.gid_.gid.raw, sizeof link.gid_.gid.raw);
  mine.set_lid(device.port_attributes().lid);
  mine.set_queue_pair_number(link.queue_pair_.get()->qp_num);
  mine.set_packet_sequence(first_packet_sequence());
  mine.set_mtu_bytes(link.mtu_bytes_);
  mine.set_data_address(reinterpret_cast<std::uint64_t>(link.receive_area().data()));
  mine.set_data_key(link.region_.get()->rkey);
  mine.set_area_bytes(link.receive_area().size());
  mine.mutable_parameters()->insert(params.effective().begin(), params.effective().end());
  return link;
}

Result<MemoryRegionHandle> Link::register_memory(std::span<std::byte> memory,
                                                 bool relaxed_ordering) const {
  const Verbs& verbs = loaded_verbs();
  errno = 0;
  ibv_mr* region = nullptr;
  if (!relaxed_ordering) {
    region = verbs.reg_mr(domain_.get(), memory.data(), memory.size(), kWriteAccess);
  } else {
    if (verbs.reg_mr_iova2 == nullptr)
      return fail(
          Code::kUnimplemented,
          fmt::format("parameter relaxed_ordering: {} has no ibv_reg_mr_iova2; rdma-core 28 "
                      "or later has it",
                      verbs.path));
    region = verbs.reg_mr_iova2(domain_.get(), memory.data(), memory.size(),
                                reinterpret_cast<std::uint64_t>(memory.data()),
                                kWriteAccess | IBV_ACCESS_RELAXED_ORDERING);
  }
  if (region == nullptr)
    return tl::unexpected(pinning_error(device_.endpoint(), memory.size(), errno));
  return MemoryRegionHandle(region);
}

Status Link::create_queues(std::uint32_t inline_wanted, std::uint32_t depth) {
  const auto limit = static_cast<std::uint32_t>(device_.attributes().max_qp_wr);
  if (depth > limit)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: parameter depth: the device takes at most {} requests in a queue",
                            device_.endpoint(), limit - kSpareDepth));
  errno = 0;
  completions_ = CompletionQueueHandle(
      loaded_verbs().create_cq(device_.context(), static_cast<int>(depth), nullptr, nullptr, 0));
  if (!completions_)
    return fail(Code::kInternal, fmt::format("{}: make a completion queue of {}: {}",
                                             device_.endpoint(), depth, errno_words(errno)));
  // Drivers tell by refusing how much they send inline.
  for (std::uint32_t inline_bytes = inline_wanted;; inline_bytes /= 2) {
    Status created = create_queue_pair(inline_bytes, depth);
    if (created || inline_bytes == 0 || (errno != EINVAL && errno != ENOMEM)) return created;
  }
}

Status Link::create_queue_pair(std::uint32_t inline_bytes, std::uint32_t depth) {
  ibv_qp_init_attr init{};
  init.send_cq = completions_.get();
  init.recv_cq = completions_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap.max_send_wr = depth;
  init.cap.max_recv_wr = 1;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = inline_bytes;
  errno = 0;
  queue_pair_ = QueuePairHandle(loaded_verbs().create_qp(domain_.get(), &init));
  if (!queue_pair_) {
    const int error = errno;
    auto failed = fail(Code::kInternal, fmt::format("{}: make a queue pair of depth {}: {}",
                                                    device_.endpoint(), depth, errno_words(error)));
    errno = error;  // the caller looks at it
    return failed;
  }
  inline_bytes_ = std::min(inline_bytes, init.cap.max_inline_data);
  return {};
}

Status Link::connect(const Context& context, Group& group) {
  RG_CHECK(group.size() == 2);
  const auto all = RG_TRY(group.exchange(mine_.SerializeAsString(), seconds_left(context)));
  const std::uint32_t other = 1 - group.rank();
  const Status here = [&]() -> Status {
    if (!peer_.ParseFromString(all[other]) || peer_.gid().size() != sizeof(ibv_gid))
      return fail(Code::kInternal, fmt::format("rank {}: its address is no address", other));
    queue_ = SendQueue(
        queue_pair_.get(), completions_.get(),
        fmt::format("{}: write to rank {} ({})", device_.endpoint(), other, peer_.endpoint()));
    RG_TRY_OK(check_peer(context));
    return bring_up(context);
  }();
  return agree(group, here, seconds_left(context));
}

Status Link::check_peer(const Context& context) const {
  const auto differ = [this](std::string_view what, const auto& mine, const auto& theirs) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} and {} do not fit: {} is {} here and {} there", device_.endpoint(),
                            peer_.endpoint(), what, mine, theirs));
  };
  if (peer_.link_layer() != mine_.link_layer())
    return differ("the link layer", mine_.link_layer(), peer_.link_layer());
  if (peer_.gid_type() != mine_.gid_type())
    return differ("the GID type", mine_.gid_type(), peer_.gid_type());
  for (const auto& [name, value] : context.params.effective()) {
    const auto theirs = peer_.parameters().find(name);
    if (is_own_choice(name)) continue;
    if (theirs == peer_.parameters().end() || theirs->second != value)
      return fail(
          Code::kInvalidArgument,
          fmt::format("parameter {} is \"{}\" at {} but \"{}\" at {}; both ranks take the "
                      "same parameters",
                      name, value, device_.endpoint(),
                      theirs == peer_.parameters().end() ? "" : theirs->second, peer_.endpoint()));
  }
  return {};
}

Status Link::modify(ibv_qp_attr& attributes, int mask, std::string_view to) const {
  const int error = loaded_verbs().modify_qp(queue_pair_.get(), &attributes, mask);
  if (error == 0) return {};
  ibv_gid theirs{};
  peer_.gid().copy(reinterpret_cast<char*>(theirs.raw), sizeof theirs.raw);
  return fail(error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH
                  ? Code::kUnavailable
                  : Code::kInternal,
              fmt::format("{}: queue pair to {}: {}; from GID {} ({}) to {} ({}) at {}",
                          device_.endpoint(), to, errno_words(error), gid_words(gid_.gid),
                          mine_.gid_type(), gid_words(theirs), peer_.gid_type(), peer_.endpoint()));
}

Status Link::bring_up(const Context& context) {
  const Params& params = context.params;
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = device_.port();
  init.qp_access_flags = kWriteAccess;
  RG_TRY_OK(
      modify(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT"));

  const unsigned mtu = std::min(mine_.mtu_bytes(), peer_.mtu_bytes());
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = mtu_of_bytes(mtu);
  receive.dest_qp_num = peer_.queue_pair_number();
  receive.rq_psn = peer_.packet_sequence();
  receive.max_dest_rd_atomic = 1;
  receive.min_rnr_timer = kRnrTimer;
  receive.ah_attr.port_num = device_.port();
  receive.ah_attr.dlid = static_cast<std::uint16_t>(peer_.lid());
  // InfiniBand needs the global route only across subnets, which a hand-picked GID asks for.
  if (device_.is_ethernet() || params.integer("gid_index") >= 0) {
    receive.ah_attr.is_global = 1;
    receive.ah_attr.grh.hop_limit = kHopLimit;
    receive.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_.index);
    peer_.gid().copy(reinterpret_cast<char*>(receive.ah_attr.grh.dgid.raw), sizeof(ibv_gid));
  }
  RG_TRY_OK(modify(receive,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                   "RTR"));

  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = mine_.packet_sequence();
  send.timeout = static_cast<std::uint8_t>(params.integer("qp_timeout"));
  send.retry_cnt = static_cast<std::uint8_t>(params.integer("retry_count"));
  send.rnr_retry = kRnrRetry;
  send.max_rd_atomic = 1;
  RG_TRY_OK(modify(send,
                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                   "RTS"));
  mtu_bytes_ = mtu;
  return {};
}

void Link::report_facts(Reporter& reporter) const {
  const Verbs& verbs = loaded_verbs();
  reporter.fact("memory", "host");
  reporter.fact("path", "host");
  reporter.fact("device", device_.name());
  reporter.fact("port", std::to_string(device_.port()));
  reporter.fact("peer", peer_.endpoint());
  reporter.fact("driver", device_.driver());
  reporter.fact("firmware", device_.attributes().fw_ver);
  reporter.fact("link_layer", mine_.link_layer());
  reporter.fact("gid", gid_words(gid_.gid));
  reporter.fact("gid_index", std::to_string(gid_.index));
  reporter.fact("gid_type", mine_.gid_type());
  reporter.fact("mtu_bytes", std::to_string(mtu_bytes_));
  reporter.fact("inline_bytes", std::to_string(inline_bytes_));
  reporter.fact("port_rate_bits_per_second",
                fmt::format("{:.0f}", port_rate_bits_per_second(device_.port_attributes())));
  reporter.fact("ibverbs_path", verbs.path);
  reporter.fact("ibverbs_version", verbs.version);
  if (verbs.synthetic) reporter.fact("synthetic", "true");
}

WriteRequest Link::write_request(std::size_t bytes) const {
  return write_request(send_area().data(), region_.get()->lkey, bytes, peer_.data_address(),
                       peer_.data_key());
}

WriteRequest Link::write_request(const void* from, std::uint32_t local_key, std::size_t bytes,
                                 std::uint64_t to, std::uint32_t remote_key) const {
  WriteRequest request;
  request.sge.addr = reinterpret_cast<std::uint64_t>(from);
  request.sge.length = static_cast<std::uint32_t>(bytes);
  request.sge.lkey = local_key;
  request.wr.num_sge = 1;
  request.wr.opcode = IBV_WR_RDMA_WRITE;
  request.wr.wr.rdma.remote_addr = to;
  request.wr.wr.rdma.rkey = remote_key;
  if (bytes <= inline_bytes_) request.flags = IBV_SEND_INLINE;
  return request;
}

std::size_t Link::common_area_bytes() const {
  return std::min<std::size_t>(mine_.area_bytes(), peer_.area_bytes());
}
std::span<std::byte> Link::send_area() const { return buffer_.span().first(buffer_.size() / 2); }
std::span<std::byte> Link::receive_area() const { return buffer_.span().last(buffer_.size() / 2); }

}  // namespace railgauge::verbs
