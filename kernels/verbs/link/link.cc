#include "kernels/verbs/link/link.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/units.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/proof.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// The choices that each of the two ranks makes for itself.
bool is_own_choice(const std::string& parameter) {
  return parameter == "gid_index" || parameter == "pkey_index" || parameter == "cm_address" ||
         parameter == "gpu" || parameter == "devices";
}

// 24 bits, as the packet header holds them.
std::uint32_t first_packet_sequence() {
  // Not the one of the connection before, so that its late packets do not fit.
  const auto mixed =
      static_cast<std::uint64_t>(monotonic_now_ns()) ^ static_cast<std::uint64_t>(getpid()) << 12U;
  return static_cast<std::uint32_t>(mixed) & 0xffffffU;
}

}  // namespace

// Pins the thread before it allocates, so that the areas are on the adapter's NUMA node.
Result<std::unique_ptr<Link>> Link::open(const Context& context, const Options& options) {
  std::unique_ptr<Link> link(new Link);
  link->options_ = options;
  link->device_ = RG_TRY(Device::open(context.endpoint));
  if (options.ordering == Ordering::kRelaxedIfPossible)
    link->options_.ordering =
        loaded_verbs().reg_mr_iova2 != nullptr ? Ordering::kRelaxed : Ordering::kStrict;
  if (options.pins) link->pinned_ = pin_near(link->device_.numa_node(), link->device_.name());
  link->addressing_ = RG_TRY(choose_addressing(link->device_, context.params));
  RG_TRY_OK(link->choose_mtu(context.params));
  if (options.transport == Transport::kSrd) {
    if (options.shares_receives)
      return invalid("parameter srq: transport SRD has no shared receive queue; leave it out");
    link->srd_ = RG_TRY(Srd::open(link->device_));
    RG_TRY_OK(link->srd_->check(link->device_, link->operation(), options.largest_bytes));
  }
  if (aims_by_lane(options.transport)) link->options_.posts_extended = true;
  RG_TRY_OK(link->check_sizes(link->mtu_bytes_));
  RG_TRY_OK(link->make_memory());
  RG_TRY_OK(link->make_queues());
  RG_TRY_OK(link->make_lanes());
  if (RG_TRY(Connector::is_wanted(link->device_, context.params, options.transport)))
    link->connector_ = RG_TRY(
        Connector::open(link->device_, link->addressing_, context.params, options.cm_address));
  if (options.proves) link->proof_ = std::make_unique<Proof>(RG_TRY(Proof::open(*link)));
  link->describe(context.params);
  return link;
}

Link::~Link() = default;

// The path MTU that this side proposes; bring-up takes the smaller of both.
Status Link::choose_mtu(const Params& params) {
  const unsigned active = verbs::mtu_bytes(device_.port_attributes().active_mtu);
  const auto wanted = static_cast<unsigned>(std::stoul(params.text("mtu")));
  if (wanted > active)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: parameter mtu: {} is above the port's active MTU of {}; raise the "
                            "netdev's or the fabric's MTU or ask for less",
                            device_.endpoint(), wanted, active));
  mtu_bytes_ = wanted == 0 ? active : wanted;
  return {};
}

// The largest message: a datagram is one packet.
Status Link::check_sizes(std::size_t mtu_bytes) const {
  if (operation().is_atomic() && device_.attributes().atomic_cap == IBV_ATOMIC_NONE)
    return fail(Code::kUnimplemented,
                fmt::format("{}: the device has no atomic operations", device_.endpoint()));
  // EFA's is that of a send; its reads and writes have one of their own (srd.h).
  const bool has_own_limit = srd_ && operation().is_aimed();
  const std::size_t port_limit = has_own_limit ? 0 : device_.port_attributes().max_msg_sz;
  if (options_.transport == Transport::kUd && options_.largest_bytes > mtu_bytes)
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: parameter sizes: {} is above the path MTU of {} bytes, which is "
                    "all that a UD message holds",
                    device_.endpoint(), canonical_bytes(options_.largest_bytes), mtu_bytes));
  if (port_limit != 0 && options_.largest_bytes > port_limit)
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: parameter sizes: {} is above the port's largest message of {} "
                    "bytes",
                    device_.endpoint(), canonical_bytes(options_.largest_bytes), port_limit));
  return {};
}

