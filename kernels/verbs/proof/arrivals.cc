#include "kernels/verbs/proof/arrivals.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "kernels/memory/host_buffer.h"

namespace railgauge::verbs {
namespace {

// Far above the numbers of a timed part's slots.
constexpr std::uint64_t kFirstNumber = 1U << 24U;
// Bytes by which a message is recognised as that of a number.
constexpr std::uint64_t kRecognisedBytes = 8;
// Far above a round trip of any fabric: what is not here after it does not come.
constexpr double kProofQuietNs = 50e6;
// The smallest MTU of all; every other one is a multiple.
constexpr std::size_t kPacketBytes = 256;

}  // namespace

Slots numbered(Slots slots, std::uint64_t first) {
  slots.first_number = kFirstNumber + first;
  return slots;
}

// With the gaps, in one call: on a GPU each one is waited for.
Status Arrivals::clear() {
  const Slots& slots = content_.slots;
  const std::size_t last = (slots.count - 1) * slots.stride_bytes;
  return area_.memory.clear(area_.begin, last + slots.offset_bytes + slots.bytes);
}

Result<std::optional<std::string>> Arrivals::difference(std::size_t slot, std::uint64_t number,
                                                        std::uint64_t bytes) const {
  return message_difference(area_, content_.slots, slot,
                            {content_.size_index, content_.sender, kFirstNumber + number}, bytes);
}

bool Arrivals::holds(std::size_t slot, std::uint64_t number) const {
  const std::uint64_t bytes = std::min<std::uint64_t>(kRecognisedBytes, content_.slots.bytes);
  const auto differs = difference(slot, number, bytes);
  return differs && !*differs;
}

bool Arrivals::is_cleared(std::size_t slot) const {
  std::vector<std::byte> bytes(content_.slots.bytes);
  return read_slot(area_, content_.slots, slot, bytes) &&
         std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

Status Arrivals::take(std::uint64_t messages) {
  taken_.clear();
  ReceiveQueue& receives = link_.receives();
  const auto quiet = static_cast<std::uint64_t>(kProofQuietNs / clock_.ns_per_tick());
  std::uint64_t last = clock_.ticks();
  std::uint64_t without = 0;
  while (taken_.size() < messages) {
    const std::int64_t count = receives.take_into(taken_, link_.immediate(), without);
    if (count < 0) return tl::unexpected(link_.waiting().failure());
    const std::uint64_t now = clock_.ticks();
    if (count > 0) last = now;
    if (now - last > quiet) break;
  }
  if (without == 0 || !link_.has_immediate()) return {};
  return fail(
      Code::kDataLoss,
      fmt::format("{}: verify {}: {} of {} messages came without their immediate data",
                  link_.device().endpoint(), link_.operation().words, without, taken_.size()));
}

void Arrivals::wait_quiet() const {
  const auto quiet = static_cast<std::uint64_t>(kProofQuietNs / clock_.ns_per_tick());
  for (const std::uint64_t begin = clock_.ticks(); clock_.ticks() - begin < quiet;) {
  }
}

std::size_t Arrivals::slot_of(std::uint64_t k) const { return has_order() ? taken_[k] : k; }

Result<std::uint64_t> Arrivals::compare(const ProofRound& round) {
  if (takes_) RG_TRY_OK(take(round.slots));
  if (has_order() && !link_.is_ordered()) return compare_any_order(round);
  auto right = compare_all(round);
  if (right || link_.is_reliable() || right.error().code != Code::kDataLoss) return right;
  // The completion of an unreliable message does not mean that it has come.
  wait_quiet();
  return has_order() ? compare_in_order(round) : compare_in_place(round);
}

// Slots before the first wrong one are right, which name_fault() relies on.
Result<std::uint64_t> Arrivals::compare_all(const ProofRound& round) {
  const bool sends = has_order();
  const std::uint64_t came =
      sends ? std::min<std::uint64_t>(taken_.size(), round.slots) : round.slots;
  for (std::uint64_t k = 0; k < came; ++k) {
    const auto words = RG_TRY(difference(slot_of(k), round.first + k, content_.slots.bytes));
    if (words) return wrong(round, k, *words);
  }
  if (came == round.slots) return came;
  return wrong(round, came, fmt::format("{} of {} messages came, expected all", came, round.slots));
}

// Messages of equal content are one another's equals, so each may take the first one that is left.
// A rest in the end names the fault: a message that came twice is in another one's place.
Result<std::uint64_t> Arrivals::compare_any_order(const ProofRound& round) {
  const std::uint64_t bytes = content_.slots.bytes;
  std::vector<std::uint64_t> missing(round.slots);
  std::iota(missing.begin(), missing.end(), round.first);
  for (std::uint64_t k = 0; k < taken_.size(); ++k) {
    auto found = missing.begin();
    for (; found != missing.end(); ++found)
      if (holds(taken_[k], *found) && !RG_TRY(difference(taken_[k], *found, bytes))) break;
    if (found != missing.end()) {
      missing.erase(found);
      continue;
    }
    // Its beginning names it where that came right.
    const auto own = std::ranges::find_if(
        missing, [&](std::uint64_t number) { return holds(taken_[k], number); });
    const std::uint64_t expected = own != missing.end() ? *own
                                   : missing.empty()    ? round.first + k
                                                        : missing.front();
    const auto words = RG_TRY(difference(taken_[k], expected, bytes));
    ProofFinding finding{.slot = expected - round.first};
    if (own != missing.end()) return wrong(round, finding, words.value_or(""));
    for (std::uint64_t n = round.first; n < round.first + round.slots && !finding.holds; ++n)
      if (holds(taken_[k], n)) finding = {finding.slot, ProofFault::kRepeated, n};
    return wrong(round, finding, words.value_or("it came before, expected another one"));
  }
  if (missing.empty()) return round.slots;
  return wrong(round, {.slot = missing.front() - round.first, .fault = ProofFault::kDropped},
               fmt::format("{} of {} messages came, expected all", taken_.size(), round.slots));
}

// A datagram comes whole or not at all, and those of one queue pair in their order. Without a loss
// each has its place; with one, a message must be long enough to be recognised.
Result<std::uint64_t> Arrivals::compare_in_order(const ProofRound& round) {
  if (taken_.size() >= round.slots) return compare_all(round);
  if (content_.slots.bytes < kRecognisedBytes) return std::uint64_t{0};
  std::uint64_t number = round.first;
  for (std::uint64_t k = 0; k < taken_.size(); ++k) {
    while (number < round.first + round.slots && !holds(taken_[k], number)) ++number;
    if (number == round.first + round.slots) {
      const auto words = RG_TRY(difference(taken_[k], round.first + k, content_.slots.bytes));
      return wrong(round, k, words.value_or("it came before, expected a later one"));
    }
    if (const auto words = RG_TRY(difference(taken_[k], number, content_.slots.bytes)))
      return wrong({number - k, round.slots}, k, *words);
    ++number;
  }
  return taken_.size();
}

Result<std::uint64_t> Arrivals::compare_in_place(const ProofRound& round) {
  std::uint64_t right = 0;
  for (std::uint64_t k = 0; k < round.slots; ++k) {
    const auto words = RG_TRY(difference(k, round.first + k, content_.slots.bytes));
    if (!words)
      ++right;
    else if (!RG_TRY(lacks_packets(k, round.first + k)))
      return wrong(round, k, *words);
  }
  return right;
}

// Zeros are what the slot had been cleared to.
Result<bool> Arrivals::lacks_packets(std::size_t slot, std::uint64_t number) const {
  std::vector<std::byte> came(content_.slots.bytes);
  RG_TRY_OK(read_slot(area_, content_.slots, slot, came));
  std::vector<std::byte> sent(content_.slots.bytes);
  fill_pattern(sent, message_seed({content_.size_index, content_.sender, kFirstNumber + number}));
  for (std::size_t at = 0; at < came.size(); at += kPacketBytes) {
    const auto packet = std::span(came).subspan(at, std::min(kPacketBytes, came.size() - at));
    const bool is_here = std::ranges::equal(packet, std::span(sent).subspan(at, packet.size()));
    if (!is_here && std::ranges::any_of(packet, [](std::byte one) { return one != std::byte{0}; }))
      return false;
  }
  return true;
}

tl::unexpected<Error> Arrivals::wrong(const ProofRound& round, std::uint64_t slot,
                                      const std::string& words) const {
  const bool sends = has_order();
  const auto is_taken = [&](std::uint64_t k) { return !sends || k < taken_.size(); };
  ProofSlots slots;
  if (content_.slots.bytes >= kRecognisedBytes)
    slots.holds = [&](std::uint64_t k, std::uint64_t number) {
      return is_taken(k) && holds(slot_of(k), number);
    };
  slots.untouched = [&](std::uint64_t k) { return !is_taken(k) || is_cleared(slot_of(k)); };
  return wrong(round, name_fault(round, slot, slots), words);
}

tl::unexpected<Error> Arrivals::wrong(const ProofRound& round, const ProofFinding& finding,
                                      const std::string& words) const {
  return fail(Code::kDataLoss,
              fmt::format("{}: verify {}: {}", link_.device().endpoint(), link_.operation().words,
                          proof_words(round, content_.slots.bytes, finding, words)));
}

}  // namespace railgauge::verbs
