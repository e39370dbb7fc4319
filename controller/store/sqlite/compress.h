// zstd over bytes in memory. Pure; thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::store {

inline constexpr std::size_t kMaxDecompressedBytes = 64U << 20U;

std::string compress(std::string_view bytes);
// kDataLoss: no whole zstd frame, or one that says it holds more than kMaxDecompressedBytes.
Result<std::string> decompress(std::string_view bytes);

// The same for data of more than one frame: frames of 16 MiB each, one behind the other. The reader
// accepts the output of compress() as well.
std::string compress_blocks(std::string_view bytes);
// Hands them over frame by frame. kDataLoss also when it is not `size` bytes.
Status decompress_blocks(std::string_view bytes, std::size_t size,
                         const std::function<void(std::string_view)>& take);

}  // namespace railgauge::store
