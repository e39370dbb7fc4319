// The machine's NUMA nodes, and a binding of the calling thread and its memory to one of them. By
// raw system calls: few machines have libnuma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// One online node of the machine.
struct NumaNode {
  // The kernel's number, as in /sys/devices/system/node/nodeID.
  int id = 0;
  // Ascending; empty on a node that has only memory.
  std::vector<int> cpus;
  // Distance to each node of the list, in list order; 10 is the node itself.
  std::vector<int> distances;
};

// Reads the online nodes from `sysfs` (/sys), sorted by id. A kernel without NUMA yields one node 0
// without CPUs. kInternal when a file of the tree cannot be read or parsed.
Result<std::vector<NumaNode>> numa_nodes(const std::string& sysfs = "/sys");

// Parses "0-3,8" to numbers; absent for any other text.
std::optional<std::vector<int>> parse_cpu_list(const std::string& text);

// Returns the index of the node whose CPUs are nearest to `node`: `node` itself when it has CPUs.
// kNotFound when no node of that id is online.
Result<std::size_t> nearest_node(const std::vector<NumaNode>& nodes, int node);
// Returns the index of the node with CPUs that is farthest from `node`. kFailedPrecondition when
// only the nearest node has CPUs.
Result<std::size_t> farthest_node(const std::vector<NumaNode>& nodes, int node);

// Returns the bytes that the node can give at once without taking memory from programs: free ones,
// and ones occupied by files. From its meminfo under `sysfs`; absent where meminfo lacks them.
std::optional<std::uint64_t> available_on_node(int node, const std::string& sysfs = "/sys");

// Binds the calling thread and its allocations to one node; the destructor restores the previous
// state. Threads started meanwhile are bound too and stay bound. Use on the thread that created it.
class NumaBinding {
 public:
  NumaBinding() = default;  // binds nothing
  NumaBinding(NumaBinding&& other) noexcept;
  NumaBinding& operator=(NumaBinding&& other) noexcept;
  ~NumaBinding() { restore(); }

  // Waives (kFailedPrecondition) when this process may use none of the node's CPUs. Where the
  // memory policy may not be set (a container's filter), only the CPUs are bound: see
  // memory_bound().
  static Result<NumaBinding> bind(const NumaNode& node);

  // Reports whether allocations are bound too.
  [[nodiscard]] bool memory_bound() const { return before_.memory_bound; }

 private:
  // Idempotent; a refused system call is ignored.
  void restore();

  using Mask = std::vector<unsigned long>;
  // The state before bind(), which restore() sets again.
  struct Before {
    Mask cpus{};  // empty: not bound
    // The policy and its nodes, where memory is bound.
    Mask policy_nodes{};
    int policy = 0;
    bool memory_bound = false;
  };
  Before before_;
};

}  // namespace railgauge
