// The words of an operation's points and parameters; info_of() is in operation.h.
#pragma once

#include <cstdint>

#include "kernels/core/sampling.h"
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// The bound of the parameter `window`.
inline constexpr std::uint64_t kMostWindow = 4096;
// The metric of a non-blocking collective's time that computation beside it did not hide.
inline constexpr const char* kExposedMetric = "exposed_ns";

// Returns metric, unit and direction of an operation's points, as the store and the reports know
// them.
PointNames names_of(const Operation& operation);
// Whether messages are whole 32-bit numbers.
bool is_of_words(const Operation& operation);
// Returns the form that a word of the parameter `call` means.
Form form_of(std::string_view word);
// Reads a word of the parameter `sync`.
Sync sync_of(std::string_view word);

}  // namespace railgauge::mpi
