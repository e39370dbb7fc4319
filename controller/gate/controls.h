// The nodes of the fabric as they are now, and those of them that are controls: nodes that a change
// did not touch and that are measured beside those that it did. Called on worker threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/api/states.h"
#include "controller/control/control.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_reading.h"

namespace railgauge {

// The state of a node whose agent is connected, as Control lists it.
inline constexpr std::string_view kAttached = text_of(api::NodePresence::kAttached);

// Nodes as they report themselves now, by name.
using NodeInfos = std::map<std::string, api::NodeInfo>;

// Reads the nodes. The flush commits the stacks that attached agents reported: a node that is just
// back must not be judged by its old stack.
Result<NodeInfos> node_infos(Control& control, store::Store& store);
// The names of a node set. kInvalidArgument: it is empty.
Result<std::vector<std::string>> selected(Control& control, const std::string& node_set);
// Why a paused node is not measured.
std::string pause_of(const api::NodeInfo& node);
// kFailedPrecondition: a node is not attached, or is paused; the message names it and its state.
Status all_attached(const std::vector<std::string>& nodes, const NodeInfos& infos);

// As many controls as there are nodes, within kLeastControls and kMostControls: attached, idle and
// of the same hardware. Nodes with the stack that the upgraded nodes have, or had before, come
// first. A node that changed as well is none. `before`: the earlier stack of nodes that have
// changed already; absent: they are to change yet. A set of controls that the request names is
// taken as it is, "none" is none. `infos` has the first of the nodes.
Result<std::vector<std::string>> choose_controls(Control& control, store::Store& store,
                                                 const std::vector<std::string>& nodes,
                                                 const std::string& control_set,
                                                 const NodeInfos& infos,
                                                 const std::optional<Stay>& before);

}  // namespace railgauge
