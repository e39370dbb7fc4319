#include "controller/findings/run_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/detect/changes.h"
#include "controller/detect/peers.h"
#include "controller/findings/run_moved.h"
#include "controller/stats/families.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
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

// Whether the change moves the level; a spread and a mix of modes do not.
bool is_of_level(const analysis::Change& change) {
  return change.kind == analysis::ChangeKind::kStep || change.kind == analysis::ChangeKind::kDrift;
}

// Whether the newest change ends an improvement that held for a few runs only: the present level is
// no worse than the one before the improvement, which was no loss itself. A level that was better
// for long is the reference.
bool ends_improvement(const store::SeriesRow& series,
                      const std::vector<analysis::Change>& changes) {
  const double delta = traits_of(series).delta;
  const analysis::Change& newest = changes.back();
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    const analysis::Change& left = changes[i];
    if (!is_of_level(left) || left.index + kFreshRuns < newest.index) continue;
    const bool is_better = worse_by(series, left.before, left.after) < 0;
    const bool was_loss = std::ranges::any_of(
        changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const analysis::Change& earlier) {
          return is_of_level(earlier) && worse_by(series, earlier.before, left.before) > delta;
        });
    if (is_better && !was_loss && worse_by(series, left.before, newest.after) <= delta) return true;
  }
  return false;
}

// Adds the newest change of the series where it is for the worse, young, and still there.
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
  auto [before, after] = *levels;
  const bool of_spread = change.kind == analysis::ChangeKind::kVariance;
  if (const auto own = returned_to(one); own && is_of_level(change) &&
                                         change.index + kPlaceSlack >= own->since &&
                                         change.index <= own->since + kPlaceSlack) {
    before = own->level;
    if (worse_by(one.series, before, after) <= settings.delta) return;
  }
  const double worse = of_spread ? after / before - 1 : worse_by(one.series, before, after);
  if (!(worse > 0)) return;
  // The newest runs show nothing about spread and modes, because the slow mode comes and goes.
  if (is_of_level(change)) {
    if (ends_improvement(one.series, found.changes)) return;
    const std::size_t newest = std::min(kBackRuns, one.values.size());
    const double now =
        upper_median({one.values.end() - static_cast<std::ptrdiff_t>(newest), one.values.end()});
    if (worse_by(one.series, before, now) < worse / 2) return;
  }
  out.push_back({.runs = &one,
                 .kind = *moved_kind_of(word(change.kind)),
                 .before = before,
                 .after = after,
                 .worse = worse,
                 .p = change.p < 1 ? change.p : kOwnProof});
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

// One metric at places that are peers of each other.
struct Family {
  std::string metric{};
  std::vector<const SeriesRuns*> members{};
  std::vector<Moved> moved{};
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

// Finds the changes of the family and returns the chance of each member. Members without a change
// count with 1, because they were tested too.
std::vector<double> find_changes(Family& family) {
  std::vector<analysis::Noise> noises;
  for (const SeriesRuns* one : family.members)
    if (const auto alone = analysis::detect_changes(one->values, {}); !alone.too_few)
      noises.push_back(alone.noise);
  const analysis::Prior prior = analysis::pool(noises);
  for (const SeriesRuns* one : family.members) add_change(*one, prior, family.moved);
  std::vector<double> p(family.members.size(), 1.0);
  for (std::size_t i = 0; i < family.moved.size(); ++i) p[i] = family.moved[i].p;
  return p;
}

// The changes that remain after the correction for many tests, and the series that fell behind
// their peers. `significant` marks the former, in the order of `family.moved`.
std::vector<Moved> kept_of(const Family& family, const std::vector<bool>& significant) {
  std::vector<Moved> kept;
  std::set<std::int64_t> told;
  for (std::size_t i = 0; i < family.moved.size(); ++i) {
    if (!significant[i]) continue;
    told.insert(family.moved[i].runs->series.series_id);
    kept.push_back(family.moved[i]);
  }
  add_peers(family.members, told, kept);
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
    for (const Moved& one : metric.kept) kinds[text_of(one.kind)].push_back(&one);
    for (const auto& [kind, list] : kinds) add_by_node(name, metric.totals, list, out);
  }
}

// Finds changes of single series and delays of peers over all families.
void add_changes(std::span<const SeriesRuns> all, std::vector<RunEvent>& out) {
  std::vector<Family> families = families_of(all);
  std::vector<std::vector<double>> p;
  for (Family& family : families) p.push_back(find_changes(family));
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

// Finds moved knees. The curves of one metric are a family, and one series of a curve represents
// all of its sizes.
void add_knees(std::span<const SeriesRuns> all, std::vector<RunEvent>& out) {
  std::map<std::string, std::vector<Knee>> curves;
  for (Knee& knee : moved_knees(all)) curves[knee.metric].push_back(std::move(knee));
  std::vector<std::vector<double>> p;
  for (const auto& [name, knees] : curves) {
    auto& of_curves = p.emplace_back();
    for (const Knee& knee : knees) of_curves.push_back(knee.p);
  }
  const auto significant = analysis::hierarchical(p);
  std::map<std::string, Metric> metrics;
  std::size_t family = 0;
  for (const auto& [name, knees] : curves) {
    Metric& metric = metrics[name];
    const std::vector<bool>& is_significant = significant[family++];
    for (std::size_t i = 0; i < knees.size(); ++i) {
      for (const std::string& node : nodes_of(knees[i].runs->series)) ++metric.totals[node];
      if (is_significant[i] && knees[i].worse > 0)
        metric.kept.push_back({.runs = knees[i].runs,
                               .kind = MovedKind::kKnee,
                               .before = knees[i].level_before,
                               .after = knees[i].level_after,
                               .worse = knees[i].worse,
                               .p = knees[i].p,
                               .detail = fmt::format("from {:.0f} B to {:.0f} B",
                                                     knees[i].bytes_before, knees[i].bytes_after)});
    }
  }
  add_metrics(metrics, out);
}

}  // namespace

// Changes come before knees; the order within each is by metric name.
std::vector<RunEvent> events_of(std::span<const SeriesRuns> all) {
  std::vector<RunEvent> out;
  add_changes(all, out);
  add_knees(all, out);
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
