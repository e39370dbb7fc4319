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

// Identifies one sender's messages: size, rank and stream. Plain value.
struct Sender {
  std::size_t size_index = 0;
  std::uint32_t rank = 0;
  std::size_t stream = 0;

  // Returns a seed that differs for each size, rank and stream of a task.
  [[nodiscard]] std::uint64_t seed() const {
    constexpr unsigned kStreamShift = 32;
    return 0x6e65742e746370U + 2 * size_index + rank + (std::uint64_t{stream} << kStreamShift);
  }
};

// Verifies a message; kDataLoss with the offset in it. `who` is this end: "192.0.2.1 (eth0)".
inline Status verify_message(std::span<const std::byte> message, const Sender& sender,
                             const std::string& who) {
  const auto wrong = find_mismatch(message, sender.seed());
  if (!wrong) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: verify a {} message of stream {}: {}", who,
                          canonical_bytes(message.size()), sender.stream, mismatch_words(*wrong)));
}

}  // namespace railgauge::net
