// zstd over bytes in memory. Pure; thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::store {

// Bounds the memory that a damaged or hostile frame can take.
inline constexpr std::size_t kMaxDecompressedBytes = 64U << 20U;

// One zstd frame.
std::string compress(std::string_view bytes);
// kDataLoss: no whole zstd frame, or one that says it holds more than kMaxDecompressedBytes.
Result<std::string> decompress(std::string_view bytes);

// For data larger than one frame: frames of 16 MiB each, one after the other. The reader accepts
// the output of compress() as well.
std::string compress_blocks(std::string_view bytes);
// Passes the frames to `take` one by one. kDataLoss also if the total is not `size` bytes.
Status decompress_blocks(std::string_view bytes, std::size_t size,
                         const std::function<void(std::string_view)>& take);

}  // namespace railgauge::store
