// The content of one size's messages, and its verification after delivery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

#include "kernels/core/base/result.h"
#include "kernels/core/text/units.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::net {

// Numbers of the timed part's messages, which all have one content before its first kept sample and
// another one from there on. A proof numbers its messages from 0 and never gets so far.
inline constexpr std::uint64_t kWarmUpMessage = ~std::uint64_t{1};
inline constexpr std::uint64_t kKeptMessage = ~std::uint64_t{0};

// Identifies one sender's messages: size, rank and stream. Plain value.
struct Sender {
  std::size_t size_index = 0;
  std::uint32_t rank = 0;
  std::size_t stream = 0;

  // Returns the seed of the content of message `number`. It differs for each size, rank, stream and
  // number of a task.
  [[nodiscard]] std::uint64_t seed(std::uint64_t number) const {
    constexpr unsigned kStreamShift = 32;
    constexpr std::uint64_t kSpread = 0xd1342543de82ef95U;  // odd: no two numbers give the same
    const std::uint64_t own =
        0x6e65742e746370U + 2 * size_index + rank + (std::uint64_t{stream} << kStreamShift);
    return own ^ ((number + 1) * kSpread);
  }
};

// Verifies message `number`; kDataLoss with the offset in it. `who` is this end: "192.0.2.1
// (eth0)".
inline Status verify_message(std::span<const std::byte> message, const Sender& sender,
                             std::uint64_t number, const std::string& who) {
  const auto wrong = find_mismatch(message, sender.seed(number));
  if (!wrong) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: verify a {} message of stream {}: {}", who,
                          canonical_bytes(message.size()), sender.stream, mismatch_words(*wrong)));
}

}  // namespace railgauge::net
