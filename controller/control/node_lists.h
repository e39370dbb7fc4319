// Lists of nodes: presence and work of the live fleet, stacks, facts and labels of the store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/node_reading.h"
#include "controller/control/run_preparer.h"
#include "controller/nodes/pauses.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Thread safe. A page, and a list that may be old, has presence and work of the nodes as they are
// now, and of the store what NodeReading::newest() returns.
class NodeLists {
 public:
  static constexpr std::uint32_t kMostOfPage = 1'000;

  // The store outlives it.
  explicit NodeLists(const store::Store& store);

  // The fleet's nodes. Each call takes the event loop's time: for copies of nodes far more than for
  // the heads of all.
  struct Live {
    std::function<NodeStates()> all{};
    std::function<NodeStates(const std::vector<std::string>& names)> of{};
    std::function<std::vector<LiveHead>()> heads{};  // by name
  };

  // The nodes that the request selects, in the order of their names. `held` are the pauses that
  // hold. kInvalidArgument: a wrong node set.
  Result<api::NodeList> list(const api::ListNodesRequest& request, const Live& live,
                             const Pauses::Held& held);

  // A page of them in few words, and how many there are. kInvalidArgument: a page of more than
  // kMostOfPage nodes, or an unknown state.
  Result<api::NodeHeads> heads(const api::NodeHeadsRequest& request, const Live& live,
                               const Pauses::Held& held);

 private:
  struct Stack {
    store::StackParts parts{};
    std::string hash{};
  };
  // The names that a list is of, and those of them in the fleet.
  struct Chosen {
    std::vector<std::string> names{};
    NodeStates live{};
  };
  [[nodiscard]] Result<Chosen> choose(const api::ListNodesRequest& request, const Live& live,
                                      const StoredNodes& stored) const;
  // The stack of this number; 0 is an unknown one, which has no parts.
  [[nodiscard]] Result<std::shared_ptr<const Stack>> stack(std::int64_t id);
  // A node that only the store knows is read from there, with all that the store has of it.
  [[nodiscard]] Result<api::NodeInfo> info(const std::string& name, const StoredNodes& stored,
                                           const NodeStates& live, bool with_facts);
  // All nodes with their facts, which takes seconds for thousands of nodes.
  [[nodiscard]] Result<std::map<std::string, api::NodeInfo>> all_infos(
      const NodeStates& live) const;

  const store::Store& store_;
  std::mutex stacks_mutex_;  // guards the stacks
  // By number. A stack never changes, and thousands of nodes have one.
  std::map<std::int64_t, std::shared_ptr<const Stack>> stacks_{};
  NodeReading reading_;
};

}  // namespace railgauge
