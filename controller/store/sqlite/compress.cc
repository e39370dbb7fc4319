#include "controller/store/sqlite/compress.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <zstd.h>

#include "kernels/core/base/handle.h"

namespace railgauge::store {
namespace {

constexpr int kLevel = 3;  // zstd's default

struct ContextTraits {
  using Type = ZSTD_CCtx*;
  static Type empty() { return nullptr; }
  static void release(Type raw) { ZSTD_freeCCtx(raw); }
};

// A new context for each histogram would cost many times the compressing.
ZSTD_CCtx* context() {
  thread_local const Handle<ContextTraits> kept(ZSTD_createCCtx());
  RG_CHECK(kept.get() != nullptr);  // no memory
  return kept.get();
}

// By zstd's format: such a frame has no content of its own.
bool is_skippable(std::string_view frame) {
  constexpr std::uint32_t kNumbers = 0xFFFFFFF0;
  constexpr std::uint32_t kSkippable = 0x184D2A50;
  std::uint32_t number = 0;
  if (frame.size() < sizeof number) return false;
  std::memcpy(&number, frame.data(), sizeof number);
  return (number & kNumbers) == kSkippable;
}

}  // namespace

std::string compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compressCCtx(context(), out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  RG_CHECK(ZSTD_isError(size) == 0);  // the bound is enough: only lack of memory is left
  out.resize(size);
  return out;
}

Result<std::string> decompress(std::string_view bytes) {
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ||
      size > kMaxDecompressedBytes)
    return fail(Code::kDataLoss, "compressed bytes are damaged");
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size)
    return fail(Code::kDataLoss,
                fmt::format("compressed bytes are damaged: {}", ZSTD_getErrorName(got)));
  return out;
}

std::string compress_blocks(std::string_view bytes) {
  constexpr std::size_t kBlockBytes = 16U << 20U;
  std::string out;
  for (std::size_t begin = 0; begin == 0 || begin < bytes.size(); begin += kBlockBytes)
    out += compress(bytes.substr(begin, kBlockBytes));
  return out;
}

Status decompress_blocks(std::string_view bytes, std::size_t size,
                         const std::function<void(std::string_view)>& take) {
  std::size_t taken = 0;
  while (!bytes.empty()) {
    const std::size_t frame = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(frame) != 0) return fail(Code::kDataLoss, "compressed bytes are damaged");
    if (is_skippable(bytes)) {
      bytes.remove_prefix(frame);
      continue;
    }
    const std::string block = RG_TRY(decompress(bytes.substr(0, frame)));
    if (block.size() > size - taken) break;
    take(block);
    taken += block.size();
    bytes.remove_prefix(frame);
  }
  if (taken == size && bytes.empty()) return {};
  return fail(Code::kDataLoss,
              fmt::format("compressed bytes are damaged: not the {} bytes they should be", size));
}

}  // namespace railgauge::store