// The remote access that queue pairs and memory regions permit.
int Link::granted_access() const {
  // iWARP answers a read by writing into its sink, which must let it.
  const bool is_sink = operation().verb == Verb::kRead && device_.is_iwarp();
  return operation().target_access | options_.extra_access |
         (is_sink ? IBV_ACCESS_REMOTE_WRITE : 0);
}

// One region over both areas. Who uses the GPU is read before this process takes a context there
// and becomes a user itself.
Status Link::make_memory() {
  errno = 0;
  domain_ = ProtectionDomainHandle(loaded_verbs().alloc_pd(device_.context()));
  if (!domain_)
    return fail(Code::kInternal, fmt::format("{}: make a protection domain: {}", device_.endpoint(),
                                             errno_words(errno)));
  const std::size_t area_bytes = round_up_to_pages(options_.area_bytes + grh_bytes());
  const bool on_gpu = options_.memory.kind == MemoryKind::kCuda;
  auto users = on_gpu ? gpu::gpu_usage() : std::vector<gpu::GpuUsage>();
  memory_ = std::make_unique<Memory>(RG_TRY(Memory::allocate(options_.memory, 2 * area_bytes)));
  if (on_gpu) gpus_.add(memory_->gpu(), std::move(users));
  registered_ = RG_TRY(register_all(device_, domain_.get(), *memory_,
                                    {.access = granted_access(),
                                     .relaxed_ordering = is_relaxed(),
                                     .on_demand = options_.on_demand,
                                     .path = options_.registration,
                                     .mapping = options_.dmabuf_mapping}));
  return {};
}

Result<MemoryRegionHandle> Link::register_memory(std::span<std::byte> memory, int access,
                                                 bool relaxed_ordering) const {
  return register_addresses(device_, domain_.get(), memory, access, relaxed_ordering);
}

Result<CompletionQueueHandle> Link::make_completions(std::uint32_t entries,
                                                     ibv_comp_channel* channel,
                                                     std::uint32_t vector) const {
  errno = 0;
  CompletionQueueHandle made(loaded_verbs().create_cq(device_.context(), static_cast<int>(entries),
                                                      nullptr, channel, static_cast<int>(vector)));
  if (!made)
    return tl::unexpected(pinning_error(
        fmt::format("{}: make a completion queue of {}", device_.endpoint(), entries), errno));
  return made;
}

// This side's address, as the peer needs it to connect, aim and verify.
void Link::describe(const Params& params) {
  const ibv_device_attr& device = device_.attributes();
  mine_.set_endpoint(device_.endpoint());
  mine_.set_link_layer(std::string(link_layer_words(device_.port_attributes().link_layer)));
  mine_.set_gid_type(std::string(gid_type_words(addressing_.gid.type)));
  mine_.set_gid(addressing_.gid.gid.raw, sizeof addressing_.gid.gid.raw);
  mine_.set_lid(device_.port_attributes().lid);
  for (const QueuePairHandle& lane : queue_pairs_) mine_.add_queue_pair_numbers(lane.get()->qp_num);
  if (xrc_) xrc_->describe(mine_);
  mine_.set_packet_sequence(first_packet_sequence());
  mine_.set_mtu_bytes(mtu_bytes_);
  mine_.set_data_address(reinterpret_cast<std::uint64_t>(receive_area().data()));
  mine_.set_source_address(reinterpret_cast<std::uint64_t>(send_area().data()));
  mine_.set_data_key(registered_.region.get()->rkey);
  mine_.set_area_bytes(receive_area().size());
  mine_.set_memory(std::string(memory_words(memory_->kind())));
  mine_.set_path(registered_.path);
  // Writes and sends start none; otherwise the device's maximum, or fewer where the task says so.
  const auto at_least_one = [](int value) {
    return static_cast<std::uint32_t>(std::max(1, value));
  };
  const std::uint32_t most = operation().fetches ? at_least_one(device.max_qp_init_rd_atom) : 1;
  mine_.set_outstanding_reads(options_.outstanding == 0 ? most
                                                        : std::min(most, options_.outstanding));
  mine_.set_outstanding_answers(operation().fetches ? at_least_one(device.max_qp_rd_atom) : 1);
  mine_.set_line_rate_bits_per_second(device_.line_rate_bits_per_second());
  if (connector_) connector_->describe(mine_);
  mine_.mutable_parameters()->insert(params.effective().begin(), params.effective().end());
}

