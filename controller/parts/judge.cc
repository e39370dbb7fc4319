#include "controller/parts/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "controller/parts/part_words.h"
#include "controller/parts/slow_pairs.h"
#include "controller/parts/tables.h"

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

// Share of a part's members that must show its loss.
constexpr double kMostMembers = 0.75;
// Least share of the part's loss that a member shows.
constexpr double kShownLoss = 0.5;
// Nights whose losses are averaged for a finding.
constexpr std::size_t kRecentNights = 8;
// Other rails of a leaf or trunk lose as well when so many of them do by so many errors together.
constexpr double kFewestOthers = 3;
constexpr double kSureErrors = 3;
// A part below an accepted one is another finding when its loss, less so many of its errors, is
// this multiple of the other's.
constexpr double kBeyond = 1.5;
constexpr double kSureDeviations = 1.645;

// Shares of the figure from the logarithm of a loss.
double share_of_loss(double loss) { return 1 - std::exp(-loss); }

// Search for the coarsest parts whose members all show the loss.
class Search {
 public:
  explicit Search(const Tables& tables) : tables_(tables) {
    for (std::size_t i = 0; i < kTables; ++i)
      alarms_[i] = alarms_of(tables.table(static_cast<TableId>(i)), tables.nights());
  }

  Judgement run(std::span<const Levels* const> nights) {
    accept_all(true);
    accept_all(false);
    join_gpus();
    add_pairs(nights);
    std::ranges::stable_sort(judgement_.findings, [](const PartFinding& a, const PartFinding& b) {
      return std::pair(!a.confirmed, a.element.kind) < std::pair(!b.confirmed, b.element.kind);
    });
    for (PartFinding& finding : judgement_.findings) add_words(tables_, finding);
    for (std::size_t i = 0; i < kTables; ++i) {
      const std::size_t parts = tables_.table(static_cast<TableId>(i)).parts;
      if (parts > 0)
        judgement_.power.push_back({.id = static_cast<TableId>(i),
                                    .parts = parts,
                                    .in_two_nights = share_of_loss(alarms_[i].visible_in_two),
                                    .in_four_nights = share_of_loss(alarms_[i].visible_in_four)});
    }
    return std::move(judgement_);
  }

 private:
  // A part with the nights that show its loss.
  struct Case {
    TableId id = TableId::kRail;
    Alarm alarm{};
    std::vector<std::size_t> bad{};
    std::size_t measured = 0;
  };

  void accept_all(bool confirmed) {
    for (std::size_t i = 0; i < kTables; ++i) {
      std::vector<Alarm> alarms = confirmed ? alarms_[i].confirmed : alarms_[i].tonight;
      std::ranges::stable_sort(alarms, std::greater(), &Alarm::z);
      for (const Alarm& alarm : alarms) {
        Case one{.id = static_cast<TableId>(i), .alarm = alarm};
        choose_nights(one);
        Element element = tables_.part_of(one.id, alarm.part);
        if (is_known(element, alarm) || !is_shown(one, element)) continue;
        accept(one, element, confirmed);
      }
    }
  }

  // Nights among the last ones on which the part shows half of its loss or more.
  void choose_nights(Case& one) const {
    const Table& table = tables_.table(one.id);
    const double least = one.alarm.before + kShownLoss * one.alarm.loss;
    for (std::size_t night = tables_.nights(); night-- > 0 && one.measured < kRecentNights;) {
      const Level& level = table.at(night, one.alarm.part);
      if (!level.known()) continue;
      ++one.measured;
      if (static_cast<double>(level.loss) >= least) one.bad.push_back(night);
      if (one.alarm.statistic == Statistic::kTonight) break;
    }
  }

  // The mean loss of another part on the nights of the case; NaN where it is not known.
  [[nodiscard]] double loss_of(const Case& one, TableId id, std::size_t part) const {
    return mean_over(one, [&](std::size_t night) { return tables_.table(id).at(night, part); });
  }
  [[nodiscard]] static double mean_over(const Case& one,
                                        const std::function<Level(std::size_t)>& level_at) {
    std::vector<Level> levels;
    for (const std::size_t night : one.bad) levels.push_back(level_at(night));
    return static_cast<double>(mean_of(levels, 1).loss);
  }
  // The mean loss of both sides, or of one, of a port on the nights, with its leaf's part in it.
  [[nodiscard]] double raw_loss(const Case& one, std::size_t node, std::size_t rail,
                                Direction direction) const {
    return mean_over(one, [&](std::size_t night) {
      const Levels& levels = tables_.night(night);
      const std::array sides{levels.end(Memory::kBase, Side::kSends, node, rail),
                             levels.end(Memory::kBase, Side::kReceives, node, rail)};
      if (direction == Direction::kSends) return sides[0];
      if (direction == Direction::kReceives) return sides[1];
      return mean_of(sides, 1);
    });
  }

