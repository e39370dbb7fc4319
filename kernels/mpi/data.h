// Fills the memory of a size before a call and verifies it afterwards. Pure but for the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// Content::number of calls that warm up, of timed ones, and of a proof's first.
inline constexpr std::uint64_t kWarmUpCalls = 0;
inline constexpr std::uint64_t kTimedCalls = 1;
inline constexpr std::uint64_t kFirstProofCall = 2;

// In memory that nothing has reached yet.
inline constexpr std::byte kNotReceived{0xa5};

// The content of a call's messages: another one for each size and number.
struct Content {
  std::size_t size_index = 0;
  std::uint64_t number = kWarmUpCalls;
  std::uint64_t place = 0;  // of cold samples, counted from 0
  // Floats whose sum over `ranks` is exact in any order; else the pattern of rank and block.
  bool reduces = false;
  std::uint32_t ranks = 1;
  // The effect of each call on the memory, and the calls since it was kNotReceived.
  Effect effect = Effect::kReplaces;
  std::uint64_t calls = 1;
};

// Writes the content of a segment.
void fill_segment(std::span<std::byte> memory, const Segment& segment, const Content& content);
// Returns the first fault of a received segment: "byte 7 is 0x00, expected 0x5e"; absent when it is
// right. A reduction is compared with the sum over all ranks.
std::optional<std::string> wrong_in(std::span<const std::byte> memory, const Segment& segment,
                                    const Content& content);

}  // namespace railgauge::mpi
