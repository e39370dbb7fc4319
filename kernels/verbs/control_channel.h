// Orders between the two ranks inside the connection: one 8-byte word, written by RDMA beside the
// data, outside every timed region. So an adaptive number of batches costs no rendezvous. The ranks
// alternate: the initiator orders, the target answers; a word is read before the next is written.
#pragma once

#include <cstdint>

#include "kernels/core/result.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/verbs/handles.h"
#include "kernels/verbs/link.h"

namespace railgauge::verbs {

enum class Order : std::uint8_t {
  kNone,
  kPingPong,  // answer `count` writes of size number `size_index`; the target says kReady first
  kReady,
  kVerify,  // compare what the last ball brought
  kVerified,
  kMismatch,  // wrong bytes: the details come through the group
  kDone,
};

struct ControlWord {
  std::uint32_t count = 0;
  std::uint16_t size_index = 0;
  Order order = Order::kNone;
  std::uint8_t sequence = 0;  // last in memory: when it has changed, the rest is there
};
static_assert(sizeof(ControlWord) == 8);

class ControlChannel {
 public:
  // Registers the words and tells the link where they are. Before link.connect().
  static Result<ControlChannel> open(Link& link);
  // After link.connect().
  void connect(Link& link);

  // Both: false when the queue failed.
  [[nodiscard]] bool send(SendQueue& queue, Order order, std::size_t size_index,
                          std::uint64_t count);
  [[nodiscard]] bool receive(SendQueue& queue, ControlWord& word);

  // Tells the peer, whatever it waits for, that this side gives up; as well as the queue still can.
  void abort(SendQueue& queue);

 private:
  HostBuffer buffer_;
  MemoryRegionHandle region_;  // never relaxed: the word must not pass the data before it
  WriteRequest request_;
  WriteRequest abort_request_;
  std::uint8_t sent_ = 0;
  std::uint8_t received_ = 0;
};

}  // namespace railgauge::verbs
