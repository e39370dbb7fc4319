// A disk that fills up, for tests that may not mount one: SQLite writes its files through system
// calls that a test can replace. Writes beyond the limit are refused as the kernel does it: the
// part that still fits is written, ENOSPC for the rest.
#pragma once

#include <cstdint>

namespace railgauge::fake {

// While it lives, files that SQLite writes may grow by `bytes` all together. One at a time; not for
// connections on several threads that open or close meanwhile.
class FullDisk {
 public:
  explicit FullDisk(std::int64_t bytes);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  // Room for more, as when a person removed something.
  void add_room(std::int64_t bytes);
  [[nodiscard]] std::int64_t refusals() const;
};

}  // namespace railgauge::fake
