#include "controller/parts/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "controller/parts/layer_fit.h"

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

bool same_shape(const Levels& a, const Levels& b) {
  const auto same_node = [](const NightNode& x, const NightNode& y) { return x.name == y.name; };
  return a.rails == b.rails && a.leaves == b.leaves && a.has_gpu == b.has_gpu &&
         std::ranges::equal(a.nodes, b.nodes, same_node);
}

// By index of `now`: the index of the same name in `then`; -1: none.
template <class List, class Name>
std::vector<std::ptrdiff_t> places(const List& now, const List& then, Name name) {
  std::map<std::string, std::ptrdiff_t> by_name;
  for (std::size_t i = 0; i < then.size(); ++i)
    by_name.emplace(name(then[i]), static_cast<std::ptrdiff_t>(i));
  std::vector<std::ptrdiff_t> found;
  for (const auto& one : now) {
    const auto at = by_name.find(name(one));
    found.push_back(at == by_name.end() ? -1 : at->second);
  }
  return found;
}

// The levels of an older night in the shape of the last one.
Levels reshape(const Levels& then, const Levels& now) {
  Levels levels{.nodes = now.nodes,
                .leaves = now.leaves,
                .rail_class = now.rail_class,
                .rails = now.rails,
                .has_gpu = now.has_gpu};
  levels.ends.resize(now.ends.size());
  levels.centres.resize(now.centres.size());
  levels.blocks.resize(now.blocks.size());
  const auto node = places(now.nodes, then.nodes, [](const NightNode& n) { return n.name; });
  const auto leaf = places(now.leaves, then.leaves, [](const std::string& n) { return n; });
  const std::size_t rails = std::min(now.rails, then.rails);
  for (std::size_t m = 0; m < 2; ++m) {
    if (m == 1 && (!then.has_gpu || !now.has_gpu)) break;
    for (std::size_t rail = 0; rail < rails; ++rail) {
      levels.centres[m * now.rails + rail] = then.centres[m * then.rails + rail];
      for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < node.size(); ++i)
          if (node[i] >= 0)
            levels.ends[((m * 2 + side) * now.nodes.size() + i) * now.rails + rail] =
                then.end(static_cast<Memory>(m), static_cast<Side>(side),
                         static_cast<std::size_t>(node[i]), rail);
    }
  }
  if (levels.blocks.empty() || then.blocks.empty()) return levels;
  for (std::size_t rail = 0; rail < rails; ++rail)
    for (std::size_t a = 0; a < leaf.size(); ++a)
      for (std::size_t b = 0; b < leaf.size(); ++b)
        if (leaf[a] >= 0 && leaf[b] >= 0)
          levels.blocks[(rail * leaf.size() + a) * leaf.size() + b] = then.block(
              rail, static_cast<std::size_t>(leaf[a]), static_cast<std::size_t>(leaf[b]));
  return levels;
}

// The median of all but the one of rank `own` of sorted values.
float median_of_others(const std::vector<float>& sorted, std::size_t own) {
  const std::size_t others = sorted.size() - 1;
  const auto at = [&](std::size_t i) { return sorted[i < own ? i : i + 1]; };
  return others % 2 == 1 ? at(others / 2) : (at(others / 2 - 1) + at(others / 2)) / 2;
}

// The median of known levels, with the error of a mean; unknown with fewer than `least`.
Level median_of(std::span<const Level> levels, std::size_t least) {
  std::vector<float> known;
  double square = 0;
  for (const Level& level : levels) {
    if (!level.known()) continue;
    known.push_back(level.loss);
    square += static_cast<double>(level.error) * static_cast<double>(level.error);
  }
  if (known.size() < least) return {};
  const auto count = static_cast<double>(known.size());
  return {.loss = middle_of(known), .error = static_cast<float>(1.25 * std::sqrt(square) / count)};
}

Level difference(const Level& a, const Level& b) {
  if (!a.known() || !b.known()) return {};
  return {.loss = a.loss - b.loss, .error = std::hypot(a.error, b.error)};
}

}  // namespace