  // Reports whether most members show the loss; `losses` may hold NaN for what was not measured.
  static bool most_show(const std::vector<double>& losses, double loss) {
    std::size_t known = 0;
    std::size_t showing = 0;
    for (const double one : losses) {
      if (std::isnan(one)) continue;
      ++known;
      showing += one >= kShownLoss * loss ? 1 : 0;
    }
    return known > 0 && static_cast<double>(showing) >= kMostMembers * static_cast<double>(known);
  }

  // Reports whether the members of the part show its loss. May narrow the direction of `element`.
  bool is_shown(const Case& one, Element& element) const {
    if (one.bad.empty()) return false;
    const double loss = one.alarm.loss + one.alarm.before;
    const std::size_t part = one.alarm.part;
    switch (one.id) {
      case TableId::kRail:
      case TableId::kPortSends:
      case TableId::kPortReceives:
      case TableId::kGpuSends:
      case TableId::kGpuReceives:
        return true;
      case TableId::kLeaf:
      case TableId::kLeafRail:
        return is_shown_by_leaf(one, element, loss);
      case TableId::kNode:
        return over_rails(one, TableId::kPort, loss) &&
               both_show(one, {TableId::kNodeSends, TableId::kNodeReceives}, part, loss);
      case TableId::kNodeSends:
        return over_rails(one, TableId::kPortSends, loss);
      case TableId::kNodeReceives:
        return over_rails(one, TableId::kPortReceives, loss);
      case TableId::kPort:
        return both_show(one, {TableId::kPortSends, TableId::kPortReceives}, part, loss);
      case TableId::kGpu:
        return both_show(one, {TableId::kGpuSends, TableId::kGpuReceives}, part, loss);
      case TableId::kTrunk:
        return over_rails(one, TableId::kTrunkRail, loss) && narrow_trunk(one, element);
      case TableId::kTrunkRail:
        return !other_rails_lose(one) && narrow_trunk(one, element);
    }
    return false;
  }

  [[nodiscard]] bool both_show(const Case& one, std::array<TableId, 2> sides, std::size_t part,
                               double loss) const {
    return std::ranges::all_of(
        sides, [&](TableId id) { return loss_of(one, id, part) >= kShownLoss * loss; });
  }
  [[nodiscard]] bool over_rails(const Case& one, TableId id, double loss) const {
    std::vector<double> losses;
    for (std::size_t rail = 0; rail < tables_.rails(); ++rail)
      losses.push_back(loss_of(one, id, one.alarm.part * tables_.rails() + rail));
    return most_show(losses, loss);
  }

  // Whether the other rails of the same leaf or trunk have begun to lose as much: then all of it is
  // slow, although the wide part shows it not yet. The newest bad night counts.
  [[nodiscard]] bool other_rails_lose(const Case& one) const {
    const std::size_t newest = one.bad.front();
    const Table& table = tables_.table(one.id);
    const std::size_t rails = tables_.rails();
    const std::size_t first = one.alarm.part / rails * rails;
    double sum = 0;
    double squares = 0;
    double known = 0;
    for (std::size_t part = first; part < first + rails; ++part) {
      const Level& level = table.at(newest, part);
      if (part == one.alarm.part || !level.known()) continue;
      sum += static_cast<double>(level.loss) - usual_loss(table, part, newest);
      squares += static_cast<double>(level.error) * static_cast<double>(level.error);
      ++known;
    }
    return known >= kFewestOthers && sum >= kShownLoss * one.alarm.loss * known &&
           sum >= kSureErrors * std::sqrt(squares);
  }
  // The mean loss of a part on the last nights before `night`.
  [[nodiscard]] static double usual_loss(const Table& table, std::size_t part, std::size_t night) {
    std::vector<Level> levels;
    while (night-- > 0 && levels.size() < kRecentNights)
      if (table.at(night, part).known()) levels.push_back(table.at(night, part));
    const double loss = static_cast<double>(mean_of(levels, 1).loss);
    return std::isnan(loss) ? 0 : loss;
  }

