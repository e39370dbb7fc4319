#include "kernels/verbs/proof/arrivals.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace railgauge::verbs {

Layout proof_words_layout(const Link& link) {
  Layout layout = stream_layout(link, kAtomicBytes);
  layout.target.count *= link.options().lanes;
  layout.source = layout.target;
  return layout;
}

Result<std::vector<std::uint64_t>> ProofWords::read(std::size_t begin) const {
  const std::size_t stride = content_.slots.stride_bytes;
  std::vector<std::byte> area(content_.slots.count * stride);
  RG_TRY_OK(link_.memory().read(begin, area));
  std::vector<std::uint64_t> words(content_.slots.count);
  for (std::size_t k = 0; k < words.size(); ++k)
    std::memcpy(&words[k], area.data() + k * stride, sizeof words[k]);
  return words;
}

// One pattern for the whole area has other bytes at each word.
Status ProofWords::fill(std::size_t begin) {
  return link_.memory().fill(
      begin, content_.slots.count * content_.slots.stride_bytes,
      message_seed({content_.size_index, content_.sender, numbered({}, 0).first_number}));
}

Status ProofWords::target_begins() {
  const std::size_t receiving = link_.memory().size() / 2;
  RG_TRY_OK(fill(receiving));
  first_ = RG_TRY(read(receiving));
  return {};
}

Status ProofWords::initiator_prepares(const ProofRound& round) {
  if (round.first == 0) {
    RG_TRY_OK(fill(0));
    first_ = RG_TRY(read(0));
  }
  return link_.memory().clear(0, content_.slots.count * content_.slots.stride_bytes);
}

void ProofWords::aim(std::uint64_t word, std::uint64_t rounds, Request& request) const {
  auto& atomic = request.wr.wr.atomic;
  atomic.remote_addr += word * content_.slots.stride_bytes;
  if (link_.operation().verb != Verb::kCompareSwap) return;
  atomic.compare_add = first_[word] + rounds;
  atomic.swap = first_[word] + rounds + 1;
}

Status ProofWords::compare_fetched(const ProofRound& round) const {
  return compare(RG_TRY(read(0)), round, round.first / round.slots, "the value before it");
}

Status ProofWords::compare_left(const ProofRound& round) const {
  return compare(RG_TRY(read(link_.memory().size() / 2)), round, round.first / round.slots + 1,
                 "the word after it");
}

Status ProofWords::compare(const std::vector<std::uint64_t>& found, const ProofRound& round,
                           std::uint64_t rounds, const char* what) const {
  for (std::size_t k = 0; k < found.size(); ++k) {
    const std::uint64_t expected = first_[k] + rounds;
    if (found[k] == expected) continue;
    // A message's number is its word and its round.
    const ProofSlots slots{.holds =
                               [&](std::uint64_t word, std::uint64_t number) {
                                 return found[word] == first_[number % round.slots] + rounds -
                                                           (number < round.first ? 1 : 0);
                               },
                           .untouched = [&](std::uint64_t word) { return found[word] == 0; }};
    return fail(Code::kDataLoss,
                fmt::format("{}: verify {}: {}", link_.device().endpoint(), link_.operation().words,
                            proof_words(round, kAtomicBytes, name_fault(round, k, slots),
                                        fmt::format("{} is {:#x}, expected {:#x}", what, found[k],
                                                    expected))));
  }
  return {};
}

}  // namespace railgauge::verbs
