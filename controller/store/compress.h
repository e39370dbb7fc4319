// zstd over bytes in memory. Pure; thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/core/result.h"

namespace railgauge::store {

inline constexpr std::size_t kMaxDecompressedBytes = 64U << 20U;

std::string compress(std::string_view bytes);
// kDataLoss: no whole zstd frame, or one that says it holds more than kMaxDecompressedBytes.
Result<std::string> decompress(std::string_view bytes);

}  // namespace railgauge::store
