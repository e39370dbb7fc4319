#include "controller/run/busy_nodes.h"

#include <fmt/format.h>

namespace railgauge::run {

bool BusyNodes::busy(const std::string& node, const std::string& why) {
  Node& known = nodes_[node];
  known.lost_at.reset();
  if (known.why == why && !known.why.empty()) return false;
  known.why = why.empty() ? "busy" : why;
  return true;
}

void BusyNodes::lost(const std::string& node, double now_seconds) {
  if (const auto known = nodes_.find(node); known != nodes_.end() && !known->second.lost_at)
    known->second.lost_at = now_seconds;
}

void BusyNodes::back(const std::string& node) {
  if (const auto known = nodes_.find(node); known != nodes_.end()) known->second.lost_at.reset();
}

bool BusyNodes::expire(double now_seconds) {
  return std::erase_if(nodes_, [&](const auto& node) {
           return node.second.lost_at && now_seconds >= *node.second.lost_at + kLostSeconds;
         }) > 0;
}

std::string BusyNodes::text() const {
  if (nodes_.empty()) return "";
  const auto& [name, node] = *nodes_.begin();
  std::string text = fmt::format("node {} is busy ({})", name, node.why);
  if (nodes_.size() > 1) text += fmt::format(" and {} more", nodes_.size() - 1);
  return text;
}

}  // namespace railgauge::run
