#include "controller/run_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/analysis/changes.h"
#include "controller/analysis/families.h"
#include "controller/analysis/metric_traits.h"
#include "controller/analysis/pair_peers.h"
#include "controller/analysis/peers.h"
#include "controller/judge_sides.h"
#include "controller/run_knees.h"

namespace railgauge {
namespace {

constexpr double kOwnProof = 1e-4;  // of classes that have a test of their own
constexpr std::size_t kPastNights = 20;
constexpr std::size_t kLeastPastNights = 5;
constexpr std::size_t kNights = 3;
constexpr double kPeerFloor = 0.005;  // of a class's deviations

struct Moved {
  const SeriesRuns* runs = nullptr;
  std::string kind{};
  double before = 0;
  double after = 0;
  double worse = 0;
  double p = 1;
  std::string detail{};
};

analysis::MetricTraits traits_of(const store::SeriesRow& series) {
  return analysis::traits_of(series.unit, series.larger_is_better, "median");
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double worse_by(const store::SeriesRow& series, double before, double after) {
  if (!(before > 0) || !(after > 0)) return 0;
  const auto better = traits_of(series).better;
  return analysis::worse_fraction(better, analysis::oriented(better, std::log(after / before)));
}

// Before and after, in the series' unit: of a spread its deviations, of a mix of modes the better
// and the worse of the two, where the worse is held more often now; absent where the better is.
std::optional<std::pair<double, double>> levels_of(const SeriesRuns& one,
                                                   const analysis::Change& change, bool relative) {
  const bool lower = traits_of(one.series).better == analysis::Better::kLower;
  if (change.kind == analysis::ChangeKind::kModeMix) {
    if ((lower ? change.effect : -change.effect) <= 0) return std::nullopt;
    const auto [low, high] = std::minmax(change.before, change.after);
    return lower ? std::pair(low, high) : std::pair(high, low);
  }
  if (change.kind != analysis::ChangeKind::kVariance) return std::pair(change.before, change.after);
  const double unit = relative ? median_of(one.values) : 1;
  if (!(change.before > 0) || !(unit > 0)) return std::nullopt;
  return std::pair(unit * change.before, unit * change.after);
}

// The newest change for the worse that is young and still holds.
void add_change(const SeriesRuns& one, const analysis::Prior& prior, std::vector<Moved>& out) {
  analysis::DetectorSettings settings;
  settings.delta = traits_of(one.series).delta;
  settings.prior = prior;
  const analysis::Findings found = analysis::detect_changes(one.values, settings);
  if (found.changes.empty()) return;
  const analysis::Change& change = found.changes.back();
  if (change.index + kFreshRuns < one.values.size()) return;
  const auto levels = levels_of(one, change, found.relative);
  if (!levels) return;
  const auto [before, after] = *levels;
  const bool of_spread = change.kind == analysis::ChangeKind::kVariance;
  const double worse = of_spread ? after / before - 1 : worse_by(one.series, before, after);
  if (!(worse > 0)) return;
  // Of spread and modes the newest runs show nothing: the slow mode is held now and then.
  if (change.kind == analysis::ChangeKind::kStep || change.kind == analysis::ChangeKind::kDrift) {
    const std::size_t newest = std::min(kBackRuns, one.values.size());
    const double now =
        median_of({one.values.end() - static_cast<std::ptrdiff_t>(newest), one.values.end()});
    if (worse_by(one.series, before, now) < worse / 2) return;
  }
  out.push_back({.runs = &one,
                 .kind = std::string(word(change.kind)),
                 .before = before,
                 .after = after,
                 .worse = worse,
                 .p = change.p < 1 ? change.p : kOwnProof});
}

std::set<std::string> nodes_of(const store::SeriesRow& series) {
  std::set<std::string> nodes;
  for (const std::string& text : series.endpoints) nodes.insert(text.substr(0, text.find('/')));
  return nodes;
}

// z of the last nights, newest last; what was not measured is left out.
struct Nights {
  std::vector<std::vector<double>> series;             // of a pair that was taken apart, its path's
  std::map<std::string, std::vector<double>> nodes{};  // where pairs could be taken apart
};

// The member's ends by number; absent where it is no pair of two nodes.
std::vector<std::optional<std::pair<std::size_t, std::size_t>>> ends_of(
    const std::vector<const SeriesRuns*>& members, std::vector<std::string>& names) {
  const auto number = [&](const std::string& text) {
    const std::string node = text.substr(0, text.find('/'));
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

// Where all are pairs and enough of them were measured, by node and path; else each by itself.
void add_night(const std::vector<analysis::Peer>& peers,
               const std::vector<std::optional<std::pair<std::size_t, std::size_t>>>& ends,
               const std::vector<std::string>& names, analysis::Better better, Nights& out) {
  std::vector<analysis::PairFigure> figures;
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (ends[i])
      figures.push_back({.from = ends[i]->first, .to = ends[i]->second, .value = peers[i].value});
  analysis::PairStandings pairs;
  if (figures.size() == peers.size())
    pairs = analysis::judge_pairs(figures, names.size(), better, kPeerFloor);
  const auto standings =
      pairs.apart ? pairs.paths : analysis::judge_peers(peers, better, kPeerFloor);
  for (std::size_t i = 0; i < standings.size(); ++i)
    if (standings[i].judged) out.series[i].push_back(standings[i].z);
  for (std::size_t i = 0; i < pairs.nodes.size(); ++i)
    if (pairs.nodes[i].judged) out.nodes[names[i]].push_back(pairs.nodes[i].z);
}

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

// Whether it fell behind on the last nights, less its standing offset: what always was slower, as a
// pair over more switches is, did not.
bool fell_behind(const std::vector<double>& z, double worse, double delta) {
  if (z.size() < kNights + kLeastPastNights || worse <= delta) return false;
  const auto split = z.end() - static_cast<std::ptrdiff_t>(kNights);
  const double standing = median_of({z.begin(), split});
  std::vector<double> nights;
  for (auto night = split; night != z.end(); ++night) nights.push_back(*night - standing);
  return analysis::pages(nights, worse, delta);
}

std::optional<Moved> behind(const SeriesRuns& one) {
  if (one.values.size() <= kNights) return std::nullopt;
  Moved moved{.runs = &one, .kind = "peer", .after = one.values.back(), .p = kOwnProof};
  moved.before =
      median_of({one.values.begin(), one.values.end() - static_cast<std::ptrdiff_t>(kNights)});
  moved.worse = worse_by(one.series, moved.before, moved.after);
  return moved;
}

// Those that became slow against what their peers did on the same nights. Of a node that fell
// behind all that was measured with it.
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
    if (fell_behind(z, median_of(worse), traits.delta)) slow.insert(node);
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
  event.worse = median_of(worse);
  return event;
}

// Nodes most of whose series moved, those with most first; each series counts for one of them.
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

void add_class(const std::string& metric, const std::vector<const SeriesRuns*>& members,
               std::vector<RunEvent>& out) {
  std::vector<analysis::Noise> noises;
  std::map<std::string, std::size_t> totals;
  for (const SeriesRuns* one : members) {
    const analysis::Findings alone = analysis::detect_changes(one->values, {});
    if (!alone.too_few) noises.push_back(alone.noise);
    for (const std::string& node : nodes_of(one->series)) ++totals[node];
  }
  const analysis::Prior prior = analysis::pool(noises);
  std::vector<Moved> moved;
  for (const SeriesRuns* one : members) add_change(*one, prior, moved);
  // All of the class were asked; those that stayed count as well.
  std::vector<double> p(members.size(), 1.0);
  for (std::size_t i = 0; i < moved.size(); ++i) p[i] = moved[i].p;
  const std::vector<bool> stand = analysis::benjamini_hochberg(p);
  std::vector<Moved> kept;
  std::set<std::int64_t> told;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (!stand[i]) continue;
    told.insert(moved[i].runs->series.series_id);
    kept.push_back(moved[i]);
  }
  add_peers(members, told, kept);
  std::map<std::string, std::vector<const Moved*>> kinds;
  for (const Moved& one : kept) kinds[one.kind].push_back(&one);
  for (const auto& [kind, list] : kinds) add_by_node(metric, totals, list, out);
}

// Curves of one metric are a family; a curve's series stands for all of its sizes.
void add_knees(std::span<const SeriesRuns> all, std::vector<RunEvent>& out) {
  std::map<std::string, std::vector<Knee>> metrics;
  for (Knee& knee : moved_knees(all)) metrics[knee.metric].push_back(std::move(knee));
  for (const auto& [metric, knees] : metrics) {
    std::vector<double> p;
    for (const Knee& knee : knees) p.push_back(knee.p);
    const std::vector<bool> stand = analysis::benjamini_hochberg(p);
    std::map<std::string, std::size_t> totals;
    std::vector<Moved> kept;
    for (std::size_t i = 0; i < knees.size(); ++i) {
      for (const std::string& node : nodes_of(knees[i].runs->series)) ++totals[node];
      if (stand[i] && knees[i].worse > 0)
        kept.push_back({.runs = knees[i].runs,
                        .kind = "knee",
                        .before = knees[i].level_before,
                        .after = knees[i].level_after,
                        .worse = knees[i].worse,
                        .p = knees[i].p,
                        .detail = fmt::format("from {:.0f} B to {:.0f} B", knees[i].bytes_before,
                                              knees[i].bytes_after)});
    }
    std::vector<const Moved*> list;
    for (const Moved& one : kept) list.push_back(&one);
    if (!list.empty()) add_by_node(metric, totals, list, out);
  }
}

}  // namespace

std::vector<RunEvent> events_of(std::span<const SeriesRuns> all) {
  std::map<std::string, std::vector<const SeriesRuns*>> classes;
  for (const SeriesRuns& one : all)
    if (!one.values.empty())
      classes[fmt::format("{} rev {}", metric_text(one.series, ""), one.series.revision)].push_back(
          &one);
  std::vector<RunEvent> out;
  for (const auto& [name, members] : classes)
    add_class(metric_text(members.front()->series, ""), members, out);
  add_knees(all, out);
  return out;
}

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