// The exchange is the first moment at which both ranks' parameters and ports are known together.
// Errors of either rank end both.
Status Link::connect(const Context& context, Group& group) {
  RG_CHECK(group.size() == 2);
  GpuWatch::describe(mine_);  // now that every GPU of this rank is known
  const auto all = RG_TRY(group.exchange(mine_.SerializeAsString(), seconds_left(context)));
  Status here = meet(context, group, all[1 - group.rank()]);
  if (dc_) {
    RG_TRY_OK(meet_targets(context, group, here));
    here = Status();
  }
  if (here) here = bring_up_lanes(context);
  if (here && proof_) here = proof_->connect(context, *this);
  RG_TRY_OK(agree<PeerStatus>(group, here, seconds_left(context)));
  return proof_ ? prove(context, group) : Status();
}

Status Link::meet(const Context& context, Group& group, const std::string& theirs) {
  const std::uint32_t other = 1 - group.rank();
  if (!peer_.ParseFromString(theirs) || peer_.gid().size() != sizeof(ibv_gid))
    return fail(Code::kInternal, fmt::format("rank {}: its address is no address", other));
  waiting_.set_who(fmt::format("{}: {} {} rank {} ({})", device_.endpoint(), operation().words,
                               operation().way, other, peer_.endpoint()),
                   queue_pairs_.front().get());
  waiting_.watch_device(device_.context(), device_.name(), device_.port());
  RG_TRY_OK(check_peer(context));
  RG_TRY_OK(check_outstanding(context));
  RG_TRY_OK(gpus_.check(context, mine_, peer_));
  if (connector_) connector_->begin(group.rank(), context.deadline_monotonic_ns);
  return {};
}

Status Link::meet_targets(const Context& context, Group& group, const Status& met) {
  const Status here =
      met ? dc_->bring_up_targets(introduction(context.params, granted_access())) : met;
  PeerStatus told;
  if (here) dc_->describe(*told.mutable_targets());
  const auto all = RG_TRY(agree_on(group, here, std::move(told), seconds_left(context)));
  const PeerAddress& theirs = all[1 - group.rank()].targets();
  if (theirs.receiving_queue_pairs_size() != static_cast<int>(queue_pairs_.size()))
    return fail(
        Code::kInternal,
        fmt::format("{}: {} DC targets at {}, expected {}", device_.endpoint(),
                    theirs.receiving_queue_pairs_size(), peer_.endpoint(), queue_pairs_.size()));
  peer_.MergeFrom(theirs);
  return {};
}

// Rank 0 alone starts them. Fewer than asked for would be another measurement.
Status Link::check_outstanding(const Context& context) const {
  const std::uint32_t allowed = outstanding_reads(mine_, peer_);
  if (context.rank != 0 || options_.outstanding <= allowed) return {};
  return invalid("parameter outstanding: {} is above {}, which {} and {} allow",
                 options_.outstanding, allowed, device_.endpoint(), peer_.endpoint());
}

// The error names the mapping, since a wrong one is the likely cause.
Status Link::prove(const Context& context, Group& group) {
  Status proven = proof_->run(context, *this, group);
  proof_.reset();
  if (proven || registered_.mapping.empty()) return proven;
  return fail(proven.error().code,
              fmt::format("{}; {}: {} is registered by a dma-buf of mapping {} ({}); parameter "
                          "dmabuf_mapping takes another",
                          proven.error().message, device_.endpoint(), memory_->gpu().name(),
                          registered_.mapping, registered_.mapping_reason));
}

