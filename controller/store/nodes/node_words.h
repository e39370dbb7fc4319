// Writes and reads people's words about nodes: labels, groups and pauses. The writers run inside
// the writer's transaction, the readers inside a snapshot. Times are seconds since 1970 (UTC) by
// the controller's clock.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The kinds of a pause's events.
inline constexpr std::string_view kPausedKind = "maintenance_paused";
inline constexpr std::string_view kResumedKind = "maintenance_resumed";
inline constexpr std::string_view kPauseOverKind = "maintenance_over";

// A node's maintenance.
struct PauseRow {
  std::string node{};  // its present name; filled in by the store
  double since = 0;
  double until = 0;  // as it was asked for
  std::string who{};
  std::string reason{};
  std::optional<double> ended_at{};  // absent: it is paused
  std::string ended_by{};            // "" of one that ended by itself
};

// Pauses the nodes of these names, with an event each; a pause that they have ends. kNotFound: no
// node has the name now.
Status write_pauses(Connection& connection, const std::vector<std::string>& nodes,
                    const PauseRow& pause);
// Ends the pauses of the nodes, with an event each. A node that is not paused is no error.
Status write_pauses_end(Connection& connection, const std::vector<std::string>& nodes,
                        const std::string& who, double at);
// Ends the pauses whose time is over, with an event each.
Status write_pauses_over(Connection& connection, double now);

// Returns the pauses that hold, by node.
Result<std::vector<PauseRow>> read_open_pauses(Connection& connection);
// Returns the pauses that held at `since` or later, by node and time.
Result<std::vector<PauseRow>> read_pauses_since(Connection& connection, double since);

// Labels by a node's present name, and node sets by a group's name.
struct NodeWords {
  std::map<std::string, TextMap, std::less<>> labels{};
  std::map<std::string, std::string, std::less<>> groups{};
};
Result<NodeWords> read_node_words(Connection& connection);
// Replaces the labels and groups of the site profile.
Status write_site_words(Connection& connection, const NodeWords& words);

}  // namespace railgauge::store