  // The leaf's nodes, and its rails where it is about all of them. Sets the direction.
  bool is_shown_by_leaf(const Case& one, Element& element, double loss) const {
    const bool all = one.id == TableId::kLeaf;
    if (all ? !over_rails(one, TableId::kLeafRail, loss) : other_rails_lose(one)) return false;
    const std::size_t leaf = all ? one.alarm.part : one.alarm.part / tables_.rails();
    const std::size_t first = all ? 0 : one.alarm.part % tables_.rails();
    const std::size_t last = all ? tables_.rails() : first + 1;
    std::array<double, 2> sides{};
    std::vector<double> losses;
    for (const std::size_t node : tables_.members()[leaf]) {
      double sum = 0;
      double known = 0;
      for (std::size_t rail = first; rail < last; ++rail) {
        const double sends = raw_loss(one, node, rail, Direction::kSends);
        const double receives = raw_loss(one, node, rail, Direction::kReceives);
        if (std::isnan(sends) || std::isnan(receives)) continue;
        sides[0] += sends;
        sides[1] += receives;
        sum += (sends + receives) / 2;
        ++known;
      }
      losses.push_back(sum / known);
    }
    const double both = (sides[0] + sides[1]) / 2;
    if (sides[0] < kShownLoss * both) element.direction = Direction::kReceives;
    if (sides[1] < kShownLoss * both) element.direction = Direction::kSends;
    return most_show(losses, loss);
  }

  // Which way the links between two leaves are slow.
  bool narrow_trunk(const Case& one, Element& element) const {
    const auto a = static_cast<std::size_t>(element.first);
    const auto b = static_cast<std::size_t>(element.second);
    const std::size_t first = element.rail < 0 ? 0 : static_cast<std::size_t>(element.rail);
    const std::size_t last = element.rail < 0 ? tables_.rails() : first + 1;
    std::array<double, 2> ways{};
    for (std::size_t rail = first; rail < last; ++rail) {
      const double there =
          mean_over(one, [&](std::size_t night) { return tables_.night(night).block(rail, a, b); });
      const double back =
          mean_over(one, [&](std::size_t night) { return tables_.night(night).block(rail, b, a); });
      if (std::isnan(there) || std::isnan(back)) continue;
      ways[0] += there;
      ways[1] += back;
    }
    const double both = (ways[0] + ways[1]) / 2;
    if (ways[0] < kShownLoss * both) std::swap(element.first, element.second);
    if (std::min(ways[0], ways[1]) < kShownLoss * both) element.direction = Direction::kSends;
    return true;
  }

  // Reports whether an accepted part explains this one.
  [[nodiscard]] bool is_known(const Element& element, const Alarm& alarm) const {
    const double loss = alarm.loss - kSureDeviations * alarm.error;
    return std::ranges::any_of(accepted_, [&](const Accepted& known) {
      return covers(known.element, element) && loss < kBeyond * known.loss;
    });
  }
  [[nodiscard]] bool covers(const Element& wide, const Element& narrow) const {
    const bool rail = wide.rail < 0 || wide.rail == narrow.rail;
    const bool side = wide.direction == Direction::kBoth || wide.direction == narrow.direction ||
                      narrow.direction == Direction::kBoth;
    switch (wide.kind) {
      case Kind::kPort:
      case Kind::kNode:
        if (narrow.kind == Kind::kPair)
          return rail && (narrow.first == wide.first || narrow.second == wide.first);
        return localise::is_of_node(narrow) && wide.first == narrow.first && rail && side &&
               wide.memory == narrow.memory;
      case Kind::kLeaf:
        if (narrow.kind == Kind::kLeaf || narrow.kind == Kind::kTrunk)
          return rail && (narrow.first == wide.first || narrow.second == wide.first);
        // The levels of nodes of large leaves are relative to the leaf already.
        return localise::is_of_node(narrow) && rail && narrow.memory.empty() &&
               leaf_of(narrow.first) == wide.first &&
               tables_.members()[static_cast<std::size_t>(wide.first)].size() < kLeafMates;
      case Kind::kTrunk:
        return narrow.kind == Kind::kTrunk && rail &&
               std::minmax(narrow.first, narrow.second) == std::minmax(wide.first, wide.second);
      case Kind::kRail:
      case Kind::kUplink:
      case Kind::kSpine:
      case Kind::kPair:
        return false;
    }
    return false;
  }
  [[nodiscard]] std::int32_t leaf_of(std::int32_t node) const {
    return tables_.last().nodes[static_cast<std::size_t>(node)].leaf;
  }

