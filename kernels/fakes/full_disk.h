// A full disk for tests that cannot mount one: replaces the system calls by which SQLite writes its
// files. As the kernel does, a write beyond the limit writes the part that fits and returns ENOSPC
// for the rest.
#pragma once

#include <cstdint>

namespace railgauge::fake {

// While alive, lets SQLite's files grow by `bytes` in total. One at a time; not for connections
// that other threads open or close meanwhile.
class FullDisk {
 public:
  explicit FullDisk(std::int64_t bytes);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  // Adds room, as when a person removed a file.
  void add_room(std::int64_t bytes);
  [[nodiscard]] std::int64_t refusals() const;
};

}  // namespace railgauge::fake
