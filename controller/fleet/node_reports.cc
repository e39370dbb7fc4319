// Reports of agents about their nodes beside tasks: busy or idle, and the events of their watch.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/hello_check.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {

namespace {

constexpr int kMostReasons = 4;
constexpr std::uint32_t kEventsAMinute = 60;  // of a node: a bad port must not fill the store
constexpr std::uint32_t kEventsADay = 2'000;  // likewise

// Kinds and severities that the store may have: an agent's words are not trusted to be few.
std::string known_word(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) == words.end() ? "other" : std::string(word);
}

std::set<std::string> sources_of(const api::BusyState& state) {
  std::set<std::string> sources;
  for (const api::BusyReason& reason : state.reasons()) sources.insert(reason.source());
  return sources;
}

}  // namespace

std::string busy_text(const NodeState& node) {
  std::string text;
  if (!node.busy) return text;
  for (int i = 0; i < std::min(node.busy->reasons_size(), kMostReasons); ++i)
    text += short_line(fmt::format("{}{}: {}", i == 0 ? "" : "; ", node.busy->reasons(i).source(),
                                   node.busy->reasons(i).text()));
  return text;
}

void Fleet::on_busy(NodeState& node, std::optional<api::BusyState> now) {
  const std::set<std::string> before = node.busy ? sources_of(*node.busy) : std::set<std::string>{};
  const std::set<std::string> after = now ? sources_of(*now) : std::set<std::string>{};
  node.busy = std::move(now);
  if (before == after) return;
  const std::string& name = node.hello->name();
  const std::string words = busy_text(node);
  const std::string text = after.empty() ? fmt::format("node {} is idle", name)
                                         : fmt::format("node {} is busy: {}", name, words);
  if (node_event(node, after.empty() ? "node_idle" : "node_busy", text)) spdlog::info("{}", text);
  if (listener_ == nullptr) return;
  if (after.empty())
    listener_->node_idle(name);
  else
    listener_->node_busy(name, words);
}

void Fleet::set_paused(std::map<std::string, std::string> paused) {
  const std::map<std::string, std::string> before = std::exchange(paused_, std::move(paused));
  if (listener_ == nullptr) return;
  for (const auto& [name, why] : paused_)
    if (const auto old = before.find(name); old == before.end() || old->second != why)
      listener_->node_paused(name, why);
  for (const auto& [name, why] : before)
    if (!paused_.contains(name)) listener_->node_unpaused(name);
}

std::string Fleet::held_text(const std::string& name, bool in_spite_of_pause) const {
  if (const auto pause = paused_.find(name); pause != paused_.end() && !in_spite_of_pause)
    return pause->second;
  const auto node = nodes_.find(name);
  return node == nodes_.end() ? "" : busy_text(node->second);
}

void Fleet::on_events(NodeState& node, const api::Heartbeat& heartbeat) {
  constexpr std::array<std::string_view, 7> kKinds{
      "counter", "xid", "sxid", "device_vanished", "device_returned", "watch", "row_remap"};
  constexpr std::array<std::string_view, 3> kSeverities{severity::kInfo, severity::kWarning,
                                                        severity::kCritical};
  for (const api::NodeEvent& told : heartbeat.events())
    node_event(node, "watch_" + known_word(told.kind(), kKinds),
               fmt::format("{}: {}", known_word(severity::present(told.severity()), kSeverities),
                           short_line(told.text())));
}

// An event that the agent causes, within the node's numbers of a minute and a day. Beyond them,
// false: it is worth no line of the log either.
bool Fleet::node_event(NodeState& node, std::string kind, const std::string& text) {
  constexpr double kDaySeconds = 24 * 3600;
  const bool was_within =
      node.events.used <= kEventsAMinute && node.days_events.used <= kEventsADay;
  if (node.events.take(calendar_seconds(), kEventsAMinute) &&
      node.days_events.take(calendar_seconds(), kEventsADay, kDaySeconds)) {
    event(std::move(kind), node.hello->node_id(), text);
    return true;
  }
  if (was_within)
    spdlog::warn("node {}: more than {} events a minute, or {} a day; the rest is not stored",
                 node.hello->name(), kEventsAMinute, kEventsADay);
  return false;
}

}  // namespace railgauge::fleet
