// The copy loops for each instruction set, and the choice among them. Loads and stores of the GPU's
// side are volatile or intrinsics: the compiler may neither split nor merge them.
#include "kernels/bar/routine/copy_routines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace railgauge::bar {
namespace {

// The state of a copy: next target byte, next source byte, bytes left.
struct Cursor {
  std::byte* to;
  const std::byte* from;
  std::size_t left;

  void advance(std::size_t bytes) {
    to += bytes;
    from += bytes;
    left -= bytes;
  }
};

// A word that may alias bytes of any type; without the attribute the access is undefined.
template <class Word>
struct Alias {
  using Type [[gnu::may_alias]] = Word;
};

// One store of a word to the device, from a host address of any alignment.
template <class Word>
[[gnu::always_inline]] inline void store_word(std::byte* device, const std::byte* host) {
  Word word;
  std::memcpy(&word, host, sizeof word);
  *reinterpret_cast<volatile typename Alias<Word>::Type*>(device) = word;
}

// One load of a word from the device, to a host address of any alignment.
template <class Word>
[[gnu::always_inline]] inline void load_word(std::byte* host, const std::byte* device) {
  const Word word = *reinterpret_cast<const volatile typename Alias<Word>::Type*>(device);
  std::memcpy(host, &word, sizeof word);
}

// Width of the widest naturally aligned access at `device`: at most `widest` (a power of two), at
// most `bytes`. The lowest set bit of the address gives its alignment.
[[gnu::always_inline]] inline std::size_t access_at(const std::byte* device, std::size_t bytes,
                                                    std::size_t widest) {
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(device) | widest;
  return std::min<std::size_t>(bits & (~bits + 1), std::bit_floor(bytes));
}

// One store to the device, or one load from it, of 8, 4, 2 or 1 bytes.
enum class Access { kStore, kLoad };
template <Access kAccess>
[[gnu::always_inline]] inline void access_narrow(Cursor& at, std::size_t bytes) {
  const auto access = [&at]<class Word>(Word) __attribute__((always_inline)) {
    kAccess == Access::kStore ? store_word<Word>(at.to, at.from) : load_word<Word>(at.to, at.from);
  };
  switch (bytes) {
    case 8:
      return access(std::uint64_t{});
    case 4:
      return access(std::uint32_t{});
    case 2:
      return access(std::uint16_t{});
    default:
      return access(std::uint8_t{});
  }
}

#if defined(__x86_64__)

// Bytes of a cache line, and of a write-combining buffer.
constexpr std::size_t kLine = 64;

// Bytes from `device` to the next multiple of `line`, at most `bytes`.
[[gnu::always_inline]] inline std::size_t head_bytes(const std::byte* device, std::size_t bytes,
                                                     std::size_t line) {
  return std::min<std::size_t>((~reinterpret_cast<std::uintptr_t>(device) + 1) & (line - 1), bytes);
}

// `bytes` by words and, where the GPU's side is aligned to them, 16-byte non-temporal stores.
[[gnu::always_inline]] inline void write_ends(Cursor& at, std::size_t bytes) {
  while (bytes != 0) {
    const std::size_t step = access_at(at.to, bytes, 16);
    if (step == 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(at.to),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(at.from)));
    else
      access_narrow<Access::kStore>(at, step);
    at.advance(step);
    bytes -= step;
  }
}

// The same with streaming loads.
[[gnu::always_inline, gnu::target("sse4.1")]] inline void read_ends(Cursor& at, std::size_t bytes) {
  while (bytes != 0) {
    const std::size_t step = access_at(at.from, bytes, 16);
    if (step == 16)
      _mm_storeu_si128(
          reinterpret_cast<__m128i*>(at.to),
          _mm_stream_load_si128(reinterpret_cast<__m128i*>(const_cast<std::byte*>(at.from))));
    else
      access_narrow<Access::kLoad>(at, step);
    at.advance(step);
    bytes -= step;
  }
}

// A streaming load may be answered from a buffer that an earlier one filled; this empties it.
[[gnu::always_inline]] inline void begin_streaming(std::size_t bytes) {
  if (bytes >= sizeof(__m128i)) _mm_mfence();
}

// memcpy of the C library, whose choice of instructions is unknown; the fence makes its end
// comparable with that of the others.
void write_libc(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  _mm_sfence();
}

