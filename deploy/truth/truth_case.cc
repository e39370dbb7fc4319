#include "deploy/truth/truth_case.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/fleet/model/keyed_random.h"
#include "agent/fleet/scenario/scenario.h"
#include "controller/findings/part_cases.h"
#include "controller/parts/judge.h"

namespace railgauge::truth {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

// A leaf has a port for each of so many nodes on every rail. Spines are few, so that each carries
// many pairs.
constexpr std::uint32_t kNodesPerLeaf = 16;
constexpr std::uint32_t kSpines = 4;
// Smaller faults have twice the nights: two nights show a tenth beside usual noise, four show three
// hundredths.
constexpr double kSmallFault = 0.1;
constexpr std::array kKinds{
    CaseKind{"none", 0, 2, false},         CaseKind{"port", 0.1, 2, false},
    CaseKind{"port-sends", 0.1, 2, false}, CaseKind{"port-receives", 0.1, 2, false},
    CaseKind{"gpu", 0.1, 2, true},         CaseKind{"node", 0.1, 2, false},
    CaseKind{"leaf", 0.1, 2, false},       CaseKind{"trunk", 0.1, 2, false},
    CaseKind{"rail", 0.1, 2, false},       CaseKind{"flapping", 0.1, 6, false},
    CaseKind{"pair", 0.55, 7, false},      CaseKind{"two", 0.1, 2, false},
};
// Kinds of which `two` takes two.
constexpr std::array<std::string_view, 5> kOfTwo{"port", "port-sends", "node", "leaf", "trunk"};

// One fault with its part: the line of the scenario, and the element that the judge should name.
struct Placed {
  std::string yaml{};
  Element element{};
  // Leaves that it touches.
  std::set<std::uint32_t> leaves{};
};

// The site without faults, whose names the faults use.
fleet::Scenario site_of(const CaseChoice& choice) {
  fleet::Scenario site;
  site.fabric.nodes = choice.nodes;
  site.fabric.rails = choice.rails;
  site.fabric.leaves = std::max(2U, choice.nodes / kNodesPerLeaf);
  return site;
}

// Draws places by name: the kind, the number of the draw and the member, so that a kind that is
// added later leaves the places of the others as they are.
class Places {
 public:
  Places(const CaseChoice& choice, const fleet::Scenario& site)
      : site_(site), key_(fleet::DrawKey(choice.seed).with("truth")) {}

  // A fault of the kind at a place that `number` draws.
  [[nodiscard]] Placed place(std::string_view kind, std::uint64_t number) const {
    const auto draw = [&](const char* what, std::uint32_t below) {
      return static_cast<std::uint32_t>(key_.with(kind).with(number).with(what).bits() % below);
    };
    const std::uint32_t node = draw("node", site_.fabric.nodes);
    const std::uint32_t rail = draw("rail", site_.fabric.rails);
    const std::uint32_t leaf = draw("leaf", site_.fabric.leaves);
    // A leaf's and a trunk's faults are on one rail or on all.
    const bool on_all = draw("all", 2) == 0;
    const std::string name = fleet::node_name(site_.fabric, node);
    Placed one{.element = {.kind = Kind::kPort,
                           .first = static_cast<std::int32_t>(node),
                           .rail = static_cast<std::int32_t>(rail)},
               .leaves = {site_.leaf_of(node)}};
    if (kind == "gpu") {
      one.element.memory = "gpu";
      one.yaml = fmt::format("kind: gpu, node: {}, gpu: {}", name, rail);
    } else if (kind == "node") {
      one.element = {.kind = Kind::kNode, .first = static_cast<std::int32_t>(node)};
      one.yaml = fmt::format("kind: node, node: {}", name);
    } else if (kind == "pair") {
      const std::uint32_t to = (node + 1 + draw("to", site_.fabric.nodes - 1)) % site_.fabric.nodes;
      one.element.kind = Kind::kPair;
      one.element.second = static_cast<std::int32_t>(to);
      one.element.direction = Direction::kSends;
      one.yaml = fmt::format("kind: pair, node: {}, to_node: {}, rail: {}, direction: sends", name,
                             fleet::node_name(site_.fabric, to), rail);
    } else if (kind == "rail") {
      one.element = {.kind = Kind::kRail, .rail = static_cast<std::int32_t>(rail)};
      one.yaml = fmt::format("kind: rail, rail: {}", rail);
    } else if (kind == "leaf" || kind == "trunk") {
      const std::uint32_t other =
          (leaf + 1 + draw("other", site_.fabric.leaves - 1)) % site_.fabric.leaves;
      return of_leaves(kind, leaf, other, on_all ? -1 : static_cast<std::int32_t>(rail));
    } else {
      one.yaml = fmt::format("kind: port, node: {}, nic: {}", name, rail);
      if (kind == "port-sends") one.element.direction = Direction::kSends;
      if (kind == "port-receives") one.element.direction = Direction::kReceives;
      if (one.element.direction != Direction::kBoth)
        one.yaml += fmt::format(", direction: {}", kind.substr(kind.find('-') + 1));
    }
    return one;
  }

