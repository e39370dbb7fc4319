// Page-aligned host memory, touched at allocation, and the seeded pattern that proves transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge {

// Owns its memory; movable, and data() stays the same when it moves.
class HostBuffer {
 public:
  HostBuffer() = default;
  // At least `bytes`, rounded up to pages, all zero. kResourceExhausted when there is no memory.
  static Result<HostBuffer> allocate(std::size_t bytes);
  // The same in huge pages of 2 MiB. kFailedPrecondition, with what to set, where the system has
  // not that many to give.
  static Result<HostBuffer> allocate_huge(std::size_t bytes);
  static constexpr std::size_t kHugePageBytes = 2U << 20U;

  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {memory_.get(), size_}; }

 private:
  // Releases heap memory, or a mapping of `mapped_bytes`.
  class Free {
   public:
    Free() : mapped_bytes_(0) {}  // of the heap
    explicit Free(std::size_t mapped_bytes) : mapped_bytes_(mapped_bytes) {}
    void operator()(std::byte* memory) const;

   private:
    std::size_t mapped_bytes_;
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

// The first wrong byte, its offset in the pattern, and both values.
struct Mismatch {
  std::size_t offset = 0;
  std::uint8_t expected = 0;
  std::uint8_t seen = 0;
};
// "byte 4096 is 0x00, expected 0x5c"; offsets count from `from` on. ", expected": by it a reader
// separates wrong bytes from other failures.
std::string mismatch_words(const Mismatch& wrong, std::size_t from = 0);
// The first byte that differs from the pattern of `seed`, or nothing. Every byte is compared.
// `bytes` begin at the pattern's byte `first`, a multiple of 8; offsets count from the pattern's
// begin.
std::optional<Mismatch> find_mismatch(std::span<const std::byte> bytes, std::uint64_t seed,
                                      std::size_t first = 0);

}  // namespace railgauge