// Both ends must agree on link layer, GID type, way of connecting, parameters and number of queue
// pairs. kFailedPrecondition or kInvalidArgument names both values.
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
  const auto way = [](const PeerAddress& end) {
    return end.cm_address().empty() ? "exchange" : "rdma_cm";
  };
  if (peer_.cm_address().empty() != mine_.cm_address().empty())
    return differ("the way of connecting", way(mine_), way(peer_));
  for (const auto& [name, value] : context.params.effective()) {
    const auto theirs = peer_.parameters().find(name);
    if (is_own_choice(name)) continue;
    // A release without the parameter does what its default does.
    if (theirs == peer_.parameters().end() && context.params.is_default(name)) continue;
    if (theirs == peer_.parameters().end() || theirs->second != value)
      return fail(
          Code::kInvalidArgument,
          fmt::format("parameter {} is \"{}\" at {} but \"{}\" at {}; both ranks take the "
                      "same parameters",
                      name, value, device_.endpoint(),
                      theirs == peer_.parameters().end() ? "" : theirs->second, peer_.endpoint()));
  }
  if (peer_.queue_pair_numbers_size() != mine_.queue_pair_numbers_size())
    return differ("the number of queue pairs", mine_.queue_pair_numbers_size(),
                  peer_.queue_pair_numbers_size());
  if (peer_.receiving_queue_pairs_size() != mine_.receiving_queue_pairs_size())
    return differ("the number of queue pairs that receive", mine_.receiving_queue_pairs_size(),
                  peer_.receiving_queue_pairs_size());
  return check_sizes(std::min(mine_.mtu_bytes(), peer_.mtu_bytes()));
}

// Datagrams, DC and SRD also get an address handle.
Status Link::bring_up_lane(const Introduction& with, std::size_t lane) {
  const auto number = static_cast<int>(lane);
  ibv_qp* const queue_pair = queue_pairs_[lane].get();
  if (dc_)
    RG_TRY_OK(Dc::bring_up_initiator(with, queue_pair));
  else if (srd_)
    RG_TRY_OK(srd_->bring_up(with, queue_pair));
  else
    RG_TRY_OK(bring_up(
        with, queue_pair,
        xrc_ ? peer_.receiving_queue_pairs(number) : peer_.queue_pair_numbers(number), lane));
  if (xrc_) RG_TRY_OK(xrc_->bring_up_lane(with, lane));
  if (options_.transport == Transport::kUd || aims_by_lane(options_.transport))
    addresses_.push_back(RG_TRY(make_address(with, domain_.get(), lane)));
  if (dc_) sends_.aim(lane, dc_->remote(peer_, lane, queue_pair, addresses_[lane].get()));
  if (srd_)
    sends_.aim(lane, {.address = addresses_[lane].get(),
                      .number = peer_.queue_pair_numbers(number),
                      .key = kDatagramKey});
  return {};
}

// Each queue pair to RTS.
Status Link::bring_up_lanes(const Context& context) {
  const Introduction with = introduction(context.params, granted_access());
  for (std::size_t lane = 0; lane < queue_pairs_.size(); ++lane) {
    RG_TRY_OK(bring_up_lane(with, lane));
    if (options_.rate_limit_kbps > 0)
      RG_TRY_OK(limit_rate(device_, queue_pairs_[lane].get(), options_.rate_limit_kbps,
                           options_.burst_bytes));
  }
  mtu_bytes_ = std::min(mine_.mtu_bytes(), peer_.mtu_bytes());
  return {};
}

