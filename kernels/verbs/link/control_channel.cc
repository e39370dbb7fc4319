#include "kernels/verbs/link/control_channel.h"

#include <array>
#include <cstring>

#include "kernels/verbs/transport/agreement.h"

namespace railgauge::verbs {
namespace {

// The memory: the incoming word and its abort flag; a cache line on, the outgoing ones.
constexpr std::size_t kAbortFlag = sizeof(ControlWord);
constexpr std::size_t kOutgoing = 64;
constexpr std::size_t kBytes = 2 * kOutgoing;
// Sends in flight: a word, an abort, and spare.
constexpr std::uint32_t kDepth = 4;

}  // namespace

// The queue pair is reliable and has a completion queue of its own, so its completions never mix
// with those of the timed lanes.
Result<ControlChannel> ControlChannel::open(Link& link) {
  ControlChannel channel;
  channel.buffer_ = RG_TRY(HostBuffer::allocate(kBytes));
  channel.region_ = RG_TRY(link.register_memory(channel.buffer_.span(), IBV_ACCESS_REMOTE_WRITE));
  channel.completions_ = RG_TRY(link.make_completions(kDepth, nullptr));
  ibv_qp_init_attr init{};
  init.send_cq = channel.completions_.get();
  init.recv_cq = channel.completions_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap.max_send_wr = kDepth;
  init.cap.max_recv_wr = 1;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  channel.queue_pair_ = RG_TRY(make_queue_pair(link.device(), link.domain(), init));
  const std::array raw{channel.queue_pair_.get()};
  channel.queue_ = SendQueue(link.waiting(), {channel.completions_.get(), nullptr}, raw);
  link.mine().set_control_queue_pair(channel.queue_pair_.get()->qp_num);
  link.mine().set_control_address(reinterpret_cast<std::uint64_t>(channel.buffer_.data()));
  link.mine().set_control_key(channel.region_.get()->rkey);
  return channel;
}

// The control queue pair takes the lane number after the last data lane; that number selects its
// flow label and its connection.
Status ControlChannel::connect(const Context& context, Link& link, Group& group) {
  const PeerAddress& peer = link.peer();
  const Status here = bring_up(link.introduction(context.params, IBV_ACCESS_REMOTE_WRITE),
                               queue_pair_.get(), peer.control_queue_pair(), link.options().lanes);
  *(buffer_.data() + kOutgoing + kAbortFlag) = std::byte{1};
  request_ = write_from(kOutgoing, sizeof(ControlWord), peer.control_address(), peer.control_key());
  abort_request_ = write_from(kOutgoing + kAbortFlag, 1, peer.control_address() + kAbortFlag,
                              peer.control_key());
  link.waiting().watch_abort(reinterpret_cast<const std::uint8_t*>(buffer_.data()) + kAbortFlag);
  return agree(group, here, seconds_left(context));
}

// A write of `bytes` at `offset` of this channel's memory to the peer's address `to`.
Request ControlChannel::write_from(std::size_t offset, std::size_t bytes, std::uint64_t to,
                                   std::uint32_t remote_key) const {
  Request request;
  request.sge.addr = reinterpret_cast<std::uint64_t>(buffer_.data() + offset);
  request.sge.length = static_cast<std::uint32_t>(bytes);
  request.sge.lkey = region_.get()->lkey;
  request.wr.num_sge = 1;
  request.wr.opcode = IBV_WR_RDMA_WRITE;
  request.wr.wr.rdma.remote_addr = to;
  request.wr.wr.rdma.rkey = remote_key;
  return request;
}

void ControlChannel::abort() {
  // Its result changes nothing: the peer's stall limit covers the loss.
  static_cast<void>(queue_.post(abort_request_, true));
}

// The sequence number is the word's last byte, and adapters place the last byte last.
bool ControlChannel::send(ControlWord word) {
  word.sequence = ++sent_;
  std::memcpy(buffer_.data() + kOutgoing, &word, sizeof word);
  return queue_.post(request_, true) && queue_.wait_retired();
}

// Sequence numbers wrap at 256. That is safe because a word is read before the next one comes.
bool ControlChannel::receive(ControlWord& word) {
  if (!queue_.wait_for_byte(incoming_sequence(), ++received_)) return false;
  std::memcpy(&word, buffer_.data(), sizeof word);
  return true;
}

bool ControlChannel::has_word() const {
  return __atomic_load_n(incoming_sequence(), __ATOMIC_ACQUIRE) ==
         static_cast<std::uint8_t>(received_ + 1);
}

const std::uint8_t* ControlChannel::incoming_sequence() const {
  return reinterpret_cast<const std::uint8_t*>(buffer_.data()) + offsetof(ControlWord, sequence);
}

}  // namespace railgauge::verbs
