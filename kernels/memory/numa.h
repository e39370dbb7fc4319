// Where the CPU's side of a task runs and has its memory: the nodes of the machine, and the calling
// thread bound to one of them. By raw system calls: libnuma is on few machines.
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
  // Ascending; none on a node that is only memory.
  std::vector<int> cpus;
  // To each node of the list, in its order; 10 is the node itself.
  std::vector<int> distances;
};

// The nodes that are online, from `sysfs` (/sys), by id. A kernel without NUMA is one node 0 with
// no CPUs named. kInternal when a file of the tree cannot be read or parsed.
Result<std::vector<NumaNode>> numa_nodes(const std::string& sysfs = "/sys");

// "0-3,8" as numbers; nothing when it is no such list.
std::optional<std::vector<int>> parse_cpu_list(const std::string& text);

// The index of the node that runs nearest to `node`: itself, or where it has no CPUs the nearest
// one that has. kNotFound when no node of that id is online.
Result<std::size_t> nearest_node(const std::vector<NumaNode>& nodes, int node);
// The index of the node with CPUs that is farthest from `node`. kFailedPrecondition when there is
// none but the nearest.
Result<std::size_t> farthest_node(const std::vector<NumaNode>& nodes, int node);

// The bytes that the node can give at once without taking memory from programs: free, and occupied
// by files. From its meminfo under `sysfs`; nothing where that lacks them.
std::optional<std::uint64_t> available_on_node(int node, const std::string& sysfs = "/sys");

// The calling thread and what it allocates on one node; as before when this goes. Threads that are
// started meanwhile are bound too, and stay so. Belongs to the thread that made it.
class NumaBinding {
 public:
  NumaBinding() = default;  // binds nothing
  NumaBinding(NumaBinding&& other) noexcept;
  NumaBinding& operator=(NumaBinding&& other) noexcept;
  ~NumaBinding() { restore(); }

  // Waives (kFailedPrecondition) when none of the node's CPUs is allowed to this process. Where the
  // memory policy may not be set (a container's filter), only the CPUs are bound: see memory_bound.
  static Result<NumaBinding> bind(const NumaNode& node);

  // Whether allocations are bound too.
  [[nodiscard]] bool memory_bound() const { return before_.memory_bound; }

 private:
  // Idempotent; refusals are ignored.
  void restore();

  using Mask = std::vector<unsigned long>;
  // The state that restore() sets.
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