 private:
  // Findings have the leaves of a trunk in the order of their names.
  [[nodiscard]] static Placed of_leaves(std::string_view kind, std::uint32_t leaf,
                                        std::uint32_t other, std::int32_t rail) {
    Placed one{
        .element = {.kind = Kind::kLeaf, .first = static_cast<std::int32_t>(leaf), .rail = rail},
        .leaves = {leaf}};
    one.yaml = fmt::format("kind: {}, leaf: {}", kind, leaf);
    if (kind == "trunk") {
      if (fleet::leaf_name(other) < fleet::leaf_name(leaf)) std::swap(leaf, other);
      one.element.kind = Kind::kTrunk;
      one.element.first = static_cast<std::int32_t>(leaf);
      one.element.second = static_cast<std::int32_t>(other);
      one.leaves = {leaf, other};
      one.yaml = fmt::format("kind: trunk, leaf: {}, to_leaf: {}", leaf, other);
    }
    if (rail >= 0) one.yaml += fmt::format(", rail: {}", rail);
    return one;
  }

  const fleet::Scenario& site_;
  fleet::DrawKey key_;
};

// Two faults of different kinds whose pairs do not meet: the slower part alone would decide about
// pairs that use both.
std::vector<Placed> two_of(const Places& places, std::uint64_t seed) {
  for (std::uint64_t number = 0;; number += 2) {
    const std::uint64_t bits = fleet::DrawKey(seed).with("two").with(number).bits();
    const std::size_t first = bits % kOfTwo.size();
    const std::size_t second = (first + 1 + (bits >> 32U) % (kOfTwo.size() - 1)) % kOfTwo.size();
    Placed a = places.place(kOfTwo[first], number);
    Placed b = places.place(kOfTwo[second], number + 1);
    const bool meets =
        std::ranges::any_of(a.leaves, [&](std::uint32_t leaf) { return b.leaves.contains(leaf); });
    if (!meets) return {std::move(a), std::move(b)};
  }
}

// Empty for the healthy site.
std::vector<Placed> faults_of(const CaseChoice& choice, const fleet::Scenario& site) {
  const Places places(choice, site);
  if (choice.kind->name == "none") return {};
  if (choice.kind->name == "two") return two_of(places, choice.seed);
  return {places.place(choice.kind->name, 0)};
}

// Names by number, as the scenario counts nodes and leaves.
parts::PartNames names_of(const fleet::Scenario& site) {
  parts::PartNames names;
  for (std::uint32_t node = 0; node < site.fabric.nodes; ++node)
    names.nodes.push_back(fleet::node_name(site.fabric, node));
  for (std::uint32_t leaf = 0; leaf < site.fabric.leaves; ++leaf)
    names.leaves.push_back(fleet::leaf_name(leaf));
  return names;
}

// The times of a fault: from noon before the first night that shows it; a flapping one on one night
// of three.
std::vector<std::string> times_of(const Case& one) {
  const std::uint32_t begin = one.choice.before * 24 - 12;
  if (one.choice.kind->name != "flapping") return {fmt::format("begin: {}h", begin)};
  std::vector<std::string> times;
  for (std::uint32_t night = 0; night < one.within; night += 3)
    times.push_back(
        fmt::format("begin: {}h, end: {}h", begin + night * 24, begin + (night + 1) * 24));
  return times;
}

// One stage for each kind of memory. GPUs are measured only where a GPU is at fault: a night of
// both has twice as many tasks.
std::string suite_of(const CaseChoice& choice) {
  std::string text =
      "version: 1\nmetadata: {name: slices, summary: a slice of all pairs}\nstages:\n";
  for (const char* memory : {"", ", memory: cuda"}) {
    if (*memory != '\0' && !choice.kind->uses_gpus) continue;
    text += fmt::format(
        "  - name: bandwidth{}\n    kernel: verbs.write_bw\n    parameters: {{sizes: 64KiB{}}}\n"
        "    placement: {{pairs: all, slice: {}, directions: both, rails: same, "
        "rails_together: true}}\n",
        *memory == '\0' ? "" : "_gpu", memory, choice.slices);
  }
  return text;
}

}  // namespace