Level mean_of(std::span<const Level> levels, std::size_t least) {
  double sum = 0;
  double square = 0;
  std::size_t known = 0;
  for (const Level& level : levels) {
    if (!level.known()) continue;
    sum += static_cast<double>(level.loss);
    square += static_cast<double>(level.error) * static_cast<double>(level.error);
    ++known;
  }
  if (known < least || known == 0) return {};
  const auto count = static_cast<double>(known);
  return {.loss = static_cast<float>(sum / count),
          .error = static_cast<float>(std::sqrt(square) / count)};
}

std::string_view table_word(TableId id) {
  static constexpr std::array<std::string_view, kTables> kWords{"rail",
                                                                "leaf",
                                                                "leaf on one rail",
                                                                "node",
                                                                "node, sending",
                                                                "node, receiving",
                                                                "port",
                                                                "port, sending",
                                                                "port, receiving",
                                                                "GPU path",
                                                                "GPU path, sending",
                                                                "GPU path, receiving",
                                                                "trunk",
                                                                "trunk on one rail"};
  return kWords.at(static_cast<std::size_t>(id));
}

Tables::Tables(std::span<const Levels* const> nights) {
  const Levels& now = *nights.back();
  reshaped_.reserve(nights.size());
  for (const Levels* night : nights)
    nights_.push_back(same_shape(*night, now) ? night
                                              : &reshaped_.emplace_back(reshape(*night, now)));
  members_.resize(now.leaves.size());
  for (std::size_t node = 0; node < now.nodes.size(); ++node)
    if (now.nodes[node].leaf >= 0)
      members_[static_cast<std::size_t>(now.nodes[node].leaf)].push_back(node);
  if (!now.blocks.empty())
    for (std::size_t a = 0; a < members_.size(); ++a)
      for (std::size_t b = a + 1; b < members_.size(); ++b) trunks_.push_back({a, b});
  const std::size_t n = now.nodes.size();
  const std::size_t rails = now.rails;
  const bool many = rails > 1;
  const std::size_t gpus = now.has_gpu ? n * rails : 0;
  const std::size_t leaves = members_.size() > 1 ? members_.size() : 0;
  const std::size_t nodes = many ? n : 0;
  const std::array<std::size_t, kTables> sizes{many ? rails : 0,
                                               many ? leaves : 0,
                                               leaves * rails,
                                               nodes,
                                               nodes,
                                               nodes,
                                               n * rails,
                                               n * rails,
                                               n * rails,
                                               gpus,
                                               gpus,
                                               gpus,
                                               many ? trunks_.size() : 0,
                                               trunks_.size() * rails};
  for (std::size_t i = 0; i < kTables; ++i) {
    tables_[i].id = static_cast<TableId>(i);
    tables_[i].parts = sizes[i];
    tables_[i].levels.resize(sizes[i] * nights_.size());
  }
  for (std::size_t night = 0; night < nights_.size(); ++night) fill(night);
}

Element Tables::part_of(TableId id, std::size_t part) const {
  const auto rail_of = [&](std::size_t i) { return static_cast<std::int32_t>(i % rails()); };
  const auto first_of = [&](std::size_t i) { return static_cast<std::int32_t>(i / rails()); };
  const auto number = static_cast<std::int32_t>(part);
  Element element;
  const auto step = static_cast<std::size_t>(id);
  switch (id) {
    case TableId::kRail:
      return {.kind = Kind::kRail, .rail = number};
    case TableId::kLeaf:
      return {.kind = Kind::kLeaf, .first = number};
    case TableId::kLeafRail:
      return {.kind = Kind::kLeaf, .first = first_of(part), .rail = rail_of(part)};
    case TableId::kNode:
    case TableId::kNodeSends:
    case TableId::kNodeReceives:
      element = {.kind = Kind::kNode, .first = number};
      break;
    case TableId::kPort:
    case TableId::kPortSends:
    case TableId::kPortReceives:
      element = {.kind = Kind::kPort, .first = first_of(part), .rail = rail_of(part)};
      break;
    case TableId::kGpu:
    case TableId::kGpuSends:
    case TableId::kGpuReceives:
      element = {
          .kind = Kind::kPort, .first = first_of(part), .rail = rail_of(part), .memory = "gpu"};
      break;
    case TableId::kTrunk:
    case TableId::kTrunkRail: {
      const bool all = id == TableId::kTrunk;
      const auto& [a, b] = trunks_[all ? part : part / rails()];
      return {.kind = Kind::kTrunk,
              .first = static_cast<std::int32_t>(a),
              .second = static_cast<std::int32_t>(b),
              .rail = all ? -1 : rail_of(part)};
    }
  }
  static constexpr std::array kDirections{Direction::kBoth, Direction::kSends,
                                          Direction::kReceives};
  element.direction = kDirections.at((step - static_cast<std::size_t>(TableId::kNode)) % 3);
  return element;
}

