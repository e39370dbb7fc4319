#include "kernels/core/cpu/cache.h"

#include <unistd.h>

namespace railgauge {

std::uint64_t last_level_cache_bytes() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace railgauge
