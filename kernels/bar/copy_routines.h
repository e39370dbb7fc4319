// How the CPU copies to and from GPU memory behind the BAR. Which instructions do it decides the
// figure by an order of magnitude, so the routine is chosen at run time by what the CPU has, named
// in the result, and can be forced.
//
// No routine touches a byte outside its range, and each access to the GPU's side is naturally
// aligned: wide ones in the middle, 8, 4, 2 and 1 byte at unaligned ends.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::bar {

// Both return when the copy is over as far as the CPU knows. A write ends in a store fence: its
// stores have left the CPU's buffers. A read of write-combining memory is never answered by bytes
// that an earlier read left in a buffer.
using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

// One way to copy, as two functions over plain memory.
struct Routine {
  // The word of the parameter `routine`.
  const char* name;
  // This CPU has its instructions.
  bool available;
  // `to` is the GPU's side.
  Copy write;
  // `from` is the GPU's side; nullptr where the routine only writes.
  Copy read;
};

// All routines of this architecture, the plainest first.
std::span<const Routine> routines();

// The names that the parameter `routine` takes, on every architecture; "auto" first.
std::span<const std::string> routine_names();

// "avx512, avx2, ...": what "auto" writes with, the first that the CPU has; for help texts.
std::string auto_order();

// A task's copy routines.
struct Copier {
  // Never nullptr after choose_copier(). Both outlive the copier: the table of routines() lives as
  // long as the process.
  const Routine* writer = nullptr;
  const Routine* reader = nullptr;

  // "avx512", or "movdir64b to write, avx512 to read": a fact.
  [[nodiscard]] std::string name() const;
};

// `wanted` is "auto" or a routine's name. A routine that only writes is joined by the best reader.
// kFailedPrecondition when this CPU lacks the wanted one. Pure.
Result<Copier> choose_copier(std::span<const Routine> known, std::string_view wanted);

}  // namespace railgauge::bar
