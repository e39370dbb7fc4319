#include "controller/analysis/suspects_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railgauge::localise {
namespace {

std::string node_name(const PairData& data, std::int32_t node) {
  return data.nodes[static_cast<std::size_t>(node)];
}

std::string leaf_name(const PairData& data, std::int32_t leaf) {
  return "leaf " + data.leaves[static_cast<std::size_t>(leaf)];
}

std::string rail_words(const Element& element) {
  return element.rail < 0 ? "all rails" : fmt::format("rail {}", element.rail);
}

std::string_view of_node(const Element& element) {
  switch (element.direction) {
    case Direction::kSends:
      return "sends";
    case Direction::kReceives:
      return "receives";
    case Direction::kBoth:
      break;
  }
  return "sends and receives";
}

std::string_view of_group(const Element& element) {
  switch (element.direction) {
    case Direction::kSends:
      return " (what leaves it)";
    case Direction::kReceives:
      return " (what reaches it)";
    case Direction::kBoth:
      break;
  }
  return "";
}

// Where to look.
std::string_view cause_of(const Element& element) {
  const bool gpu = element.memory == "gpu";
  switch (element.kind) {
    case Kind::kPort:
      if (gpu) return "the path between GPU and NIC (ACS, distance, peer memory, BAR)";
      if (!element.memory.empty()) return "the path between that memory and the NIC";
      if (element.intermittent) return "a flapping NIC, cable or switch port";
      if (element.direction == Direction::kSends)
        return "NIC, PCIe slot, cable or switch port, sending side";
      if (element.direction == Direction::kReceives)
        return "NIC, PCIe slot, cable or switch port, receiving side (pause, PCIe credits)";
      return "NIC, PCIe slot, cable or switch port";
    case Kind::kNode:
      if (gpu) return "the GPUs' side of the node (PCIe switch, ACS, peer memory)";
      return "the host (governor, NUMA, IOMMU, throttling), since all its rails are slow";
    case Kind::kRail:
      return "what the rail has in common: its switches or its setting on all nodes";
    case Kind::kLeaf:
      return "the leaf switch";
    case Kind::kUplink:
      return element.intermittent ? "one of the leaf's links to the spines"
                                  : "the leaf's links to the spines";
    case Kind::kTrunk:
      return "what connects the two leaves";
    case Kind::kSpine:
      return "one spine switch";
    case Kind::kPair:
      return "the path between the two: a routing collision or one link on it";
  }
  return "";
}

}  // namespace

std::string_view kind_word(Kind kind) {
  switch (kind) {
    case Kind::kPort:
      return "port";
    case Kind::kNode:
      return "node";
    case Kind::kRail:
      return "rail";
    case Kind::kLeaf:
      return "leaf";
    case Kind::kUplink:
      return "uplink";
    case Kind::kTrunk:
      return "trunk";
    case Kind::kSpine:
      return "spine";
    case Kind::kPair:
      return "pair";
  }
  return "";
}

std::string_view direction_word(Direction direction) {
  switch (direction) {
    case Direction::kSends:
      return "sends";
    case Direction::kReceives:
      return "receives";
    case Direction::kBoth:
      return "both";
  }
  return "";
}

std::string name_of(const PairData& data, const Element& element) {
  const std::string rail = rail_words(element);
  switch (element.kind) {
    case Kind::kPort:
      return fmt::format("{} {}", node_name(data, element.first), rail);
    case Kind::kNode:
      return node_name(data, element.first);
    case Kind::kRail:
      return rail;
    case Kind::kLeaf:
      return fmt::format("{}, {}", leaf_name(data, element.first), rail);
    case Kind::kUplink:
      return fmt::format("{} to the spines, {}", leaf_name(data, element.first), rail);
    case Kind::kTrunk:
      return fmt::format("{} {} {}, {}", leaf_name(data, element.first),
                         element.direction == Direction::kBoth ? "and" : "to",
                         leaf_name(data, element.second), rail);
    case Kind::kSpine:
      return fmt::format("a spine, {}", rail);
    case Kind::kPair:
      return fmt::format("{} {} {}, {}", node_name(data, element.first),
                         element.direction == Direction::kBoth ? "and" : "to",
                         node_name(data, element.second), rail);
  }
  return "";
}

std::string sentence_of(const PairData& data, const Suspect& suspect) {
  const Element& element = suspect.element;
  const bool node = element.kind == Kind::kPort || element.kind == Kind::kNode;
  const bool one_side = element.kind == Kind::kLeaf || element.kind == Kind::kUplink;
  std::string text = name_of(data, element);
  if (node)
    text += fmt::format(" {}", of_node(element));
  else
    text += fmt::format("{}: pairs over it are", one_side ? of_group(element) : "");
  text += fmt::format(
      " {:.1f} % {} than expected", suspect.drop * 100,
      data.model == Model::kMinimum ? (node ? "less" : "slower") : (node ? "later" : "later"));
  if (!element.memory.empty()) text += fmt::format(" with {} memory alone", element.memory);
  text += fmt::format(", in {:.0f} of {:.0f} tasks: ", suspect.slow_tasks, suspect.tasks);
  if (suspect.confirmed)
    text += cause_of(element);
  else
    text += suspect.doubt.empty() ? "seen once only, so nothing is called bad; measure it again"
                                  : suspect.doubt;
  if (!suspect.ruled_out.empty()) text += fmt::format("; {}", fmt::join(suspect.ruled_out, "; "));
  return text;
}

}  // namespace railgauge::localise
