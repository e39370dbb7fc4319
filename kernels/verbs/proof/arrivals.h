// The data that came in one round of a proof, and its comparison: messages in slots, and words that
// atomics changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/core/proof/proof_plan.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/slots.h"

namespace railgauge::verbs {

// The slots with the content of the messages from number `first` of the proof on; no message of a
// timed part has such content.
Slots numbered(Slots slots, std::uint64_t first);

// Content and places of a proof's messages.
struct ProofContent {
  std::size_t size_index = 0;
  std::uint32_t sender = 0;
  Slots slots{};
};

// One direction's, on the side where the data arrives. Not thread safe.
class Arrivals {
 public:
  // `link` and `clock` outlive this object.
  Arrivals(Link& link, const TickClock& clock, const ProofContent& content)
      : Arrivals(link, clock, content, {link.memory(), link.memory().size() / 2}) {
    takes_ = link.operation().takes_receive;
  }
  // For messages that somebody else takes out of the link into the slots of `area`.
  Arrivals(Link& link, const TickClock& clock, const ProofContent& content, const Area& area)
      : link_(link), clock_(clock), content_(content), area_(area) {}

  // Overwrites the slots, so that a message that does not come shows.
  Status clear();
  // Takes the round's messages, whose posts have completed, and compares them. Returns how many are
  // right: all of the round, or fewer on an unreliable transport. kDataLoss names the first wrong
  // one and its fault.
  Result<std::uint64_t> compare(const ProofRound& round);

 private:
  // Whether messages come into the slots of receives, in the order of those.
  [[nodiscard]] bool has_order() const { return takes_ && link_.operation().verb == Verb::kSend; }
  // The words of slot's difference from message `number`, in its first `bytes`.
  [[nodiscard]] Result<std::optional<std::string>> difference(std::size_t slot,
                                                              std::uint64_t number,
                                                              std::uint64_t bytes) const;
  [[nodiscard]] bool holds(std::size_t slot, std::uint64_t number) const;
  [[nodiscard]] bool is_cleared(std::size_t slot) const;
  // Takes receives until the round's are here, or nothing has come for a while.
  Status take(std::uint64_t messages);
  void wait_quiet() const;
  // The slot of the round's k-th message: receives have their order.
  [[nodiscard]] std::size_t slot_of(std::uint64_t k) const;
  Result<std::uint64_t> compare_all(const ProofRound& round);
  // All messages, each once, in any order.
  Result<std::uint64_t> compare_any_order(const ProofRound& round);
  // As far as messages came, in their order.
  Result<std::uint64_t> compare_in_order(const ProofRound& round);
  // As far as packets came, in their places.
  Result<std::uint64_t> compare_in_place(const ProofRound& round);
  // Whether all that is wrong in a slot is bytes of packets that did not come.
  [[nodiscard]] Result<bool> lacks_packets(std::size_t slot, std::uint64_t number) const;
  [[nodiscard]] tl::unexpected<Error> wrong(const ProofRound& round, std::uint64_t slot,
                                            const std::string& words) const;
  [[nodiscard]] tl::unexpected<Error> wrong(const ProofRound& round, const ProofFinding& finding,
                                            const std::string& words) const;

  Link& link_;
  const TickClock& clock_;
  ProofContent content_;
  Area area_;
  bool takes_ = false;
  std::vector<std::size_t> taken_;  // slots of sends, in the order of their arrival
};

// The words of all lanes, one lane's behind another's.
Layout proof_words_layout(const Link& link);

// The words of a proof's atomics, one direction's, on either side. Each begins with a value of its
// own and grows by one with each operation, so that the value which an operation fetches names word
// and round. Not thread safe.
class ProofWords {
 public:
  // `link` outlives this object.
  ProofWords(Link& link, const ProofContent& content) : link_(link), content_(content) {}

  // Gives the words their first values; on the target.
  Status target_begins();
  // Compares the words with their values after the round.
  [[nodiscard]] Status compare_left(const ProofRound& round) const;

  // Learns the first values and clears what will be fetched; on the initiator.
  Status initiator_prepares(const ProofRound& round);
  // Makes the request that of a word, after `rounds` operations on it.
  void aim(std::uint64_t word, std::uint64_t rounds, Request& request) const;
  // Compares what the round's operations fetched.
  [[nodiscard]] Status compare_fetched(const ProofRound& round) const;

 private:
  // Writes the first values of the words at `begin`.
  Status fill(std::size_t begin);
  // The words in an area.
  [[nodiscard]] Result<std::vector<std::uint64_t>> read(std::size_t begin) const;
  // Compares words with their values after `rounds` operations.
  [[nodiscard]] Status compare(const std::vector<std::uint64_t>& found, const ProofRound& round,
                               std::uint64_t rounds, const char* what) const;

  Link& link_;
  ProofContent content_;
  std::vector<std::uint64_t> first_;  // values before the first operation
};

}  // namespace railgauge::verbs
