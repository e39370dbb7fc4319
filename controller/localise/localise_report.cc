#include "controller/localise/localise_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/localise/localise_elements.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::localise {
namespace {

constexpr std::size_t kMostForMedian = 100'000;
// Drops below this share are reported as expected; the default of Options::least_drop.
constexpr double kAsExpected = 0.02;

// Counts the element's tasks and keeps the clearest of the slow ones as evidence. Medians are of
// the first kMostForMedian figures.
void add_figures(const PairData& data, const Cells& cells, const Found& found, Suspect& suspect) {
  const bool smaller = data.model == Model::kMinimum;
  const std::size_t n = cells.topology().nodes;
  // A whole rail is compared with the other rails.
  const double lift = found.element.kind == Kind::kRail ? 1 - (smaller ? 1 : -1) * found.drop : 1;
  std::vector<double> expected;
  std::vector<double> seen;
  std::vector<double> shares;
  const auto clearer = [smaller](const PairFigure& a, const PairFigure& b) {
    const double x = a.seen / a.expected;
    const double y = b.seen / b.expected;
    return smaller ? x < y : x > y;
  };
  auto& evidence = suspect.evidence;
  // The share that the last piece of evidence has.
  double clear_enough = 0;
  for (const std::size_t layer : found.layers) {
    const Layer& of = data.layers[layer];
    visit_pairs(cells.topology(), found.element, [&](std::int32_t from, std::int32_t to) {
      if (cells.bin(layer, from, to) == kNoFigure) return;
      const double usual = cells.expected(layer, from, to) / lift;
      const double value =
          of.values[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)];
      ++suspect.tasks;
      if (expected.size() < kMostForMedian) expected.push_back(usual);
      const double share = value / usual;
      if ((smaller ? 1 - share : share - 1) < found.drop / 2) return;
      ++suspect.slow_tasks;
      if (seen.size() < kMostForMedian) {
        seen.push_back(value);
        shares.push_back(share);
      }
      if (evidence.size() == kMaxEvidence &&
          !(smaller ? share < clear_enough : share > clear_enough))
        return;
      const PairFigure figure{.from = from,
                              .to = to,
                              .rail = of.rail,
                              .memory = of.memory,
                              .expected = usual,
                              .seen = value};
      evidence.insert(std::ranges::upper_bound(evidence, figure, clearer), figure);
      if (evidence.size() > kMaxEvidence) evidence.pop_back();
      clear_enough = evidence.back().seen / evidence.back().expected;
    });
  }
  suspect.expected = upper_median(expected);
  suspect.seen = upper_median(seen);
  // The search counts in bins, which end; what a person reads is measured.
  if (!shares.empty()) suspect.drop = (smaller ? 1 : -1) * (1 - upper_median(shares));
}

// Mean drop of the element's figures on some layers against the rest, and how many there are.
struct Drop {
  double drop = 0;
  double count = 0;
};
Drop drop_of(const Cells& cells, const Element& element, const std::vector<std::size_t>& layers) {
  Drop drop;
  for (const std::size_t layer : layers) {
    const Sums own = sums_of(cells, layer, element);
    if (own.count <= 0) continue;
    const double deviation = own.sum / own.count - rest_mean(cells, layer, own);
    drop.drop -= own.count * deviation * cells.layers()[layer].noise;
    drop.count += own.count;
  }
  if (drop.count > 0) drop.drop /= drop.count;
  return drop;
}

// "receiving is as expected", or how far it is not; "" without figures.
std::string drop_text(std::string_view what, const Drop& drop) {
  if (drop.count < 2) return "";
  if (std::abs(drop.drop) < kAsExpected) return fmt::format("{} as expected", what);
  return fmt::format("{} {:.1f} % {}", what, std::abs(drop.drop) * 100,
                     drop.drop > 0 ? "worse too" : "better");
}

// Adds phrases about other parts, so that an operator need not examine those as expected.
void add_ruled_out(const PairData& data, const Cells& cells, const Found& found, Suspect& suspect) {
  const auto add = [&suspect](std::string text) {
    if (!text.empty()) suspect.ruled_out.push_back(std::move(text));
  };
  const Element& element = found.element;
  const bool node = is_of_node(element);
  const auto layers_where = [&](auto keep) {
    std::vector<std::size_t> layers;
    for (std::size_t l = 0; l < cells.layers().size(); ++l)
      if (keep(cells.layers()[l])) layers.push_back(l);
    return layers;
  };
  Element other = element;
  if ((node || element.kind == Kind::kLeaf) && element.direction != Direction::kBoth) {
    const bool sends = element.direction == Direction::kSends;
    other.direction = sends ? Direction::kReceives : Direction::kSends;
    add(drop_text(node ? (sends ? "what it receives is" : "what it sends is")
                       : (sends ? "what reaches it is" : "what leaves it is"),
                  drop_of(cells, other, found.layers)));
    other = element;
  }
  const bool gpus = data.ends == Ends::kGpus;
  if (node && !element.memory.empty())
    add(drop_text(gpus ? "by other ways it is" : "other memory on the same port is",
                  drop_of(cells, other, layers_where([&](const auto& of) {
                            return of.memory != element.memory &&
                                   (element.rail < 0 || of.rail == element.rail);
                          }))));
  if (element.kind == Kind::kPort && !gpus)
    add(drop_text("its other rails are", drop_of(cells, other, layers_where([&](const auto& of) {
                                                   return of.rail != element.rail;
                                                 }))));
  const Topology& topology = cells.topology();
  if (node && topology.has_leaves) {
    const std::int32_t leaf = topology.leaf_of[static_cast<std::size_t>(element.first)];
    if (topology.nameable[static_cast<std::size_t>(leaf)]) {
      // A fault of the leaf would show in its mean whole, one of the node only by its part.
      const Element whole{
          .kind = Kind::kLeaf, .first = leaf, .rail = element.rail, .direction = element.direction};
      const Drop drop = drop_of(cells, whole, found.layers);
      if (drop.drop < found.drop / 2)
        add(gpus ? "the other GPUs of its node are as expected"
                 : "the other nodes of its leaf are as expected");
    }
  }
  if (element.kind == Kind::kPair)
    for (const std::int32_t end : {element.first, element.second}) {
      const Element port{.kind = Kind::kPort, .first = end, .rail = element.rail};
      add(drop_text(data.nodes[static_cast<std::size_t>(end)] + " with others is",
                    drop_of(cells, port, found.layers)));
    }
}

