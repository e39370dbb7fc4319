// Parts of the nodes' rows, for readers that need no more. All facts and endpoints of 10,000 nodes
// take the store five seconds, and a gigabyte.
#pragma once

#include <string>
#include <vector>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// NodeRow::described of the node that has the name now; empty where there is none.
Result<TextMap> read_described(Connection& connection, const std::string& name);

struct KnownNodeRow {
  std::string name{};
  std::string node_id{};
  double first_seen_at = 0;
};
// All nodes by name; of several nodes that had a name, the one seen last.
Result<std::vector<KnownNodeRow>> read_known_nodes(Connection& connection);

// By what a node's place in the fabric is found.
struct PlaceWanted {
  std::vector<std::string> names{};  // of nodes; empty: all
  std::vector<std::string> facts{};  // names of facts
};
// The nodes as read_nodes() has them, but of facts only those wanted, without settings, and of
// endpoints the ports with device, slot, netdev and GUID alone.
Result<std::vector<NodeRow>> read_placed_nodes(Connection& connection, const PlaceWanted& wanted);

}  // namespace railgauge::store
