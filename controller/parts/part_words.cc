#include "controller/parts/part_words.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

std::string_view side_words(const Element& element) {
  if (element.direction == Direction::kBoth) return "";
  return element.direction == Direction::kSends ? ", sending" : ", receiving";
}

std::string rail_text(std::int32_t rail) {
  return rail < 0 ? std::string("all rails") : fmt::format("rail {}", rail);
}

// The likely cause.
std::string_view cause_of_part(const Element& element) {
  switch (element.kind) {
    case Kind::kPort:
      return element.memory.empty() ? "its NIC, cable or switch port"
                                    : "the path between its GPU and its NIC";
    case Kind::kNode:
      return element.memory.empty() ? "what its ports share: CPU, memory, settings"
                                    : "what its GPUs share: PCIe switches, IOMMU, driver";
    case Kind::kRail:
      return "what this rail's nodes share";
    case Kind::kLeaf:
      return "the leaf switch";
    case Kind::kUplink:
      return "the leaf's links to the spines";
    case Kind::kTrunk:
      return "the links between the two leaves";
    case Kind::kSpine:
      return "one spine switch";
    case Kind::kPair:
      return "the path between the two";
  }
  return "";
}

// Adds "WHAT as expected (x %)" where the level of the last night is small.
void rule_out(const Tables& tables, TableId id, std::size_t part, std::string_view what,
              PartFinding& finding) {
  const Table& table = tables.table(id);
  if (part >= table.parts) return;
  const Level& level = table.at(tables.nights() - 1, part);
  if (!level.known() || static_cast<double>(level.loss) > finding.loss / 3) return;
  finding.ruled_out.push_back(
      fmt::format("{} as expected ({:+.1f} %)", what, -100 * static_cast<double>(level.loss)));
}

}  // namespace

PartNames names_of(const Levels& levels) {
  PartNames names{.leaves = levels.leaves};
  for (const NightNode& node : levels.nodes) names.nodes.push_back(node.name);
  return names;
}

std::string part_name(const Levels& levels, const Element& element) {
  return part_name(names_of(levels), element);
}

std::string part_name(const PartNames& names, const Element& element) {
  const auto node = [&](std::int32_t number) -> const std::string& {
    return names.nodes[static_cast<std::size_t>(number)];
  };
  const auto leaf = [&](std::int32_t number) {
    return fmt::format("leaf {}", names.leaves[static_cast<std::size_t>(number)]);
  };
  const bool both = element.direction == Direction::kBoth;
  switch (element.kind) {
    case Kind::kPort:
      return fmt::format("{} rail {}{}{}", node(element.first), element.rail,
                         element.memory.empty() ? "" : " GPU path", side_words(element));
    case Kind::kNode:
      return fmt::format("{}{}{}", node(element.first), element.memory.empty() ? "" : " GPU paths",
                         side_words(element));
    case Kind::kRail:
      return rail_text(element.rail);
    case Kind::kLeaf:
      return fmt::format("{}, {}{}", leaf(element.first), rail_text(element.rail),
                         side_words(element));
    case Kind::kUplink:
      return fmt::format("{} to the spines, {}{}", leaf(element.first), rail_text(element.rail),
                         side_words(element));
    case Kind::kTrunk:
      return fmt::format("{} {} {}, {}", leaf(element.first), both ? "and" : "to",
                         leaf(element.second), rail_text(element.rail));
    case Kind::kSpine:
      return fmt::format("a spine, {}", rail_text(element.rail));
    case Kind::kPair:
      return fmt::format("{} {} {}, {}", node(element.first), both ? "and" : "to",
                         node(element.second), rail_text(element.rail));
  }
  return "";
}

std::string lasting_name(const PartNames& names, Element element) {
  element.direction = Direction::kBoth;
  element.intermittent = false;
  if (element.kind == Kind::kUplink) element.kind = Kind::kLeaf;
  const auto& list = element.kind == Kind::kTrunk ? names.leaves : names.nodes;
  if (element.second >= 0 && list[static_cast<std::size_t>(element.second)] <
                                 list[static_cast<std::size_t>(element.first)])
    std::swap(element.first, element.second);
  return part_name(names, element);
}

void add_words(const Tables& tables, PartFinding& finding) {
  const Element& element = finding.element;
  const auto first = static_cast<std::size_t>(std::max(element.first, 0));
  const std::size_t rails = tables.rails();
  const std::size_t port = first * rails + static_cast<std::size_t>(std::max(element.rail, 0));
  if (element.kind == Kind::kPort) {
    if (!element.memory.empty()) rule_out(tables, TableId::kPort, port, "its port", finding);
    if (element.memory.empty()) rule_out(tables, TableId::kGpu, port, "its GPU path", finding);
    if (element.direction == Direction::kSends)
      rule_out(tables, element.memory.empty() ? TableId::kPortReceives : TableId::kGpuReceives,
               port, "receiving", finding);
    if (element.direction == Direction::kReceives)
      rule_out(tables, element.memory.empty() ? TableId::kPortSends : TableId::kGpuSends, port,
               "sending", finding);
  }
  if (localise::is_of_node(element))
    if (const std::int32_t leaf = tables.last().nodes[first].leaf; leaf >= 0)
      rule_out(tables, TableId::kLeaf, static_cast<std::size_t>(leaf), "its leaf", finding);
  if (element.kind == Kind::kTrunk)
    for (const std::int32_t leaf : {element.first, element.second})
      rule_out(tables, TableId::kLeaf, static_cast<std::size_t>(leaf),
               fmt::format("leaf {}", tables.last().leaves[static_cast<std::size_t>(leaf)]),
               finding);
  finding.sentence =
      fmt::format("{}: {:.1f} % worse than {} (95 %: {:.1f} to {:.1f}), on {} of {} nights: {}{}",
                  part_name(tables.last(), element), 100 * finding.loss,
                  finding.is_change ? "before" : "its peers", 100 * finding.low, 100 * finding.high,
                  finding.bad_nights, finding.nights, cause_of_part(element),
                  finding.confirmed ? "" : "; not confirmed, measure it again");
  if (!finding.ruled_out.empty())
    finding.sentence += fmt::format("; {}", fmt::join(finding.ruled_out, "; "));
}

}  // namespace railgauge::parts
