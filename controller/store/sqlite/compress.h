// zstd over bytes in memory. Pure; thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::store {

// Bound of the memory that a damaged or hostile frame can take.
inline constexpr std::size_t kMaxDecompressedBytes = 64U << 20U;

// Compresses bytes into one zstd frame.
std::string compress(std::string_view bytes);
// Decompresses one frame. kDataLoss: no whole zstd frame, or a frame whose header states more than
// kMaxDecompressedBytes.
Result<std::string> decompress(std::string_view bytes);

// Compresses data larger than one frame into consecutive frames of 16 MiB each.
// decompress_blocks() also reads the output of compress().
std::string compress_blocks(std::string_view bytes);
// Passes the frames to `take` one by one and leaves skippable ones out. kDataLoss also if the total
// is not `size` bytes.
Status decompress_blocks(std::string_view bytes, std::size_t size,
                         const std::function<void(std::string_view)>& take);

}  // namespace railgauge::store
