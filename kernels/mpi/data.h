// Fills the memory of a size before a call and verifies it afterwards. Pure but for the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// Writes the content of a segment of size number `size_index`. With `reduces` it consists of floats
// with an exact sum over many ranks; else of the pattern of size, rank and block.
void fill_segment(std::span<std::byte> memory, const Segment& segment, std::size_t size_index,
                  bool reduces);
// Returns the first fault of a received segment: "byte 7 is 0x00, expected 0x5e"; absent when it is
// right. A reduction is compared with the sum over `ranks`.
std::optional<std::string> wrong_in(std::span<const std::byte> memory, const Segment& segment,
                                    std::size_t size_index, bool reduces, std::uint32_t ranks);

}  // namespace railgauge::mpi
