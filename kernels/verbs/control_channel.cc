#include "kernels/verbs/control_channel.h"

#include <cstring>

namespace railgauge::verbs {
namespace {

constexpr std::size_t kOutgoing = 64;  // a cache line after the incoming word

}  // namespace

Result<ControlChannel> ControlChannel::open(Link& link) {
  ControlChannel channel;
  channel.buffer_ = RG_TRY(HostBuffer::allocate(kOutgoing + sizeof(ControlWord)));
  channel.region_ = RG_TRY(link.register_memory(channel.buffer_.span(), false));
  link.mine().set_control_address(reinterpret_cast<std::uint64_t>(channel.buffer_.data()));
  link.mine().set_control_key(channel.region_.get()->rkey);
  return channel;
}

void ControlChannel::connect(const Link& link) {
  request_ = link.write_request(buffer_.data() + kOutgoing, region_.get()->lkey,
                                sizeof(ControlWord), link.peer().control_address(),
                                link.peer().control_key());
}

bool ControlChannel::send(SendQueue& queue, Order order, std::size_t size_index,
                          std::uint64_t count) {
  const ControlWord word{static_cast<std::uint32_t>(count), static_cast<std::uint16_t>(size_index),
                         order, ++sent_};
  std::memcpy(buffer_.data() + kOutgoing, &word, sizeof word);
  return queue.post(request_, true) && queue.wait_retired();
}

bool ControlChannel::receive(SendQueue& queue, ControlWord& word) {
  const auto* sequence = reinterpret_cast<const std::uint8_t*>(buffer_.data()) +
                         offsetof(ControlWord, sequence);
  if (!queue.wait_for_byte(sequence, ++received_)) return false;
  std::memcpy(&word, buffer_.data(), sizeof word);
  return true;
}

}  // namespace railgauge::verbs
