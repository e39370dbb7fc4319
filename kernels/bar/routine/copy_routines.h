// Routines by which the CPU copies to and from GPU memory behind the BAR. The instructions change
// the figure by an order of magnitude, so the routine is chosen at run time by the CPU's features,
// named in the result, and selectable.
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

// Copies and returns when the copy is complete as far as the CPU knows. A write ends in a store
// fence: its stores have left the CPU's buffers. A read of write-combining memory never returns
// bytes that an earlier read left in a buffer.
using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

// One way to copy, as two functions over plain memory.
struct Routine {
  // The word of the parameter `routine`.
  const char* name;
  // True when this CPU has the routine's instructions.
  bool available;
  // `to` is the GPU's side.
  Copy write;
  // `from` is the GPU's side; nullptr for a routine that only writes.
  Copy read;
};

// The word for the copies of the library that made the mapping, GDRCopy's: Window::own_copies().
inline constexpr std::string_view kLibraryRoutine = "gdrapi";

// Returns all routines of this architecture, the plainest first.
std::span<const Routine> routines();

// Returns the words of the parameter `routine` on every architecture; "auto" first.
std::span<const std::string> routine_names();

// Returns the order in which "auto" prefers writers that are as fast as each other, "avx512, avx2,
// ...": for help texts.
std::string auto_order();

// A task's copy routines.
struct Copier {
  // Never nullptr after choose_copier(). Both outlive the copier: the table of routines() lives as
  // long as the process.
  const Routine* writer = nullptr;
  const Routine* reader = nullptr;

  // Returns "avx512", or "movdir64b to write, avx512 to read": a fact.
  [[nodiscard]] std::string name() const;
};

// Chooses for `wanted`: a routine's name, or for "auto" the CPU's first available ones, until a
// trial has found the fastest (trial.h). A routine that only writes is combined with the
// first reader. kFailedPrecondition when this CPU lacks the wanted one. Pure.
Result<Copier> choose_copier(std::span<const Routine> known, std::string_view wanted);

}  // namespace railgauge::bar