void read_libc(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

// Four non-temporal 16-byte stores fill one write-combining buffer, so that it leaves as one PCIe
// transaction.
void write_sse41(std::byte* to, const std::byte* from, std::size_t bytes) {
  Cursor at{to, from, bytes};
  write_ends(at, head_bytes(at.to, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine)) {
    const auto* host = reinterpret_cast<const __m128i*>(at.from);
    auto* device = reinterpret_cast<__m128i*>(at.to);
    const __m128i a = _mm_loadu_si128(host);
    const __m128i b = _mm_loadu_si128(host + 1);
    const __m128i c = _mm_loadu_si128(host + 2);
    const __m128i d = _mm_loadu_si128(host + 3);
    _mm_stream_si128(device, a);
    _mm_stream_si128(device + 1, b);
    _mm_stream_si128(device + 2, c);
    _mm_stream_si128(device + 3, d);
  }
  write_ends(at, at.left);
  _mm_sfence();
}

// MOVNTDQA reads write-combining memory a line at a time; all four loads are issued before the
// first store.
[[gnu::target("sse4.1")]] void read_sse41(std::byte* to, const std::byte* from, std::size_t bytes) {
  Cursor at{to, from, bytes};
  begin_streaming(bytes);
  read_ends(at, head_bytes(at.from, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine)) {
    auto* device = reinterpret_cast<__m128i*>(const_cast<std::byte*>(at.from));
    auto* host = reinterpret_cast<__m128i*>(at.to);
    const __m128i a = _mm_stream_load_si128(device);
    const __m128i b = _mm_stream_load_si128(device + 1);
    const __m128i c = _mm_stream_load_si128(device + 2);
    const __m128i d = _mm_stream_load_si128(device + 3);
    _mm_storeu_si128(host, a);
    _mm_storeu_si128(host + 1, b);
    _mm_storeu_si128(host + 2, c);
    _mm_storeu_si128(host + 3, d);
  }
  read_ends(at, at.left);
}

// The same with two stores of 32 bytes.
[[gnu::target("avx2")]] void write_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  Cursor at{to, from, bytes};
  write_ends(at, head_bytes(at.to, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine)) {
    const auto* host = reinterpret_cast<const __m256i*>(at.from);
    auto* device = reinterpret_cast<__m256i*>(at.to);
    const __m256i a = _mm256_loadu_si256(host);
    const __m256i b = _mm256_loadu_si256(host + 1);
    _mm256_stream_si256(device, a);
    _mm256_stream_si256(device + 1, b);
  }
  write_ends(at, at.left);
  _mm_sfence();
}

// The same with two loads of 32 bytes.
[[gnu::target("avx2")]] void read_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  Cursor at{to, from, bytes};
  begin_streaming(bytes);
  read_ends(at, head_bytes(at.from, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine)) {
    const auto* device = reinterpret_cast<const __m256i*>(at.from);
    auto* host = reinterpret_cast<__m256i*>(at.to);
    const __m256i a = _mm256_stream_load_si256(device);
    const __m256i b = _mm256_stream_load_si256(device + 1);
    _mm256_storeu_si256(host, a);
    _mm256_storeu_si256(host + 1, b);
  }
  read_ends(at, at.left);
}

// One store of 64 bytes fills the whole line.
[[gnu::target("avx512f")]] void write_avx512(std::byte* to, const std::byte* from,
                                             std::size_t bytes) {
  Cursor at{to, from, bytes};
  write_ends(at, head_bytes(at.to, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine))
    _mm512_stream_si512(reinterpret_cast<__m512i*>(at.to), _mm512_loadu_si512(at.from));
  write_ends(at, at.left);
  _mm_sfence();
}

// One load of 64 bytes takes the whole line.
[[gnu::target("avx512f")]] void read_avx512(std::byte* to, const std::byte* from,
                                            std::size_t bytes) {
  Cursor at{to, from, bytes};
  begin_streaming(bytes);
  read_ends(at, head_bytes(at.from, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine))
    _mm512_storeu_si512(at.to, _mm512_stream_load_si512(const_cast<std::byte*>(at.from)));
  read_ends(at, at.left);
}

// MOVDIR64B stores a whole line at once; no buffer may split it.
[[gnu::target("movdir64b")]] void write_movdir64b(std::byte* to, const std::byte* from,
                                                  std::size_t bytes) {
  Cursor at{to, from, bytes};
  write_ends(at, head_bytes(at.to, at.left, kLine));
  for (; at.left >= kLine; at.advance(kLine)) _movdir64b(at.to, at.from);
  write_ends(at, at.left);
  _mm_sfence();
}

// CPUID leaf 7, subleaf 0, bit 28 of ECX (Intel SDM, volume 2).
bool has_movdir64b() {
  constexpr unsigned kFeatureLeaf = 7;
  constexpr unsigned kBit = 1U << 28U;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(kFeatureLeaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kBit) != 0;
}

