// Page-aligned host memory, touched at allocation, and the seeded pattern that proves transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "kernels/core/result.h"

namespace railgauge {

class HostBuffer {
 public:
  HostBuffer() = default;
  // At least `bytes`, rounded up to pages, all zero. kResourceExhausted when there is no memory.
  static Result<HostBuffer> allocate(std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

// The machine's page size in bytes.
std::size_t page_bytes();
// `bytes` rounded up to whole pages.
std::size_t round_up_to_pages(std::size_t bytes);

// Fills with the pseudo-random bytes of `seed`: neither zeros nor a repeat, so that lost, shifted
// and stale data all show. Pure.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);

struct Mismatch {
  std::size_t offset = 0;
  std::uint8_t expected = 0;
  std::uint8_t seen = 0;
};
// The first byte that differs from the pattern of `seed`, or nothing. Every byte is compared.
// `bytes` begin at the pattern's byte `first`, a multiple of 8; offsets count from the pattern's
// begin.
std::optional<Mismatch> find_mismatch(std::span<const std::byte> bytes, std::uint64_t seed,
                                      std::size_t first = 0);

}  // namespace railgauge
