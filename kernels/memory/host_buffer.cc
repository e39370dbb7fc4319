#include "kernels/memory/host_buffer.h"

#include <linux/mman.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// SplitMix64's finaliser: word `index` of the pattern of `seed`.
std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

// The pattern is made of words of 8 bytes; the last one may be cut.
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

}  // namespace

// Asked of the system once.
std::size_t page_bytes() {
  static const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kPage;
}

std::size_t round_up_to_pages(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

// Touches every page, so that no page fault happens in a timed loop.
Result<HostBuffer> HostBuffer::allocate(std::size_t bytes) {
  HostBuffer buffer;
  buffer.size_ = round_up_to_pages(std::max<std::size_t>(bytes, 1));
  // It is touched below: more than the machine has would bring the out-of-memory killer, because
  // overcommit grants the request.
  const std::size_t machine_bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  if (buffer.size_ > machine_bytes)
    return fail(Code::kResourceExhausted,
                fmt::format("host memory: allocate {} bytes: the machine has {}", buffer.size_,
                            machine_bytes));
  buffer.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes(), buffer.size_)));
  if (buffer.memory_ == nullptr)
    return fail(Code::kResourceExhausted,
                fmt::format("host memory: allocate {} bytes: {}", buffer.size_, strerror(ENOMEM)));
  std::memset(buffer.memory_.get(), 0, buffer.size_);
  return buffer;
}

// Whole huge pages, so the size may be far above `bytes`.
Result<HostBuffer> HostBuffer::allocate_huge(std::size_t bytes) {
  const std::size_t pages = (std::max<std::size_t>(bytes, 1) + kHugePageBytes - 1) / kHugePageBytes;
  HostBuffer buffer;
  buffer.size_ = pages * kHugePageBytes;
  // Populated: a page that is missing shows here, not as SIGBUS at the first touch.
  void* memory =
      mmap(nullptr, buffer.size_, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("host memory: map {} huge pages of 2 MiB: {}; set vm.nr_hugepages to {} "
                    "or more above what is in use",
                    pages, errno_words(errno), pages));
  buffer.memory_ = {static_cast<std::byte*>(memory), Free{buffer.size_}};
  return buffer;
}

// Memory of aligned_alloc or of mmap, by the stored length.
void HostBuffer::Free::operator()(std::byte* memory) const {
  if (mapped_bytes_ == 0)
    std::free(memory);
  else
    munmap(memory, mapped_bytes_);
}

std::string mismatch_words(const Mismatch& wrong, std::size_t from) {
  return fmt::format("byte {} is 0x{:02x}, expected 0x{:02x}", from + wrong.offset, wrong.seen,
                     wrong.expected);
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWordBytes) {
    const std::uint64_t word = pattern_word(seed, at / kWordBytes);
    std::memcpy(bytes.data() + at, &word, std::min(kWordBytes, bytes.size() - at));
  }
}

// Word by word; inside the first wrong word byte by byte.
std::optional<Mismatch> find_mismatch(std::span<const std::byte> bytes, std::uint64_t seed,
                                      std::size_t first) {
  RG_CHECK(first % kWordBytes == 0);
  for (std::size_t at = 0; at < bytes.size(); at += kWordBytes) {
    const std::uint64_t word = pattern_word(seed, (first + at) / kWordBytes);
    const std::size_t length = std::min(kWordBytes, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, length) == 0) continue;
    const auto* expected = reinterpret_cast<const std::uint8_t*>(&word);
    const auto* seen = reinterpret_cast<const std::uint8_t*>(bytes.data() + at);
    const auto differs = std::mismatch(expected, expected + length, seen);
    return Mismatch{first + at + static_cast<std::size_t>(differs.first - expected), *differs.first,
                    *differs.second};
  }
  return std::nullopt;
}

}  // namespace railgauge