std::string node_name(const PairData& data, std::int32_t node) {
  return data.nodes[static_cast<std::size_t>(node)];
}

// Between GPUs the group is the host.
std::string leaf_name(const PairData& data, std::int32_t leaf) {
  return (data.ends == Ends::kGpus ? "node " : "leaf ") +
         data.leaves[static_cast<std::size_t>(leaf)];
}

std::string rail_words(const Element& element) {
  return element.rail < 0 ? "all rails" : fmt::format("rail {}", element.rail);
}

std::string_view of_node(const Element& element) {
  static constexpr std::array<std::string_view, 3> kWords{"sends", "receives",
                                                          "sends and receives"};
  return kWords.at(static_cast<std::size_t>(element.direction));
}

// The direction of a group of pairs, as a phrase in parentheses.
std::string_view of_group(const Element& element) {
  static constexpr std::array<std::string_view, 3> kWords{" (what leaves it)", " (what reaches it)",
                                                          ""};
  return kWords.at(static_cast<std::size_t>(element.direction));
}

// The likely cause between GPUs.
std::string_view cause_between_gpus(const Element& element) {
  if (is_of_node(element)) return "the GPU (clocks, throttling, its NVLinks or its PCIe link)";
  if (element.kind == Kind::kPair) return "the link between the two";
  return "the host (NVSwitches, PCIe, driver)";
}

// The likely cause of a slow element, as a phrase: where an operator looks first.
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

// Returns one line without a period: the slow part, its drop, its number of tasks, the likely cause
// and the excluded parts. Uses all other fields of `suspect`.
std::string sentence_of(const PairData& data, const Suspect& suspect) {
  const Element& element = suspect.element;
  const bool node = is_of_node(element);
  const bool one_side = element.kind == Kind::kLeaf || element.kind == Kind::kUplink;
  std::string text = name_of(data, element);
  if (node)
    text += fmt::format(" {}", of_node(element));
  else
    text += fmt::format("{}: pairs over it are", one_side ? of_group(element) : "");
  text += fmt::format(" {:.1f} % {} than expected", suspect.drop * 100,
                      data.model == Model::kMinimum ? (node ? "less" : "slower") : "later");
  const bool gpus = data.ends == Ends::kGpus;
  if (!element.memory.empty())
    text += gpus ? fmt::format(" by {} alone", element.memory)
                 : fmt::format(" with {} memory alone", element.memory);
  text += fmt::format(", in {:.0f} of {:.0f} tasks: ", suspect.slow_tasks, suspect.tasks);
  if (suspect.confirmed)
    text += gpus ? cause_between_gpus(element) : cause_of(element);
  else
    text += suspect.doubt.empty() ? "seen once only, so nothing is called bad; measure it again"
                                  : suspect.doubt;
  if (!suspect.ruled_out.empty()) text += fmt::format("; {}", fmt::join(suspect.ruled_out, "; "));
  return text;
}

}  // namespace

std::string_view kind_word_among(Ends ends, Kind kind) {
  if (ends == Ends::kNodes || kind == Kind::kPair) return kind_word(kind);
  return kind == Kind::kPort || kind == Kind::kNode ? "gpu" : "node";
}

std::string_view kind_word(Kind kind) {
  static constexpr std::array<std::string_view, 8> kWords{"port",   "node",  "rail",  "leaf",
                                                          "uplink", "trunk", "spine", "pair"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::string_view direction_word(Direction direction) {
  static constexpr std::array<std::string_view, 3> kWords{"sends", "receives", "both"};
  return kWords.at(static_cast<std::size_t>(direction));
}

namespace {

// A part of hosts' GPUs, which have no rails.
std::string name_between_gpus(const PairData& data, const Element& element) {
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      return node_name(data, element.first);
    case Kind::kPair:
      return fmt::format("{} {} {}", node_name(data, element.first),
                         element.direction == Direction::kBoth ? "and" : "to",
                         node_name(data, element.second));
    case Kind::kTrunk:
      return fmt::format("{} and {}", leaf_name(data, element.first),
                         leaf_name(data, element.second));
    case Kind::kLeaf:
    case Kind::kUplink:
      return leaf_name(data, element.first);
    case Kind::kRail:
    case Kind::kSpine:
      break;
  }
  return "all GPUs";
}

}  // namespace

std::string name_of(const PairData& data, const Element& element) {
  if (data.ends == Ends::kGpus) return name_between_gpus(data, element);
  std::string rail = rail_words(element);
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

// The sentence comes last: it uses all other fields.
Suspect suspect_of(const PairData& data, const Cells& cells, const Found& found) {
  Suspect suspect{.element = found.element,
                  .drop = found.drop,
                  .share = found.share,
                  .weight = found.weight,
                  .confirmed = found.confirmed,
                  .doubt = found.doubt};
  add_figures(data, cells, found, suspect);
  add_ruled_out(data, cells, found, suspect);
  suspect.sentence = sentence_of(data, suspect);
  return suspect;
}

}  // namespace railgauge::localise
