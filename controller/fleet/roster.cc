#include "controller/fleet/roster.h"

#include <fmt/format.h>

namespace railgauge::fleet {

// An empty incarnation marks the node as recalled: its agent has not attached to this process.
void Roster::recall(const std::string& name, const std::string& node_id, double now) {
  nodes_[name] = {.node_id = node_id,
                  .incarnation = {},
                  .presence = NodePresence::kDetached,
                  .since = now,
                  .last_seen = now};
}

// The same incarnation is the same agent process, whose runners may still be alive. Another one of
// the same node id is a restart. A second stream of one agent replaces the first: the first may
// hang in a dead connection.
Result<Roster::Attached> Roster::attach(Session session, const std::string& name,
                                        const std::string& node_id, const std::string& incarnation,
                                        double now) {
  Node& node = nodes_[name];
  const bool held = node.presence != NodePresence::kLost;
  if (held && node.node_id != node_id)
    return fail(
        Code::kAlreadyExists,
        fmt::format("the name {} is held by node id {}, so id {} cannot take it; give the node "
                    "another name or stop the other agent",
                    name, node.node_id, node_id));
  Attached attached{Arrival::kNew, std::nullopt};
  if (held && !node.incarnation.empty())
    attached.arrival = node.incarnation == incarnation ? Arrival::kResumed : Arrival::kRestarted;
  if (node.presence == NodePresence::kAttached) {
    attached.replaced = node.session;
    sessions_.erase(node.session);
  }
  node = {node_id, incarnation, session, NodePresence::kAttached, now, now};
  sessions_[session] = name;
  return attached;
}

// Grace begins now: until it is over the node keeps its tasks.
std::optional<std::string> Roster::detach(Session session, double now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  std::string name = found->second;
  sessions_.erase(found);
  Node& node = nodes_[name];
  node.presence = NodePresence::kDetached;
  node.since = now;
  return name;
}

// Sessions that were replaced are unknown here, so a late message of theirs does not count.
void Roster::seen(Session session, double now) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) nodes_[found->second].last_seen = now;
}

// Silent streams are only reported: the caller aborts them, and detach() follows. A recalled node
// that never came is not reported as lost, because no task of this process can be on it.
Roster::Expired Roster::expire(double now) {
  Expired expired;
  for (auto& [name, node] : nodes_) {
    if (node.presence == NodePresence::kAttached &&
        now >= node.last_seen + options_.silence_seconds)
      expired.silent.push_back(node.session);
    const bool recalled = node.incarnation.empty();
    const double grace = recalled ? options_.recall_seconds : options_.grace_seconds;
    if (node.presence != NodePresence::kDetached || now < node.since + grace) continue;
    node.presence = NodePresence::kLost;
    node.since = now;
    // Else nobody here had it to lose.
    if (!recalled) expired.lost.push_back(name);
  }
  return expired;
}

const Roster::Node* Roster::find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace railgauge::fleet
