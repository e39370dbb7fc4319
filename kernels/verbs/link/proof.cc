#include "kernels/verbs/link/proof.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/sampling.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/transport/queue_pair.h"

namespace railgauge::verbs {
namespace {

// Some pages of a GPU's memory, less than the smallest message limit of any port.
constexpr std::size_t kMostBytes = 64U << 10U;

std::uint64_t seed_of(std::uint32_t rank) { return 0x70726f6f66ULL + rank; }

}  // namespace

Result<Proof> Proof::open(Link& link) {
  Proof proof;
  proof.send_completions_ = RG_TRY(link.make_completions(1, nullptr));
  proof.receive_completions_ = RG_TRY(link.make_completions(1, nullptr));
  ibv_qp_init_attr init{};
  init.send_cq = proof.send_completions_.get();
  init.recv_cq = proof.receive_completions_.get();
  init.cap.max_send_wr = 1;
  init.cap.max_recv_wr = 1;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  proof.queue_pair_ = RG_TRY(link.make_beside(init));
  const std::array raw{proof.queue_pair_.get()};
  proof.sends_ =
      SendQueue(link.waiting(), {proof.send_completions_.get(), nullptr}, raw, !link.is_ordered());
  proof.receives_ =
      ReceiveQueue(link.waiting(), {proof.receive_completions_.get(), nullptr}, raw, nullptr);
  link.mine().set_proof_queue_pair(proof.queue_pair_.get()->qp_num);
  return proof;
}

// The lane number after the control channel's.
Status Proof::connect(const Context& context, Link& link) {
  address_ =
      RG_TRY(link.join_beside(link.introduction(context.params, 0), queue_pair_.get(),
                              link.peer().proof_queue_pair(), link.options().lanes + 1, sends_));
  return {};
}

Status Proof::prepare(Link& link) {
  Memory& memory = link.memory();
  RG_TRY_OK(memory.clear(memory.size() / 2, bytes_));
  if (receives_.fill({.bytes = bytes_}, link.receive_area(), link.local_key(), 1)) return {};
  return tl::unexpected(link.waiting().failure());
}

Status Proof::transfer(Link& link) {
  Request request;
  request.sge.addr = reinterpret_cast<std::uint64_t>(link.send_area().data());
  request.sge.length = static_cast<std::uint32_t>(bytes_);
  request.sge.lkey = link.local_key();
  request.wr.num_sge = 1;
  request.wr.opcode = IBV_WR_SEND;
  if (sends_.post(request, true) && sends_.wait_retired() && receives_.wait_one(sends_)) return {};
  return tl::unexpected(link.waiting().failure());
}

// Both receives are posted before either send.
Status Proof::run(const Context& context, Link& link, Group& group) {
  bytes_ = std::min(link.common_area_bytes(), kMostBytes);
  if (const std::size_t limit = link.device().port_attributes().max_msg_sz; limit != 0)
    bytes_ = std::min(bytes_, limit);  // EFA's is that of a few packets
  if (bytes_ == 0) return {};
  link.waiting().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                            context.params.duration_ns("stall_timeout"));
  Memory& memory = link.memory();
  const Status filled = memory.fill(0, bytes_, seed_of(group.rank()));
  RG_TRY_OK(agree<PeerStatus>(group, filled ? prepare(link) : filled, seconds_left(context)));
  const Status here = [&]() -> Status {
    RG_TRY_OK(transfer(link));
    const auto wrong = RG_TRY(
        memory.difference(memory.size() / 2, bytes_, seed_of(1 - group.rank()), memory.size() / 2));
    if (!wrong) return {};
    return fail(Code::kDataLoss,
                fmt::format("{}: verify the proof message from {}: {}", link.device().endpoint(),
                            link.peer().endpoint(), *wrong));
  }();
  RG_TRY_OK(agree<PeerStatus>(group, here, seconds_left(context)));
  RG_TRY_OK(memory.clear(0, bytes_));
  return memory.clear(memory.size() / 2, bytes_);
}

}  // namespace railgauge::verbs
