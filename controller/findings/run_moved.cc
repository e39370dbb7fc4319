#include "controller/findings/run_moved.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "controller/detect/changes.h"
#include "controller/detect/knee.h"
#include "controller/detect/pair_peers.h"
#include "controller/detect/peers.h"
#include "controller/findings/run_changes.h"
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

// Whether it fell behind on the last nights, less its usual distance: a pair over more switches is
// always slower.
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
                   Knee& knee) {
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
    knee.level_before = was;
    knee.level_after = is;
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
  Knee out{.metric = knee_text(whole), .runs = curve.front()};
  analysis::DetectorSettings settings;
  settings.delta = analysis::kKneeDelta;
  const analysis::Findings found = analysis::detect_changes(knees, settings);
  if (found.changes.empty() || found.changes.back().kind != analysis::ChangeKind::kStep) return out;
  const analysis::Change& change = found.changes.back();
  if (change.index + kFreshRuns < knees.size()) return out;
  const analysis::Better way = analysis::better_knee(traits_of(whole).better);
  const double moved = analysis::oriented(way, std::log(change.after / change.before));
  const double now =
      upper_median({knees.end() - static_cast<std::ptrdiff_t>(kBackRuns), knees.end()});
  const bool holds = analysis::oriented(way, std::log(now / change.before)) > moved / 2;
  out.p = change.p;
  out.bytes_before = change.before;
  out.bytes_after = change.after;
  if (!(moved > std::log1p(analysis::kKneeDelta)) || !holds) return out;
  out.worse = analysis::worse_fraction(way, moved);
  out.runs = nullptr;
  choose_series(curve, runs, change.index, out);
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

}  // namespace railgauge