std::vector<Level> Tables::gpus_over(std::size_t node, TableId id) const {
  std::vector<Level> levels;
  if (table(id).parts == 0) return levels;
  for (std::size_t night = 0; night < nights(); ++night)
    levels.push_back(mean_of(std::span(&table(id).at(night, node * rails()), rails()), 1));
  return levels;
}

std::vector<Level> Tables::levels_over(const Element& element) const {
  const bool all = element.rail < 0;
  // The last night did not measure that rail: the row of another node would stand in its place.
  if (!all && static_cast<std::size_t>(element.rail) >= rails()) return {};
  const auto first = static_cast<std::size_t>(std::max(element.first, 0));
  const auto rail = static_cast<std::size_t>(std::max(element.rail, 0));
  const auto side = static_cast<std::size_t>(element.direction == Direction::kSends      ? 1
                                             : element.direction == Direction::kReceives ? 2
                                                                                         : 0);
  auto id = TableId::kRail;
  std::size_t part = rail;
  const auto choose = [&](TableId of_all, std::size_t whole, TableId of_rail) {
    id = all ? of_all : of_rail;
    part = all ? whole : whole * rails() + rail;
  };
  const auto beside = [](TableId table, std::size_t steps) {
    return static_cast<TableId>(static_cast<std::size_t>(table) + steps);
  };
  switch (element.kind) {
    case Kind::kRail:
      break;
    case Kind::kPort:
    case Kind::kNode:
      if (!element.memory.empty() && all) return gpus_over(first, beside(TableId::kGpu, side));
      choose(beside(TableId::kNode, side), first,
             beside(element.memory.empty() ? TableId::kPort : TableId::kGpu, side));
      break;
    case Kind::kLeaf:
    case Kind::kUplink:
      choose(TableId::kLeaf, first, TableId::kLeafRail);
      break;
    case Kind::kTrunk: {
      const auto second = static_cast<std::size_t>(std::max(element.second, 0));
      const std::array ends{std::min(first, second), std::max(first, second)};
      const auto found = std::ranges::find(trunks_, ends);
      if (found == trunks_.end()) return {};
      choose(TableId::kTrunk, static_cast<std::size_t>(found - trunks_.begin()),
             TableId::kTrunkRail);
      break;
    }
    case Kind::kPair:
    case Kind::kSpine:
      return {};
  }
  std::vector<Level> levels;
  if (part >= table(id).parts) return levels;
  for (std::size_t night = 0; night < nights(); ++night)
    levels.push_back(table(id).at(night, part));
  return levels;
}

void Tables::fill(std::size_t night) {
  const Levels& levels = *nights_[night];
  for (std::size_t rail = 0; rail < tables_[0].parts; ++rail) {
    // Against the rails of the same speed.
    std::vector<Level> others;
    for (std::size_t other = 0; other < rails(); ++other)
      if (other != rail && last().rail_class[other] == last().rail_class[rail])
        others.push_back(levels.centre(Memory::kBase, other));
    put(TableId::kRail, night, rail) =
        difference(levels.centre(Memory::kBase, rail), median_of(others, 2));
  }
  fill_ends(night);
  fill_groups(night);
  fill_trunks(night);
}

