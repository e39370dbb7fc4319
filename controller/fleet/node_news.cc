// Reports of agents about their nodes beside tasks: busy or idle, and the events of their watch.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/fleet.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {
namespace {

constexpr int kMostReasons = 4;
constexpr std::size_t kMostTextBytes = 512;
constexpr double kEventsAMinute = 60;  // of a node, so that a bad port does not fill the store
constexpr double kMinute = 60;

std::string short_line(const std::string& text) {
  std::string line = valid_utf8(text.substr(0, kMostTextBytes));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

// Kinds and severities that the store may have: an agent's words are not trusted to be few.
std::string known_word(const std::string& word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) == words.end() ? "other" : word;
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
  const std::string& name = node.hello.name();
  const std::string words = busy_text(node);
  const std::string text = after.empty() ? fmt::format("node {} is idle", name)
                                         : fmt::format("node {} is busy: {}", name, words);
  spdlog::info("{}", text);
  event(after.empty() ? "node_idle" : "node_busy", node.hello.node_id(), text);
  if (listener_ == nullptr) return;
  if (after.empty())
    listener_->node_idle(name);
  else
    listener_->node_busy(name, words);
}

void Fleet::on_events(NodeState& node, const api::Heartbeat& heartbeat) {
  constexpr std::array<std::string_view, 7> kKinds{
      "counter", "xid", "sxid", "device_vanished", "device_returned", "watch", "row_remap"};
  constexpr std::array<std::string_view, 3> kSeverities{"info", "warn", "fail"};
  const double now = monotonic_seconds();
  if (now - node.events_since >= kMinute) {
    node.events_since = now;
    node.events_left = kEventsAMinute;
  }
  for (const api::NodeEvent& told : heartbeat.events()) {
    if (node.events_left < 1) {
      if (node.events_left == 0)
        spdlog::warn("node {}: more than {} events a minute; the rest is not stored",
                     node.hello.name(), kEventsAMinute);
      node.events_left = -1;
      return;
    }
    --node.events_left;
    event("watch_" + known_word(told.kind(), kKinds), node.hello.node_id(),
          fmt::format("{}: {}", known_word(told.severity(), kSeverities), short_line(told.text())));
  }
}

}  // namespace railgauge::fleet