// Everything that a reader needs to compare this connection with another one.
void Link::report_facts(Reporter& reporter) const {
  const Verbs& verbs = loaded_verbs();
  report_memory(mine_, peer_, reporter);
  if (!memory_->is_host()) report_gpu(memory_->gpu(), reporter);
  if (!registered_.mapping.empty())
    reporter.fact("dmabuf_mapping",
                  fmt::format("{}: {}", registered_.mapping, registered_.mapping_reason));
  if (!registered_.refused.empty()) {
    reporter.fact("path_refused", registered_.refused);
    reporter.note("warning",
                  fmt::format("{}: {} registers the memory, because another path was "
                              "refused: {}",
                              device_.endpoint(), registered_.path, registered_.refused));
  }
  reporter.fact("device", device_.name());
  reporter.fact("port", std::to_string(device_.port()));
  reporter.fact("peer", peer_.endpoint());
  if (!pinned_.words.empty()) reporter.fact("numa", pinned_.words);
  reporter.fact("driver", device_.driver());
  reporter.fact("firmware", device_.attributes().fw_ver);
  reporter.fact("link_layer", mine_.link_layer());
  report_addressing(addressing_, reporter);
  reporter.fact("gid_type", mine_.gid_type());
  reporter.fact("mtu_bytes", std::to_string(mtu_bytes_));
  if (!operation().is_atomic()) reporter.fact("relaxed_ordering", is_relaxed() ? "on" : "off");
  reporter.fact("transport", std::string(transport_words(options_.transport)));
  if (dc_ || xrc_) reporter.fact("receive_queue", "one for all lanes, as the transport has it");
  if (dc_ || srd_) reporter.fact("transport_library", dc_ ? dc_->library() : srd_->library());
  reporter.fact("inline_bytes", std::to_string(inline_bytes_));
  if (options_.posts_extended) reporter.fact("post", "extended work requests, ibv_wr_*");
  if (options_.rate_limit_kbps > 0)
    reporter.fact("rate_limit", fmt::format("by the adapter, {} kb/s for each queue pair",
                                            options_.rate_limit_kbps));
  reporter.fact("connection", connector_ ? "rdma_cm" : "exchange");
  if (connector_) connector_->report_facts(reporter);
  if (operation().fetches && !srd_)
    reporter.fact("outstanding_reads", std::to_string(outstanding_reads(mine_, peer_)));
  reporter.fact("port_rate_bits_per_second",
                fmt::format("{:.0f}", device_.port_rate_bits_per_second()));
  reporter.fact("ibverbs_path", verbs.path);
  reporter.fact("ibverbs_version", verbs.version);
  if (verbs.synthetic || memory_->is_synthetic()) reporter.fact("synthetic", "true");
}

// The request is complete except for its id and signal flag. Inline data is copied at the post, so
// the CPU must be able to read it.
Request Link::request(std::size_t bytes, std::size_t lane) const {
  const Operation& does = operation();
  Request made;
  const auto& local = does.verb == Verb::kRead ? receive_area() : send_area();
  made.sge.addr = reinterpret_cast<std::uint64_t>(local.data());
  made.sge.length = static_cast<std::uint32_t>(bytes);
  made.sge.lkey = local_key();
  made.wr.num_sge = 1;
  made.wr.opcode = options_.immediate ? IBV_WR_SEND_WITH_IMM : does.opcode;
  if (has_immediate()) made.wr.imm_data = immediate();
  if (xrc_) made.wr.qp_type.xrc.remote_srqn = peer_.shared_receives();
  if (does.is_atomic()) {
    made.wr.wr.atomic.remote_addr = peer_.data_address();
    made.wr.wr.atomic.rkey = peer_.data_key();
    made.wr.wr.atomic.compare_add = does.verb == Verb::kFetchAdd ? 1 : 0;
    made.wr.wr.atomic.swap = 1;
  } else if (does.is_aimed()) {
    made.wr.wr.rdma.remote_addr =
        does.verb == Verb::kRead ? peer_.source_address() : peer_.data_address();
    made.wr.wr.rdma.rkey = peer_.data_key();
  } else if (options_.transport == Transport::kUd) {
    made.wr.wr.ud.ah = addresses_[lane].get();
    made.wr.wr.ud.remote_qpn = peer_.queue_pair_numbers(static_cast<int>(lane));
    made.wr.wr.ud.remote_qkey = kDatagramKey;
  }
  if (!does.fetches && bytes > 0 && bytes <= inline_bytes_) made.flags = IBV_SEND_INLINE;
  return made;
}

std::size_t Link::common_area_bytes() const {
  return std::min<std::size_t>(mine_.area_bytes(), peer_.area_bytes());
}
std::span<std::byte> Link::send_area() const { return memory_->span().first(memory_->size() / 2); }
std::span<std::byte> Link::receive_area() const {
  return memory_->span().last(memory_->size() / 2);
}

}  // namespace railgauge::verbs
