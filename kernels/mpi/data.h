// Fills the memory of a size before a call and verifies it afterwards. Pure but for the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// Writes the contents of a segment of size number `size_index`. With `reduces` they are floats
// whose sum over many ranks is exact; else they are the pattern of size, rank and block.
void fill_segment(std::span<std::byte> memory, const Segment& segment, std::size_t size_index,
                  bool reduces);
// Nothing where the received segment is right; else its first fault: "byte 7 is 0x00, expected
// 0x5e". A reduction is compared with the sum over `ranks`.
std::optional<std::string> wrong_in(std::span<const std::byte> memory, const Segment& segment,
                                    std::size_t size_index, bool reduces, std::uint32_t ranks);

}  // namespace railgauge::mpi