// MOVDIR64B has no load, so its routine only writes.
std::vector<Routine> make_routines() {
  const bool sse41 = __builtin_cpu_supports("sse4.1") != 0;
  return {{"memcpy", true, write_libc, read_libc},
          {"sse41", sse41, write_sse41, read_sse41},
          {"avx2", __builtin_cpu_supports("avx2") != 0, write_avx2, read_avx2},
          {"avx512", __builtin_cpu_supports("avx512f") != 0, write_avx512, read_avx512},
          {"movdir64b", has_movdir64b(), write_movdir64b, nullptr}};
}

#else

// 16 bytes in one access, as the compiler does it on this architecture.
using Wide [[gnu::vector_size(16)]] = std::uint8_t;

// Ends in a store barrier of the full system, as a device outside the CPU's domain needs it.
void write_plain(std::byte* to, const std::byte* from, std::size_t bytes) {
  Cursor at{to, from, bytes};
  while (at.left != 0) {
    const std::size_t step = access_at(at.to, at.left, sizeof(Wide));
    if (step == sizeof(Wide)) {
      Wide wide;
      std::memcpy(&wide, at.from, sizeof wide);
      *reinterpret_cast<volatile Wide*>(at.to) = wide;
    } else {
      access_narrow<Access::kStore>(at, step);
    }
    at.advance(step);
  }
#if defined(__aarch64__)
  asm volatile("dsb st" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

// The volatile access keeps the compiler from splitting it into bytes.
void read_plain(std::byte* to, const std::byte* from, std::size_t bytes) {
  Cursor at{to, from, bytes};
  while (at.left != 0) {
    const std::size_t step = access_at(at.from, at.left, sizeof(Wide));
    if (step == sizeof(Wide)) {
      const Wide wide = *reinterpret_cast<const volatile Wide*>(at.from);
      std::memcpy(at.to, &wide, sizeof wide);
    } else {
      access_narrow<Access::kLoad>(at, step);
    }
    at.advance(step);
  }
}

std::vector<Routine> make_routines() { return {{"memcpy", true, write_plain, read_plain}}; }

#endif

// The order in which `auto` prefers routines that are as fast as each other, and what proves the
// mapping before the trial. deploy/docs/results/gpu-bar-routines.md has figures of machines on
// which another one is the fastest.
constexpr std::array kWriters{"avx512", "avx2", "movdir64b", "sse41", "memcpy"};
constexpr std::array kReaders{"avx512", "avx2", "sse41", "memcpy"};

// The routine of that name if this CPU has it, else nullptr.
const Routine* named(std::span<const Routine> known, std::string_view name) {
  const auto found = std::ranges::find(known, name, &Routine::name);
  return found != known.end() && found->available ? &*found : nullptr;
}

// The first routine of `order` that this CPU has, else nullptr.
const Routine* first_of(std::span<const Routine> known, std::span<const char* const> order) {
  for (const char* name : order)
    if (const Routine* found = named(known, name)) return found;
  return nullptr;
}

}  // namespace

std::span<const Routine> routines() {
  static const std::vector<Routine> kRoutines = make_routines();
  return kRoutines;
}

std::span<const std::string> routine_names() {
  static const std::vector<std::string> kNames{
      "auto", "memcpy", "sse41", "avx2", "avx512", "movdir64b", std::string(kLibraryRoutine)};
  return kNames;
}

std::string auto_order() { return fmt::format("{}", fmt::join(kWriters, ", ")); }

std::string Copier::name() const {
  if (writer == reader) return writer->name;
  return fmt::format("{} to write, {} to read", writer->name, reader->name);
}

// Every CPU has memcpy, so that the automatic choice never fails.
Result<Copier> choose_copier(std::span<const Routine> known, std::string_view wanted) {
  Copier copier{first_of(known, kWriters), first_of(known, kReaders)};
  RG_CHECK(copier.writer != nullptr && copier.reader != nullptr);
  if (wanted == "auto") return copier;
  copier.writer = named(known, wanted);
  if (copier.writer == nullptr) {
    std::string has;
    for (const Routine& routine : known)
      if (routine.available) has += (has.empty() ? "" : ", ") + std::string(routine.name);
    return fail(
        Code::kFailedPrecondition,
        fmt::format("copy routine {}: this CPU lacks its instructions; it has {}", wanted, has));
  }
  if (copier.writer->read != nullptr) copier.reader = copier.writer;
  return copier;
}

}  // namespace railgauge::bar
