#include "controller/store/ingest/node_changes.h"

#include <utility>

namespace railgauge::store {
namespace {

constexpr double kHourSeconds = 3'600;
constexpr double kDaysSeconds = 24 * kHourSeconds;

}  // namespace

void NodeChanges::Window::begin_at(double now, double seconds) {
  if (now < since || now >= since + seconds) *this = {.since = now};
}

NodeChanges::Answer NodeChanges::take(std::string_view node, std::int64_t content, double now) {
  auto found = nodes_.find(node);
  if (found == nodes_.end()) found = nodes_.emplace(std::string(node), Node{}).first;
  Node& of_node = found->second;
  if (of_node.is_known && of_node.content == content) return {};
  of_node.hour.begin_at(now, kHourSeconds);
  of_node.day.begin_at(now, kDaysSeconds);
  if (of_node.hour.used >= kMostAnHour || of_node.day.used >= kMostADay) {
    ++of_node.left_out;
    return {.may_store = false, .is_first_left_out = of_node.left_out == 1};
  }
  ++of_node.hour.used;
  ++of_node.day.used;
  of_node.content = content;
  of_node.is_known = true;
  return {.left_out_before = std::exchange(of_node.left_out, 0)};
}

}  // namespace railgauge::store
