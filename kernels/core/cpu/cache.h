// The CPU's caches, for memory that shall not be found in them.
#pragma once

#include <cstdint>

namespace railgauge {

// Returns the size of this CPU's last-level cache in bytes; 0: the kernel does not say. Thread
// safe.
std::uint64_t last_level_cache_bytes();

// A walk through less than so many caches may find bytes of the walk before.
inline constexpr std::uint64_t kColdCaches = 2;

}  // namespace railgauge
