#include "kernels/verbs/control_channel.h"

#include <cstring>

namespace railgauge::verbs {
namespace {

// The memory: the incoming word and its abort flag; a cache line on, the outgoing ones.
constexpr std::size_t kAbortFlag = sizeof(ControlWord);
constexpr std::size_t kOutgoing = 64;
constexpr std::size_t kBytes = 2 * kOutgoing;

}  // namespace

Result<ControlChannel> ControlChannel::open(Link& link) {
  ControlChannel channel;
  channel.buffer_ = RG_TRY(HostBuffer::allocate(kBytes));
  channel.region_ = RG_TRY(link.register_memory(channel.buffer_.span(), false));
  link.mine().set_control_address(reinterpret_cast<std::uint64_t>(channel.buffer_.data()));
  link.mine().set_control_key(channel.region_.get()->rkey);
  return channel;
}

void ControlChannel::connect(Link& link) {
  request_ =
      link.write_request(buffer_.data() + kOutgoing, region_.get()->lkey, sizeof(ControlWord),
                         link.peer().control_address(), link.peer().control_key());
  std::byte* flag = buffer_.data() + kOutgoing + kAbortFlag;
  *flag = std::byte{1};
  abort_request_ =
      link.write_request(flag, region_.get()->lkey, 1, link.peer().control_address() + kAbortFlag,
                         link.peer().control_key());
  link.queue().watch_abort(reinterpret_cast<const std::uint8_t*>(buffer_.data()) + kAbortFlag);
}

void ControlChannel::abort(SendQueue& queue) {
  // Its fate changes nothing: the peer's stall limit stands behind it.
  static_cast<void>(queue.post(abort_request_, true));
}

bool ControlChannel::send(SendQueue& queue, Order order, std::size_t size_index,
                          std::uint64_t count) {
  const ControlWord word{static_cast<std::uint32_t>(count), static_cast<std::uint16_t>(size_index),
                         order, ++sent_};
  std::memcpy(buffer_.data() + kOutgoing, &word, sizeof word);
  return queue.post(request_, true) && queue.wait_retired();
}

bool ControlChannel::receive(SendQueue& queue, ControlWord& word) {
  const auto* sequence =
      reinterpret_cast<const std::uint8_t*>(buffer_.data()) + offsetof(ControlWord, sequence);
  if (!queue.wait_for_byte(sequence, ++received_)) return false;
  std::memcpy(&word, buffer_.data(), sizeof word);
  return true;
}

}  // namespace railgauge::verbs
