// Orders between the two ranks inside the fabric: one 8-byte word, written by RDMA over a reliable
// queue pair of its own, outside every timed region. So an adaptive number of batches costs no
// rendezvous, whatever the lanes' transport is, and a side that gives up can say so although its
// lanes failed. A word is read before the next one comes the same way. They also compare the ranks'
// clocks, as NTP does.
#pragma once

#include <cstdint>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

enum class Order : std::uint8_t {
  kNone,
  // Answer `count` messages of size number `size_index`; the target says kReady first.
  kPingPong,
  kReady,
  // Compare the content of the last message.
  kVerify,
  kVerified,
  // Wrong bytes: the details come through the group.
  kMismatch,
  // The time of the other rank's clock: asked with any value, answered with the time.
  kTime,
  // Begin of the common interval, by the target's clock.
  kBegin,
  // The last word; `value` messages were posted.
  kDone,
};

// One order. Written by one RDMA write of 8 bytes.
struct ControlWord {
  std::uint32_t count = 0;
  std::uint16_t size_index = 0;
  Order order = Order::kNone;
  // Last in memory: when it has changed, the rest is there.
  std::uint8_t sequence = 0;

  // A number of 48 bits instead of count and size_index.
  static ControlWord of(Order order, std::uint64_t value) {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint16_t>(value >> 32U), order};
  }
  // The number that of() stored.
  [[nodiscard]] std::uint64_t value() const { return count | std::uint64_t{size_index} << 32U; }
};
static_assert(sizeof(ControlWord) == 8);

// Used by one thread at a time; a word waits until it is read.
class ControlChannel {
 public:
  // Makes the queue pair, registers the words and gives the link their addresses. Called before
  // link.connect(); the link outlives it.
  static Result<ControlChannel> open(Link& link);
  // After link.connect(). Both ranks return well or neither does.
  Status connect(const Context& context, Link& link, Group& group);

  // All: false when the queue failed; the link's waiting says why.
  [[nodiscard]] bool send(ControlWord word);
  // Waits for the next word.
  [[nodiscard]] bool receive(ControlWord& word);
  // Whether receive() would return at once.
  [[nodiscard]] bool has_word() const;

  // Reports to the peer, whatever it waits for, that this side gives up, as far as the queue still
  // can.
  void abort();

 private:
  // The byte that changes when a word has arrived.
  [[nodiscard]] const std::uint8_t* incoming_sequence() const;

  // Incoming word, abort flag, outgoing word; the adapter reads and writes it.
  HostBuffer buffer_;
  // Never relaxed: the word must not pass the data before it.
  MemoryRegionHandle region_;
  CompletionQueueHandle completions_;
  QueuePairHandle queue_pair_;
  SendQueue queue_;
  // The write of an outgoing word, built once.
  Request request_;
  Request abort_request_;
  // Sequence numbers of the last word in either direction; they wrap.
  std::uint8_t sent_ = 0;
  std::uint8_t received_ = 0;
};

// The same moment on either rank's clock.
struct CommonBegin {
  std::uint64_t ticks = 0;    // of this rank's clock
  double uncertainty_ns = 0;  // half the shortest round trip; on rank 0
};

// Rank 0 sets the moment, `lead_ns` after it knows the offset; both ranks call. The offset is taken
// at the exchange with the shortest round trip. False when a queue failed.
[[nodiscard]] bool agree_on_begin(ControlChannel& control, const TickClock& clock,
                                  std::uint32_t rank, double lead_ns, CommonBegin& begin);

}  // namespace railgauge::verbs
