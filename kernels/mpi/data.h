// Fills the memory of a size before a call and verifies it afterwards. Pure but for the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// The contents of a segment of size number `size_index`. `reduces`: floats whose sum over many
// ranks is exact; else the pattern of size, rank and block.
void fill_segment(std::span<std::byte> memory, const Segment& segment, std::size_t size_index,
                  bool reduces);
// "byte 7 is 0x00, expected 0x5e" where a received segment is wrong. A reduction expects the sum
// over `ranks`.
std::optional<std::string> wrong_in(std::span<const std::byte> memory, const Segment& segment,
                                    std::size_t size_index, bool reduces, std::uint32_t ranks);

}  // namespace railgauge::mpi
