#include "controller/fleet/roster.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace railgauge::fleet {

namespace {

constexpr std::size_t kMostReplaced = 8;

// The cure for an id that two machines have.
std::string copied_folder_words(const std::string& owner, const std::string& name) {
  return fmt::format(
      "if this machine is a clone, its state folder was copied: delete agent-node-id in it and "
      "restart its agent; if the host {} was renamed: railgauge nodes rename {} {}",
      owner, owner, name);
}

}  // namespace

void Roster::recall(const std::string& name, const std::string& node_id, double now,
                    const std::string& certificate) {
  bonds_[node_id] = {name, certificate};
  nodes_[name] = {.node_id = node_id,
                  .incarnation = {},
                  .presence = NodePresence::kDetached,
                  .since = now,
                  .last_seen = now};
  next_end_ = std::min(next_end_, end_of(nodes_[name]));
}

Status Roster::check_bond(const std::string& name, const std::string& node_id,
                          const std::string& certificate) const {
  const bool is_reserved = std::ranges::any_of(renaming_, [&](const auto& renamed) {
    return renamed.first == node_id || renamed.second == name;
  });
  if (is_reserved)
    return fail(Code::kUnavailable, fmt::format("node {} is being renamed; try again", name));
  const auto found = bonds_.find(node_id);
  if (found == bonds_.end()) return {};
  const Bond& bond = found->second;
  const std::string& bound = bond.certificate.empty() ? bond.name : bond.certificate;
  if (!certificate.empty() && certificate != bound)
    return fail(
        Code::kPermissionDenied,
        fmt::format("node id {} belongs to node {}, and the certificate is for {}; {}", node_id,
                    bond.name, certificate, copied_folder_words(bond.name, certificate)));
  if (bond.name != name)
    return fail(Code::kAlreadyExists,
                fmt::format("node id {} belongs to node {}, so {} cannot have it; {}", node_id,
                            bond.name, name, copied_folder_words(bond.name, name)));
  return {};
}

// A process that another one replaced can come back only if both are alive.
Status Roster::check_holder(const std::string& name, const std::string& node_id,
                            const std::string& incarnation) const {
  const Node* node = find(name);
  if (node == nullptr || node->presence == NodePresence::kLost) return {};
  if (node->node_id != node_id)
    return fail(
        Code::kAlreadyExists,
        fmt::format("the name {} is held by node id {}, so id {} cannot take it; give the node "
                    "another name or stop the other agent",
                    name, node->node_id, node_id));
  if (std::ranges::find(node->replaced, incarnation) == node->replaced.end()) return {};
  return fail(Code::kAlreadyExists,
              fmt::format("two agents take turns as node {} with node id {}: its state folder was "
                          "copied; on the copy give the node another name, delete agent-node-id in "
                          "the folder and restart its agent",
                          name, node_id));
}

Result<Roster::Attached> Roster::attach(Session session, const std::string& name,
                                        const std::string& node_id, const std::string& incarnation,
                                        double now, const std::string& certificate) {
  RG_TRY_OK(check_bond(name, node_id, certificate));
  RG_TRY_OK(check_holder(name, node_id, incarnation));
  Node& node = nodes_[name];
  const bool held = node.presence != NodePresence::kLost;
  Attached attached{Arrival::kNew, std::nullopt};
  if (held && !node.incarnation.empty())
    attached.arrival = node.incarnation == incarnation ? Arrival::kResumed : Arrival::kRestarted;
  std::vector<std::string> replaced = held ? std::move(node.replaced) : std::vector<std::string>{};
  if (node.presence == NodePresence::kAttached) {
    attached.replaced = node.session;
    sessions_.erase(node.session);
    if (attached.arrival == Arrival::kRestarted) replaced.push_back(node.incarnation);
    if (replaced.size() > kMostReplaced) replaced.erase(replaced.begin());
  }
  node = {node_id, incarnation, session, NodePresence::kAttached, now, now, std::move(replaced)};
  sessions_[session] = name;
  next_end_ = std::min(next_end_, end_of(node));
  Bond& bond = bonds_[node_id];
  bond.name = name;
  if (!certificate.empty()) bond.certificate = certificate;
  return attached;
}

Result<std::string> Roster::begin_rename(const std::string& from, const std::string& to) {
  const auto found = nodes_.find(from);
  if (found == nodes_.end())
    return fail(Code::kNotFound, fmt::format("node {}: rename: the controller does not know it; "
                                             "railgauge nodes lists those it knows",
                                             from));
  if (found->second.presence == NodePresence::kAttached)
    return fail(Code::kFailedPrecondition,
                fmt::format("node {}: rename: it is attached under this name; stop its agent, or "
                            "restart it under the name {}, then rename it",
                            from, to));
  const std::string id = found->second.node_id;
  for (const auto& [other, bond] : bonds_)
    if (bond.name == to && other != id)
      return fail(Code::kAlreadyExists,
                  fmt::format("node {}: rename: the name {} belongs to node id {}; choose another",
                              from, to, other));
  if (std::ranges::any_of(renaming_, [&](const auto& renamed) {
        return renamed.first == id || renamed.second == to;
      }))
    return fail(Code::kUnavailable,
                fmt::format("node {}: rename: a rename of {} is under way; try again", from, to));
  renaming_[id] = to;
  return id;
}

void Roster::end_rename(const std::string& node_id, const std::string& to, bool is_stored,
                        double now) {
  renaming_.erase(node_id);
  if (!is_stored) return;
  const Bond before = bonds_[node_id];
  // Another id may have taken the old name meanwhile.
  if (const Node* holder = find(before.name); holder != nullptr && holder->node_id == node_id)
    nodes_.erase(before.name);
  recall(to, node_id, now, before.certificate.empty() ? "" : to);
}

std::optional<std::string> Roster::detach(Session session, double now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return std::nullopt;
  std::string name = found->second;
  sessions_.erase(found);
  Node& node = nodes_[name];
  node.presence = NodePresence::kDetached;
  node.since = now;
  next_end_ = std::min(next_end_, end_of(node));
  return name;
}

void Roster::seen(Session session, double now) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  Node& node = nodes_[found->second];
  node.last_seen = std::max(node.last_seen, now);
}

double Roster::end_of(const Node& node) const {
  if (node.presence == NodePresence::kAttached) return node.last_seen + options_.silence_seconds;
  if (node.presence == NodePresence::kLost) return std::numeric_limits<double>::infinity();
  return node.since + (node.incarnation.empty() ? options_.recall_seconds : options_.grace_seconds);
}

// A message moves the end of a node's silence; that is seen when all nodes are gone through next.
Roster::Expired Roster::expire(double now) {
  Expired expired;
  if (now < next_end_) return expired;
  next_end_ = std::numeric_limits<double>::infinity();
  for (auto& [name, node] : nodes_) {
    const bool has_ended = now >= end_of(node);
    if (has_ended && node.presence == NodePresence::kAttached) {
      expired.silent.push_back(node.session);
    } else if (has_ended) {
      node.presence = NodePresence::kLost;
      node.since = now;
      // Nobody here had a recalled one to lose.
      if (!node.incarnation.empty()) expired.lost.push_back(name);
    }
    next_end_ = std::min(next_end_, end_of(node));
  }
  return expired;
}

const Roster::Node* Roster::find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace railgauge::fleet
