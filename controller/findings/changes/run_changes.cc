#include "controller/findings/changes/run_changes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/detect/changes.h"
#include "controller/detect/knee.h"
#include "controller/detect/peers.h"
#include "controller/stats/families.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {

namespace {

// Runs that define a level, and the newest runs of that time that are used.
constexpr std::size_t kLeastReturned = 5;
constexpr std::size_t kMostReturned = 20;

}  // namespace

// Walks back over three stretches: the present stack, the stack between, and the earlier time with
// the present stack.
std::optional<Returned> returned_to(const SeriesRuns& one) {
  const std::vector<bool>& present = one.present_stack;
  if (present.size() != one.values.size()) return std::nullopt;
  std::size_t at = present.size();
  while (at > 0 && present[at - 1]) --at;
  Returned out{.since = at};
  while (at > 0 && !present[at - 1]) --at;
  std::vector<double> then;
  for (; at > 0 && present[at - 1] && then.size() < kMostReturned; --at)
    then.push_back(one.values[at - 1]);
  if (then.size() < kLeastReturned) return std::nullopt;
  out.level = upper_median(std::move(then));
  return out;
}

// --- peers ---

namespace {

// Nights that give a member's usual distance from its peers, and how many are needed.
constexpr std::size_t kPastNights = 20;
constexpr std::size_t kLeastPastNights = 5;
// Newest nights on all of which a member must be behind.
constexpr std::size_t kNights = 3;
// The least deviation of a class, a fraction: peers that agree better would turn any noise into a
// finding.
constexpr double kPeerFloor = 0.005;

// z scores of the last nights, newest last; nights without a figure are left out.
struct Nights {
  // By member. Where pairs were separated into nodes and paths, the score of the path.
  std::vector<std::vector<double>> series;
  // By node, where pairs could be separated.
  std::map<std::string, std::vector<double>> nodes{};
};

// The member's ends by number; absent where it is no pair of two nodes. `names` receives the nodes.
std::vector<std::optional<std::pair<std::size_t, std::size_t>>> ends_of(
    const std::vector<const SeriesRuns*>& members, std::vector<std::string>& names) {
  const auto number = [&](const std::string& text) {
    const std::string node = node_of(text);
    const auto at = std::ranges::find(names, node);
    if (at == names.end()) names.push_back(node);
    return static_cast<std::size_t>(std::ranges::find(names, node) - names.begin());
  };
  std::vector<std::optional<std::pair<std::size_t, std::size_t>>> ends(members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    if (const auto& of = members[i]->series.endpoints;
        of.size() == 2 && nodes_of(members[i]->series).size() == 2)
      ends[i] = std::pair(number(of[0]), number(of[1]));
  return ends;
}

// Adds the scores of one night: by node and path where all members are pairs and enough were
// measured, else each member by itself.
void add_night(const std::vector<analysis::Peer>& peers,
               const std::vector<std::optional<std::pair<std::size_t, std::size_t>>>& ends,
               const std::vector<std::string>& names, analysis::Better better, Nights& out) {
  std::vector<analysis::PairFigure> figures;
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (ends[i])
      figures.push_back({.from = ends[i]->first, .to = ends[i]->second, .value = peers[i].value});
  analysis::PairScores pairs;
  if (figures.size() == peers.size())
    pairs = analysis::judge_pairs(figures, names.size(), better, kPeerFloor);
  const auto standings =
      pairs.apart ? pairs.paths : analysis::judge_peers(peers, better, kPeerFloor);
  for (std::size_t i = 0; i < standings.size(); ++i)
    if (standings[i].judged) out.series[i].push_back(standings[i].z);
  for (std::size_t i = 0; i < pairs.nodes.size(); ++i)
    if (pairs.nodes[i].judged) out.nodes[names[i]].push_back(pairs.nodes[i].z);
}

// The scores of all nights, the oldest first. Series are aligned at their newest runs.
Nights peer_nights(const std::vector<const SeriesRuns*>& members, analysis::Better better) {
  Nights out{.series = std::vector<std::vector<double>>(members.size())};
  std::vector<std::string> names;
  const auto ends = ends_of(members, names);
  for (std::size_t ago = kPastNights + kNights; ago-- > 0;) {
    std::vector<analysis::Peer> peers(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::vector<double>& values = members[i]->values;
      if (values.size() > ago) peers[i].value = values[values.size() - 1 - ago];
    }
    add_night(peers, ends, names, better, out);
  }
  return out;
}

// Reports whether it fell behind on the last nights, less its usual distance: a pair over more
// switches is always slower.
bool fell_behind(const std::vector<double>& z, double worse, double delta) {
  if (z.size() < kNights + kLeastPastNights || worse <= delta) return false;
  const auto split = z.end() - static_cast<std::ptrdiff_t>(kNights);
  const double standing = upper_median({z.begin(), split});
  std::vector<double> nights;
  for (auto night = split; night != z.end(); ++night) nights.push_back(*night - standing);
  return analysis::pages(nights, worse, delta);
}

// The loss of a series since the nights before; absent where it is too short.
std::optional<Moved> behind(const SeriesRuns& one) {
  if (one.values.size() <= kNights) return std::nullopt;
  Moved moved{.runs = &one, .kind = MovedKind::kPeer, .after = one.values.back(), .p = kOwnProof};
  moved.before =
      upper_median({one.values.begin(), one.values.end() - static_cast<std::ptrdiff_t>(kNights)});
  if (const auto own = returned_to(one); own && own->since + kNights >= one.values.size())
    moved.before = own->level;
  moved.worse = worse_by(one.series, moved.before, moved.after);
  return moved;
}

}  // namespace

// Nodes are tested first: a node's own effect shows in all its pairs though no single pair is far
// off.
void add_peers(const std::vector<const SeriesRuns*>& members, const std::set<std::int64_t>& moved,
               std::vector<Moved>& out) {
  if (members.size() < analysis::kLeastPeers) return;
  const analysis::MetricTraits traits = traits_of(members.front()->series);
  const Nights nights = peer_nights(members, traits.better);
  std::set<std::string> slow;
  for (const auto& [node, z] : nights.nodes) {
    std::vector<double> worse;
    for (const SeriesRuns* one : members)
      if (const auto was = behind(*one); was && nodes_of(one->series).contains(node))
        worse.push_back(was->worse);
    if (fell_behind(z, upper_median(worse), traits.delta)) slow.insert(node);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const SeriesRuns& one = *members[i];
    const auto was = behind(one);
    if (!was || moved.contains(one.series.series_id)) continue;
    const bool with_slow = std::ranges::any_of(
        nodes_of(one.series), [&](const std::string& node) { return slow.contains(node); });
    if (with_slow || fell_behind(nights.series[i], was->worse, traits.delta)) out.push_back(*was);
  }
}

// --- knees ---

namespace {

// The series of one curve, one for each size.
using Curve = std::vector<const SeriesRuns*>;

// The figure of the run; absent where the run did not measure this size.
std::optional<double> value_at(const SeriesRuns& one, const std::string& run) {
  const auto at = std::ranges::find(one.runs, run);
  if (at == one.runs.end()) return std::nullopt;
  return one.values[static_cast<std::size_t>(at - one.runs.begin())];
}

// The knee of each run that measured all sizes, oldest first, with the ids of those runs.
void take_knees(const Curve& curve, std::vector<std::string>& runs, std::vector<double>& knees) {
  const analysis::Better better = traits_of(curve.front()->series).better;
  for (const std::string& run : curve.front()->runs) {
    std::vector<analysis::CurvePoint> points;
    for (const SeriesRuns* one : curve)
      if (const auto value = value_at(*one, run))
        points.push_back({.bytes = one->series.message_bytes, .value = *value});
    if (points.size() < curve.size()) continue;
    if (const auto knee = analysis::knee_of(points, better)) {
      runs.push_back(run);
      knees.push_back(*knee);
    }
  }
}

// Chooses the size that lost most, with its levels before and from index `from` on.
void choose_series(const Curve& curve, const std::vector<std::string>& runs, std::size_t from,
                   Moved& knee) {
  const analysis::Better better = traits_of(curve.front()->series).better;
  double most = 0;
  for (const SeriesRuns* one : curve) {
    std::vector<double> before;
    std::vector<double> after;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (const auto value = value_at(*one, runs[i])) (i < from ? before : after).push_back(*value);
    const double was = upper_median(before);
    const double is = upper_median(after);
    const double lost = analysis::oriented(better, std::log(is / was));
    if (knee.runs != nullptr && !(lost > most)) continue;
    most = lost;
    knee.runs = one;
    knee.before = was;
    knee.after = is;
  }
}

// The knee over the runs, as a metric of its own. It moved where the newest change is a young step
// by more than the bound and the newest runs still show it.
std::optional<Knee> knee_of(const Curve& curve) {
  std::vector<std::string> runs;
  std::vector<double> knees;
  take_knees(curve, runs, knees);
  if (knees.size() < analysis::kMinRuns) return std::nullopt;
  const store::SeriesRow& whole = curve.front()->series;
  Knee out{.metric = knee_text(whole), .moved = {.runs = curve.front(), .kind = MovedKind::kKnee}};
  const auto found = analysis::detect_changes(knees, {.delta = analysis::kKneeDelta});
  if (found.changes.empty() || found.changes.back().kind != analysis::ChangeKind::kStep) return out;
  const analysis::Change& change = found.changes.back();
  if (change.index + kFreshRuns < knees.size()) return out;
  const analysis::Better way = analysis::better_knee(traits_of(whole).better);
  const double moved = analysis::oriented(way, std::log(change.after / change.before));
  const double now =
      upper_median({knees.end() - static_cast<std::ptrdiff_t>(kBackRuns), knees.end()});
  const bool holds = analysis::oriented(way, std::log(now / change.before)) > moved / 2;
  out.moved.p = change.p;
  if (!(moved > std::log1p(analysis::kKneeDelta)) || !holds) return out;
  out.moved.worse = analysis::worse_fraction(way, moved);
  out.moved.detail = fmt::format("from {:.0f} B to {:.0f} B", change.before, change.after);
  out.moved.runs = nullptr;
  choose_series(curve, runs, change.index, out.moved);
  return out;
}

}  // namespace

// Curves are grouped by everything but the size. A series without run ids cannot be aligned.
std::vector<Knee> moved_knees(std::span<const SeriesRuns> all) {
  std::map<std::string, Curve> curves;
  for (const SeriesRuns& one : all)
    if (one.series.message_bytes > 0 && one.runs.size() == one.values.size() && !one.runs.empty())
      curves[curve_text(one.series)].push_back(&one);
  std::vector<Knee> out;
  for (const auto& [word, curve] : curves)
    if (curve.size() >= analysis::kLeastKneeSizes)
      if (auto knee = knee_of(curve)) out.push_back(std::move(*knee));
  return out;
}

namespace {

// Runs by which the detector may place a change beside its true begin.
constexpr std::size_t kPlaceSlack = 2;

// The levels before and after, in the unit of the series. For a spread these are standard
// deviations. For a mix of modes they are the better and the worse of the two levels, where the
// worse one is held more often now; absent where the better one is.
std::optional<std::pair<double, double>> levels_of(const SeriesRuns& one,
                                                   const analysis::Change& change, bool relative) {
  const bool lower = traits_of(one.series).better == analysis::Better::kLower;
  if (change.kind == analysis::ChangeKind::kModeMix) {
    if ((lower ? change.effect : -change.effect) <= 0) return std::nullopt;
    const auto [low, high] = std::minmax(change.before, change.after);
    return lower ? std::pair(low, high) : std::pair(high, low);
  }
  if (change.kind != analysis::ChangeKind::kVariance) return std::pair(change.before, change.after);
  const double unit = relative ? upper_median(one.values) : 1;
  if (!(change.before > 0) || !(unit > 0)) return std::nullopt;
  return std::pair(unit * change.before, unit * change.after);
}

// Reports whether `change` ends an improvement that held for a few runs only: the level behind it
// is no worse than the one before the improvement, which was no loss itself. A level that was
// better for long is the reference. `changes` are sorted by index.
bool ends_improvement(const store::SeriesRow& series, std::span<const analysis::Change> changes,
                      const analysis::Change& change) {
  const double delta = traits_of(series).delta;
  for (std::size_t i = 0; i < changes.size() && changes[i].index < change.index; ++i) {
    const analysis::Change& left = changes[i];
    if (!is_of_level(left.kind) || left.index + kFreshRuns < change.index) continue;
    const bool is_better = worse_by(series, left.before, left.after) < 0;
    const bool was_loss =
        std::ranges::any_of(changes.first(i), [&](const analysis::Change& earlier) {
          return is_of_level(earlier.kind) && worse_by(series, earlier.before, left.before) > delta;
        });
    if (is_better && !was_loss && worse_by(series, left.before, change.after) <= delta) return true;
  }
  return false;
}

// The loss by one change of the series; absent where it is none, or is over.
std::optional<Moved> loss_by(const SeriesRuns& one, const analysis::Findings& found,
                             const analysis::Change& change) {
  const double delta = traits_of(one.series).delta;
  const auto levels = levels_of(one, change, found.relative);
  if (!levels) return std::nullopt;
  auto [before, after] = *levels;
  const bool of_spread = change.kind == analysis::ChangeKind::kVariance;
  if (const auto own = returned_to(one); own && is_of_level(change.kind) &&
                                         change.index + kPlaceSlack >= own->since &&
                                         change.index <= own->since + kPlaceSlack) {
    before = own->level;
    if (worse_by(one.series, before, after) <= delta) return std::nullopt;
  }
  const double worse = of_spread ? after / before - 1 : worse_by(one.series, before, after);
  if (!(worse > 0)) return std::nullopt;
  // The newest runs show nothing about spread and modes, because the slow mode comes and goes.
  if (is_of_level(change.kind)) {
    if (ends_improvement(one.series, found.changes, change)) return std::nullopt;
    const std::size_t newest = std::min(kBackRuns, one.values.size());
    const double now =
        upper_median({one.values.end() - static_cast<std::ptrdiff_t>(newest), one.values.end()});
    if (worse_by(one.series, before, now) < worse / 2) return std::nullopt;
  }
  return Moved{.runs = &one,
               .kind = change.kind,
               .before = before,
               .after = after,
               .worse = worse,
               .p = change.p < 1 ? change.p : kOwnProof};
}

// Adds the newest young change of the series that is for the worse and still there. A drift is as
// young as its end, so that one for the better may be younger than a step for the worse inside of
// it.
void add_change(const SeriesRuns& one, const analysis::Prior& prior, std::vector<Moved>& out) {
  const analysis::DetectorSettings settings{.delta = traits_of(one.series).delta, .prior = prior};
  const analysis::Findings found = analysis::detect_changes(one.values, settings);
  std::vector<analysis::Change> newest(found.changes.rbegin(), found.changes.rend());
  std::ranges::stable_sort(newest, std::greater<>(), analysis::newest_run);
  for (const analysis::Change& change : newest) {
    if (newest_run(change) + kFreshRuns < one.values.size()) return;
    if (auto loss = loss_by(one, found, change)) {
      out.push_back(*std::move(loss));
      return;
    }
  }
}

// Joins the moved series to one event; the first series gives its kind and detail.
RunEvent event_of(const std::string& metric, const std::string& where, const std::string& node,
                  const std::vector<const Moved*>& moved) {
  RunEvent event{.kind = moved.front()->kind,
                 .metric = metric,
                 .where = where,
                 .node = node,
                 .detail = moved.front()->detail};
  std::vector<double> worse;
  for (const Moved* one : moved) {
    worse.push_back(one->worse);
    event.p = std::min(event.p, one->p);
    event.series.push_back(
        {.series = one->runs->series.series_id, .before = one->before, .after = one->after});
  }
  event.worse = upper_median(worse);
  return event;
}

// Names the places of moved series. While most nodes have more than half of their series among
// them, it is the fabric; else the node with the most moved series is named first, and each series
// counts for one node. The rest are single pairs. A node of a larger fabric needs two moved series,
// or one of its own, since one pair alone does not show which of its ends is slow.
void add_by_node(const std::string& metric, const std::map<std::string, std::size_t>& totals,
                 std::vector<const Moved*> moved, std::vector<RunEvent>& out) {
  const auto shares_of = [&] {
    std::map<std::string, std::vector<const Moved*>> by_node;
    for (const Moved* one : moved)
      for (const std::string& node : nodes_of(one->runs->series)) by_node[node].push_back(one);
    std::erase_if(by_node, [&](const auto& entry) {
      return 2 * entry.second.size() <= totals.at(entry.first) ||
             (entry.second.size() < 2 && totals.size() > 1 &&
              nodes_of(entry.second.front()->runs->series).size() > 1);
    });
    return by_node;
  };
  auto by_node = shares_of();
  if (totals.size() > 1 && 2 * by_node.size() > totals.size()) {
    out.push_back(event_of(metric, "fabric", "", moved));
    return;
  }
  while (!by_node.empty()) {
    const auto worst = std::ranges::max_element(
        by_node, {}, [](const auto& entry) { return entry.second.size(); });
    out.push_back(event_of(metric, worst->first, worst->first, worst->second));
    const std::set<const Moved*> told(worst->second.begin(), worst->second.end());
    std::erase_if(moved, [&](const Moved* one) { return told.contains(one); });
    by_node = shares_of();
  }
  for (const Moved* one : moved)
    out.push_back(event_of(metric, fmt::format("{}", fmt::join(one->runs->series.endpoints, " ")),
                           "", {one}));
}

// One metric at places that are peers of each other, or the curves of one metric, each represented
// by a series of one size.
struct Family {
  std::string metric{};
  std::vector<const SeriesRuns*> members{};
  std::vector<Moved> moved{};
  // The chance of each member, in the order of `moved`. Members without a change count with 1,
  // because they were tested too.
  std::vector<double> p{};
  bool is_of_curves = false;
};

// Groups the series by metric, revision and class of peers. Classes with too few members for a
// comparison of peers are joined, because their noise is of one metric.
std::vector<Family> families_of(std::span<const SeriesRuns> all) {
  std::map<std::string, std::map<std::string, std::vector<const SeriesRuns*>>> metrics;
  for (const SeriesRuns& one : all)
    if (!one.values.empty())
      metrics[fmt::format("{} rev {}", metric_text(one.series, ""), one.series.revision)][one.peers]
          .push_back(&one);
  std::vector<Family> out;
  for (auto& [name, classes] : metrics) {
    Family rest;
    for (auto& [peers, members] : classes) {
      if (members.size() >= analysis::kLeastPeers)
        out.push_back({.members = std::move(members)});
      else
        rest.members.insert(rest.members.end(), members.begin(), members.end());
    }
    if (!rest.members.empty()) out.push_back(std::move(rest));
  }
  for (Family& family : out) family.metric = metric_text(family.members.front()->series, "");
  return out;
}

// Finds the changes of the family.
void find_changes(Family& family) {
  std::vector<analysis::Noise> noises;
  for (const SeriesRuns* one : family.members)
    if (const auto alone = analysis::detect_changes(one->values, {}); !alone.too_few)
      noises.push_back(alone.noise);
  const analysis::Prior prior = analysis::pool(noises);
  for (const SeriesRuns* one : family.members) add_change(*one, prior, family.moved);
  for (const Moved& one : family.moved) family.p.push_back(one.p);
  family.p.resize(family.members.size(), 1.0);
}

// The knees of all curves, a family for each metric.
std::vector<Family> curves_of(std::span<const SeriesRuns> all) {
  std::map<std::string, Family> metrics;
  for (Knee& knee : moved_knees(all)) {
    Family& family = metrics[knee.metric];
    family.members.push_back(knee.moved.runs);
    family.p.push_back(knee.moved.p);
    family.moved.push_back(std::move(knee.moved));
  }
  std::vector<Family> out;
  for (auto& [name, family] : metrics) {
    family.metric = name;
    family.is_of_curves = true;
    out.push_back(std::move(family));
  }
  return out;
}

// The changes that remain after the correction for many tests, and the series that fell behind
// their peers. `significant` marks the former, in the order of `family.moved`.
std::vector<Moved> kept_of(const Family& family, const std::vector<bool>& significant) {
  std::vector<Moved> kept;
  std::set<std::int64_t> told;
  for (std::size_t i = 0; i < family.moved.size(); ++i) {
    if (!significant[i] || !(family.moved[i].worse > 0)) continue;
    told.insert(family.moved[i].runs->series.series_id);
    kept.push_back(family.moved[i]);
  }
  if (!family.is_of_curves) add_peers(family.members, told, kept);
  return kept;
}

// All series of one metric over all classes: places are named over all of them.
struct Metric {
  // The number of series of each node.
  std::map<std::string, std::size_t> totals{};
  std::vector<Moved> kept{};
};

// Adds the events of each metric; different kinds of one metric are different events.
void add_metrics(const std::map<std::string, Metric>& metrics, std::vector<RunEvent>& out) {
  for (const auto& [name, metric] : metrics) {
    std::map<std::string_view, std::vector<const Moved*>> kinds;  // in the order of the texts
    for (const Moved& one : metric.kept) kinds[word(one.kind)].push_back(&one);
    for (const auto& [kind, list] : kinds) add_by_node(name, metric.totals, list, out);
  }
}

// Adds the events of the families, with the false discovery rate bounded over all of them.
void add_families(const std::vector<Family>& families, std::vector<RunEvent>& out) {
  std::vector<std::vector<double>> p;
  for (const Family& family : families) p.push_back(family.p);
  const auto significant = analysis::hierarchical(p);
  std::map<std::string, Metric> metrics;
  for (std::size_t i = 0; i < families.size(); ++i) {
    Metric& metric = metrics[families[i].metric];
    for (const SeriesRuns* one : families[i].members)
      for (const std::string& node : nodes_of(one->series)) ++metric.totals[node];
    for (Moved& one : kept_of(families[i], significant[i])) metric.kept.push_back(std::move(one));
  }
  add_metrics(metrics, out);
}

}  // namespace

// Changes come before knees; the order within each is by metric name.
std::vector<RunEvent> events_of(std::span<const SeriesRuns> all) {
  std::vector<RunEvent> out;
  std::vector<Family> families = families_of(all);
  for (Family& family : families) find_changes(family);
  add_families(families, out);
  add_families(curves_of(all), out);
  return out;
}

// Letters, digits, '.' and '_' are kept. A leading run of other characters is dropped.
std::string finding_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_';
    if (plain)
      word += c;
    else if (!word.empty() && word.back() != '-')
      word += '-';
  }
  return word;
}

}  // namespace railgauge
