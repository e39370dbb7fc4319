// Page-aligned host memory, touched at allocation, and the seeded pattern that verifies transfers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge {

// Owns its memory; movable, and a move keeps data().
class HostBuffer {
 public:
  HostBuffer() = default;
  // Allocates at least `bytes`, rounded up to pages, all zero. kResourceExhausted when memory runs
  // out.
  static Result<HostBuffer> allocate(std::size_t bytes);
  // Allocates the same in huge pages of 2 MiB. kFailedPrecondition, with the setting to change,
  // where the system has too few free huge pages.
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

// Returns the machine's page size in bytes.
std::size_t page_bytes();
// Rounds `bytes` up to whole pages.
std::size_t round_up_to_pages(std::size_t bytes);

// Fills `bytes` with pseudo-random bytes from `seed`, which are neither zero nor repeated, so that
// lost, shifted and stale data are all detected. Pure.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);

// The first wrong byte: its offset in the pattern, and both values.
struct Mismatch {
  std::size_t offset = 0;
  std::uint8_t expected = 0;
  std::uint8_t seen = 0;
};
// Formats "byte 4096 is 0x00, expected 0x5c"; offsets count from `from`. Readers recognise wrong
// bytes, among other failures, by the text ", expected".
std::string mismatch_words(const Mismatch& wrong, std::size_t from = 0);
// Returns the first byte that differs from the pattern of `seed`; absent when none does. Every byte
// is compared. `bytes` start at byte `first` of the pattern, a multiple of 8; offsets count from
// the pattern's start.
std::optional<Mismatch> find_mismatch(std::span<const std::byte> bytes, std::uint64_t seed,
                                      std::size_t first = 0);

}  // namespace railgauge