  // A leaf whose own pairs are as expected is slow on its way up alone.
  void name_uplink(const Case& one, Element& element) const {
    if (element.kind != Kind::kLeaf || tables_.last().blocks.empty()) return;
    const auto leaf = static_cast<std::size_t>(element.first);
    const std::size_t first = element.rail < 0 ? 0 : static_cast<std::size_t>(element.rail);
    const std::size_t last = element.rail < 0 ? tables_.rails() : first + 1;
    double sum = 0;
    double known = 0;
    for (std::size_t rail = first; rail < last; ++rail) {
      const double inside = mean_over(
          one, [&](std::size_t night) { return tables_.night(night).block(rail, leaf, leaf); });
      if (std::isnan(inside)) continue;
      sum += inside;
      ++known;
    }
    if (known > 0 && sum / known < kShownLoss * one.alarm.loss) element.kind = Kind::kUplink;
  }

  void accept(const Case& one, Element element, bool confirmed) {
    accepted_.push_back({.element = element, .loss = one.alarm.loss});
    name_uplink(one, element);
    const double loss = loss_of(one, one.id, one.alarm.part) - one.alarm.before;
    element.intermittent = confirmed && is_flapping(one);
    const double error = 1.96 * one.alarm.error;
    judgement_.findings.push_back({.element = element,
                                   .confirmed = confirmed,
                                   .is_change = one.alarm.is_change,
                                   .before = one.alarm.before,
                                   .loss = share_of_loss(loss),
                                   .low = share_of_loss(loss - error),
                                   .high = share_of_loss(loss + error),
                                   .chance = one.alarm.chance,
                                   .bad_nights = one.bad.size(),
                                   .nights = one.measured});
  }
  // A bad night, a good one, and a bad one again.
  static bool is_flapping(const Case& one) {
    return one.bad.size() > 1 && one.bad.front() - one.bad.back() + 1 > one.bad.size();
  }

  // A node all of whose GPUs are slow is one finding.
  void join_gpus() {
    for (std::size_t i = 0; i < judgement_.findings.size(); ++i) {
      const Element first = judgement_.findings[i].element;
      if (first.kind != Kind::kPort || first.memory.empty()) continue;
      const auto is_same = [&](const PartFinding& other) {
        return other.element.kind == Kind::kPort && other.element.first == first.first &&
               other.element.memory == first.memory &&
               other.confirmed == judgement_.findings[i].confirmed;
      };
      const auto count =
          static_cast<std::size_t>(std::ranges::count_if(judgement_.findings, is_same));
      if (count < 2 || 4 * count < 3 * tables_.rails()) continue;
      PartFinding joined = judgement_.findings[i];
      joined.element.kind = Kind::kNode;
      joined.element.rail = -1;
      std::erase_if(judgement_.findings, is_same);
      judgement_.findings.insert(judgement_.findings.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                   i, judgement_.findings.size())),
                                 std::move(joined));
    }
  }

  void add_pairs(std::span<const Levels* const> nights) {
    const auto is_explained = [&](const PairLoss& pair) {
      const Element element{.kind = Kind::kPair,
                            .first = static_cast<std::int32_t>(pair.from),
                            .second = static_cast<std::int32_t>(pair.to),
                            .rail = static_cast<std::int32_t>(pair.rail)};
      return std::ranges::any_of(
          accepted_, [&](const Accepted& known) { return covers(known.element, element); });
    };
    for (const SlowPair& pair : slow_pairs(nights, is_explained)) {
      const double error = 2 * tables_.last().noise / std::sqrt(static_cast<double>(pair.figures));
      judgement_.findings.push_back({.element = pair.element,
                                     .confirmed = pair.confirmed,
                                     .loss = share_of_loss(pair.loss),
                                     .low = share_of_loss(pair.loss - error),
                                     .high = share_of_loss(pair.loss + error),
                                     .bad_nights = pair.nights,
                                     .nights = pair.nights});
    }
  }

  struct Accepted {
    Element element{};
    double loss = 0;
  };
  const Tables& tables_;
  std::array<TableAlarms, kTables> alarms_{};
  std::vector<Accepted> accepted_{};
  Judgement judgement_{};
};

}  // namespace

Judgement judge_parts(std::span<const Levels* const> nights) {
  if (nights.empty()) return {};
  if (nights.size() > kMostNightsJudged) nights = nights.last(kMostNightsJudged);
  const Tables tables(nights);
  return Search(tables).run(nights);
}

}  // namespace railgauge::parts