std::span<const CaseKind> case_kinds() { return kKinds; }

const CaseKind* find_case_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, &CaseKind::name);
  return found == kKinds.end() ? nullptr : found;
}

Case make_case(const CaseChoice& choice) {
  const fleet::Scenario site = site_of(choice);
  const parts::PartNames names = names_of(site);
  Case one{.choice = choice, .takes = choice.takes.value_or(choice.kind->takes)};
  one.within = choice.kind->within * (one.takes > 0 && one.takes < kSmallFault ? 2 : 1);
  one.nights = choice.before + one.within;
  one.suite = suite_of(choice);
  one.scenario = fmt::format(
      "version: 1\nmetadata: {{name: truth}}\nseed: {}\nbegin: 2026-01-05\n"
      "fabric: {{nodes: {}, rails: {}, leaves: {}, spines: {}}}\n"
      "classes: [{{name: node, gpus: {}, nics: {}}}]\n"
      "noise: [{{kind: gaussian, size: 0.01}}, {{kind: skew, size: 0.003}}]\n",
      choice.seed, site.fabric.nodes, site.fabric.rails, site.fabric.leaves, kSpines,
      site.fabric.rails, site.fabric.rails);
  const std::vector<Placed> faults = faults_of(choice, site);
  if (!faults.empty()) one.scenario += "faults:\n";
  for (const Placed& fault : faults) {
    for (const std::string& when : times_of(one))
      one.scenario += fmt::format("  - {{{}, {}, takes: {}}}\n", fault.yaml, when, one.takes);
    one.parts.push_back({.finding_id = id_of_part(parts::lasting_name(names, fault.element)),
                         .suspect = parts::part_name(names, fault.element)});
  }
  return one;
}

Answer answer_of(const Case& one, std::span<const SaidPart> said) {
  Answer answer;
  std::set<std::string> right;
  std::uint32_t found = 0;
  // A finding before the fault's begin is a false one.
  const auto since_begin = [&](std::uint32_t night) {
    return night > one.choice.before ? night - one.choice.before : 0;
  };
  std::vector<std::string> confirmed;
  for (const SaidPart& part : said) {
    const auto fault = std::ranges::find(one.parts, part.finding_id, &TruePart::finding_id);
    const std::uint32_t word = since_begin(part.opened);
    if (fault != one.parts.end() && word > 0 &&
        (answer.first_word == 0 || word < answer.first_word))
      answer.first_word = word;
    if (part.confirmed == 0) continue;
    confirmed.push_back(fmt::format("{}@{}", part.suspect, part.confirmed));
    const bool is_right = fault != one.parts.end() && part.suspect == fault->suspect &&
                          since_begin(part.confirmed) > 0;
    if (!is_right) {
      ++answer.wrong;
      continue;
    }
    right.insert(part.finding_id);
    found = std::max(found, since_begin(part.confirmed));
  }
  if (!one.parts.empty() && right.size() == one.parts.size()) answer.found = found;
  std::ranges::sort(confirmed);
  answer.confirmed = fmt::format("{}", fmt::join(confirmed, "; "));
  return answer;
}

std::string row_of(const Case& one, const Answer& answer) {
  return fmt::format("{}\t{}\t{}\t{}\t{:g}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", one.choice.nodes,
                     one.choice.rails, one.choice.slices, one.choice.kind->name, one.takes,
                     one.choice.seed, one.nights, one.within, answer.first_word, answer.found,
                     answer.wrong, answer.confirmed.empty() ? "-" : answer.confirmed);
}

}  // namespace railgauge::truth
