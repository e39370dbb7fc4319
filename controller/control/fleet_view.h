// The nodes that the controller knows, read from worker threads: live ones from the fleet, earlier
// ones from the store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/store/store.h"

namespace railgauge {

// Nodes by name.
using NodeStates = std::map<std::string, fleet::NodeState>;

// Thread safe: each function asks the event loop, the store, or both. Do not call on the loop.
class FleetView {
 public:
  // All references outlive the view.
  FleetView(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store)
      : loop_(loop), fleet_(fleet), store_(store) {}

  // Nodes that attached at least once in this controller's life, also lost ones.
  [[nodiscard]] NodeStates live() const;
  // The live nodes, and those that only the store knows as lost.
  [[nodiscard]] Result<NodeStates> all() const;
  // The names of `live` and of the store's nodes, in order and without duplicates.
  [[nodiscard]] Result<std::vector<std::string>> names(const NodeStates& live) const;

 private:
  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;
  store::Store& store_;
};

}  // namespace railgauge