// Ports and GPUs; the levels of ports are those of their leaf's other nodes away.
void Tables::fill_ends(std::size_t night) {
  const Levels& levels = *nights_[night];
  const std::size_t n = last().nodes.size();
  std::vector<Level> net(levels.ends.begin(),
                         levels.ends.begin() + static_cast<std::ptrdiff_t>(2 * n * rails()));
  take_leaf_away(levels, net);
  for (std::size_t part = 0; part < n * rails(); ++part) {
    const std::array sides{net[part], net[n * rails() + part]};
    put(TableId::kPortSends, night, part) = sides[0];
    put(TableId::kPortReceives, night, part) = sides[1];
    put(TableId::kPort, night, part) = mean_of(sides, 2);
    if (!last().has_gpu) continue;
    const std::size_t node = part / rails();
    const std::size_t rail = part % rails();
    std::array<Level, 2> gpus;
    for (const Side side : {Side::kSends, Side::kReceives})
      gpus[static_cast<std::size_t>(side)] = difference(
          levels.end(Memory::kGpu, side, node, rail), levels.end(Memory::kBase, side, node, rail));
    put(TableId::kGpuSends, night, part) = gpus[0];
    put(TableId::kGpuReceives, night, part) = gpus[1];
    put(TableId::kGpu, night, part) = mean_of(gpus, 2);
  }
}

// Subtracts the median of the leaf's other nodes.
void Tables::take_leaf_away(const Levels& levels, std::vector<Level>& net) const {
  const std::size_t n = levels.nodes.size();
  std::vector<std::size_t> known;
  std::vector<float> sorted;
  for (const std::vector<std::size_t>& nodes : members_)
    for (std::size_t side = 0; side < 2; ++side)
      for (std::size_t rail = 0; rail < rails(); ++rail) {
        const auto at = [&](std::size_t node) { return (side * n + node) * rails() + rail; };
        known.clear();
        for (const std::size_t node : nodes)
          if (net[at(node)].known()) known.push_back(node);
        if (known.size() < kLeafMates) continue;
        std::ranges::sort(known, {}, [&](std::size_t node) { return net[at(node)].loss; });
        sorted.clear();
        for (const std::size_t node : known) sorted.push_back(net[at(node)].loss);
        for (std::size_t rank = 0; rank < known.size(); ++rank)
          net[at(known[rank])].loss -= median_of_others(sorted, rank);
      }
}

// Nodes and leaves.
void Tables::fill_groups(std::size_t night) {
  const Levels& levels = *nights_[night];
  const std::size_t n = last().nodes.size();
  const auto row = [&](TableId id, std::size_t first) {
    return std::span(&table(id).at(night, first * rails()), rails());
  };
  if (table(TableId::kNode).parts > 0)
    for (std::size_t node = 0; node < n; ++node) {
      put(TableId::kNode, night, node) = mean_of(row(TableId::kPort, node), 2);
      put(TableId::kNodeSends, night, node) = mean_of(row(TableId::kPortSends, node), 2);
      put(TableId::kNodeReceives, night, node) = mean_of(row(TableId::kPortReceives, node), 2);
    }
  if (table(TableId::kLeafRail).parts == 0) return;
  std::vector<Level> of_members;
  for (std::size_t leaf = 0; leaf < members_.size(); ++leaf) {
    for (std::size_t rail = 0; rail < rails(); ++rail) {
      of_members.clear();
      for (const std::size_t node : members_[leaf]) {
        const std::array sides{levels.end(Memory::kBase, Side::kSends, node, rail),
                               levels.end(Memory::kBase, Side::kReceives, node, rail)};
        of_members.push_back(mean_of(sides, 2));
      }
      put(TableId::kLeafRail, night, leaf * rails() + rail) = median_of(of_members, 2);
    }
    if (table(TableId::kLeaf).parts > 0)
      put(TableId::kLeaf, night, leaf) = mean_of(row(TableId::kLeafRail, leaf), 2);
  }
}

void Tables::fill_trunks(std::size_t night) {
  const Levels& levels = *nights_[night];
  if (levels.blocks.empty()) return;
  for (std::size_t trunk = 0; trunk < trunks_.size(); ++trunk) {
    const auto& [a, b] = trunks_[trunk];
    for (std::size_t rail = 0; rail < rails(); ++rail) {
      const std::array ways{levels.block(rail, a, b), levels.block(rail, b, a)};
      put(TableId::kTrunkRail, night, trunk * rails() + rail) = mean_of(ways, 2);
    }
    if (table(TableId::kTrunk).parts > 0)
      put(TableId::kTrunk, night, trunk) =
          mean_of(std::span(&table(TableId::kTrunkRail).at(night, trunk * rails()), rails()), 2);
  }
}

}  // namespace railgauge::parts
