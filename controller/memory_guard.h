// Refuses work that takes memory while the controller's cgroup has little left: beyond the limit
// the kernel would kill the controller, and runs with it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge {

// Memory of a cgroup in bytes. Cached files are not counted: the kernel takes them back.
struct MemoryUse {
  double used = 0;
  double limit = 0;
};

// Reads the tightest of this process's cgroup and those above it, of version 2 (memory.max,
// memory.high) or 1; absent: none has a limit. `root` is put before /proc and /sys.
std::optional<MemoryUse> read_memory_use(const std::string& root = "");

// Gives the heap's free pages back to the kernel, which the allocator keeps else: hellos of
// thousands of agents and the tables of a large run leave hundreds of MB. Takes some ms for each
// GB, in which allocations of other threads wait. Thread safe.
void give_back_free_memory();

// Memory that somebody is about to take; it is free again when the last copy goes.
using MemoryClaim = std::shared_ptr<void>;

// Thread safe.
class MemoryGuard {
 public:
  // Above this share of the limit, work is refused.
  static constexpr double kMostShare = 0.85;

  explicit MemoryGuard(std::string root = "") : root_(std::move(root)) {}
  // kResourceExhausted, with the figures: `more_bytes` would not fit below the share. Reads at most
  // ten times a second.
  Status check(double more_bytes = 0);
  // As check(); what is claimed counts as used until the claim goes. Two large runs at once must
  // not both fit. The guard outlives its claims.
  Result<MemoryClaim> claim(double bytes);

 private:
  Status check_locked(double more_bytes);

  const std::string root_;
  std::mutex mutex_;  // guards all below
  std::optional<MemoryUse> use_;
  double next_read_ns_ = 0;
  double next_give_back_ns_ = 0;
  double claimed_ = 0;
};

}  // namespace railgauge
