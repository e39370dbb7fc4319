// Orders between the two ranks inside the fabric: one 8-byte word, written by RDMA over a separate
// reliable queue pair, outside every timed region; by a send where the lanes are SRD's, whose
// devices have no connections and may lack RDMA. An adaptive number of batches thus needs no
// rendezvous with any transport of the lanes, and a side that gives up can report it even after its
// lanes failed. Each word is read before the next comes the same way. The words also compare the
// ranks' clocks, as NTP does.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

enum class Order : std::uint8_t {
  kNone,
  // Answer `count` messages of size number `size_index`; the target sends kReady first.
  kPingPong,
  kReady,
  // Compare the content of the last message.
  kVerify,
  kVerified,
  // Wrong bytes were found; the group carries the details.
  kMismatch,
  // Change what is sent: the warm-up is over.
  kRenew,
  // The proof phase of a size or a direction begins; kVerify compares each of its rounds.
  kProve,
  // A time query: any value asks, and the answer has the time of the other rank's clock.
  kTime,
  // The begin of the common interval, by the target's clock.
  kBegin,
  // The last word; `value` messages were posted.
  kDone,
  // This side gives up; of words that come by sends.
  kGivesUp,
};

// One order. Written by one RDMA write of 8 bytes.
struct ControlWord {
  std::uint32_t count = 0;
  std::uint16_t size_index = 0;
  Order order = Order::kNone;
  // Last in memory: once it has changed, the rest of the word is present.
  std::uint8_t sequence = 0;

  // Makes a word with a number of 48 bits in place of count and size_index.
  static ControlWord of(Order order, std::uint64_t value) {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint16_t>(value >> 32U), order};
  }
  // Returns the number that of() stored.
  [[nodiscard]] std::uint64_t value() const { return count | std::uint64_t{size_index} << 32U; }
};
static_assert(sizeof(ControlWord) == 8);

// For one thread at a time; a word waits until it is read.
class ControlChannel {
 public:
  // Makes the queue pair, registers the words and gives the link their addresses. Call before
  // link.connect(); the link outlives this object.
  static Result<ControlChannel> open(Link& link);
  // Call after link.connect(). Succeeds on both ranks or on neither.
  Status connect(const Context& context, Link& link, Group& group);

  // Sends a word. All bool calls return false when the queue failed; the link's waiting() has the
  // reason.
  [[nodiscard]] bool send(ControlWord word);
  // Waits for the next word.
  [[nodiscard]] bool receive(ControlWord& word);
  // Reports whether receive() would return at once.
  [[nodiscard]] bool has_word();

  // Reports to the peer, in any of its waits, that this side gives up, as far as the queue still
  // works.
  void abort();

 private:
  // The byte that changes when a word has arrived by RDMA.
  [[nodiscard]] const std::uint8_t* incoming_sequence() const;
  // For words by sends: posts the receive of a place; looks for words that came. False when the
  // queue failed.
  [[nodiscard]] bool give_receive(std::size_t place);
  [[nodiscard]] bool take_words();

  // Incoming words, abort flag, outgoing words; the adapter reads and writes it.
  HostBuffer buffer_;
  // Never relaxed ordering: the word must not overtake the data before it.
  MemoryRegionHandle region_;
  CompletionQueueHandle completions_;
  // For words by sends, as the address; empty where RDMA writes them.
  CompletionQueueHandle arrivals_;
  QueuePairHandle queue_pair_;
  AddressHandle address_;
  SendQueue queue_;
  // The write of an outgoing word, built once.
  Request request_;
  Request abort_request_;
  // Sequence numbers of the last word in either direction; they wrap.
  std::uint8_t sent_ = 0;
  std::uint8_t received_ = 0;
  // The next word, where it came by a send and was not read yet.
  std::optional<ControlWord> word_;
};

// The same moment by either rank's clock.
struct CommonBegin {
  std::uint64_t ticks = 0;    // of this rank's clock
  double uncertainty_ns = 0;  // half the shortest round trip; on rank 0
};

// Agrees on a moment `lead_ns` after rank 0 knows the clock offset, which comes from the exchange
// with the shortest round trip; both ranks call. False when a queue failed.
[[nodiscard]] bool agree_on_begin(ControlChannel& control, const TickClock& clock,
                                  std::uint32_t rank, double lead_ns, CommonBegin& begin);

}  // namespace railgauge::verbs
