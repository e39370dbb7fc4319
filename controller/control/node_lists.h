// Lists of nodes: presence and work of the live fleet, stacks, facts and labels of the store.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/run_preparer.h"
#include "controller/nodes/pauses.h"
#include "controller/store/nodes/node_words.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Thread safe.
class NodeLists {
 public:
  // A page, and a list that may be old, is made of what the store said of all nodes so many seconds
  // ago at most.
  static constexpr double kPageSeconds = 2;
  static constexpr std::uint32_t kMostOfPage = 1'000;

  // The store outlives it.
  explicit NodeLists(const store::Store& store) : store_(store) {}

  // The fleet's nodes, copied: that takes the event loop's time.
  using Live = std::function<NodeStates()>;

  // The nodes that the request selects, in the order of their names. `held` are the pauses that
  // hold. kInvalidArgument: a wrong node set.
  Result<api::NodeList> list(const api::ListNodesRequest& request, const Live& live,
                             const Pauses::Held& held);

  // A page of them in few words, and how many there are. kInvalidArgument: a page of more than
  // kMostOfPage nodes, or an unknown state.
  Result<api::NodeHeads> heads(const api::NodeHeadsRequest& request, const Live& live,
                               const Pauses::Held& held);

 private:
  // All nodes at the time of the reading: those of the fleet, and stacks and labels that the store
  // has of them.
  struct Known {
    NodeStates live{};
    std::map<std::string, std::int64_t> stacks{};  // by name
    store::NodeWords words{};
    double read_seconds = 0;
  };
  struct Stack {
    store::StackParts parts{};
    std::string hash{};
  };
  // Stacks that an answer has read, by number: thousands of nodes have one.
  using Stacks = std::map<std::int64_t, Stack>;

  // All names, of the store and of the fleet, in order.
  [[nodiscard]] static std::vector<std::string> names_of(const Known& known,
                                                         const NodeStates& live);
  // Reads fleet and store, or returns the reading before if it may be old and is no older than
  // kPageSeconds. Callers wait for each other, so that pages that come together read once.
  [[nodiscard]] Result<std::shared_ptr<const Known>> known(const Live& live, bool may_be_old);
  // The stack of this number; 0 is an unknown one, which has no parts.
  [[nodiscard]] Result<const Stack*> stack(std::int64_t id, Stacks& stacks) const;
  // A node that only the store knows is read from there, with all that the store has of it.
  [[nodiscard]] Result<api::NodeInfo> info(const std::string& name, const Known& known,
                                           const NodeStates& live, Stacks& stacks,
                                           bool with_facts) const;
  // All nodes with their facts, which takes seconds for thousands of nodes.
  [[nodiscard]] Result<std::map<std::string, api::NodeInfo>> all_infos(
      const NodeStates& live) const;

  const store::Store& store_;
  // Guards the reading that is kept.
  std::mutex mutex_;
  std::shared_ptr<const Known> kept_{};
};

}  // namespace railgauge
