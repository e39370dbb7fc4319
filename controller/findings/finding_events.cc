#include "controller/findings/finding_events.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/findings/changes/run_places.h"
#include "controller/findings/changes/series_runs.h"
#include "controller/findings/finding_causes.h"
#include "controller/findings/part_cases.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/upgrades/upgrade_data.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

// Reports whether the times of both overlap and they share a mark.
bool are_one(const FindingPlace& a, const FindingPlace& b) {
  if (a.from > b.until || b.from > a.until) return false;
  return std::ranges::any_of(a.marks,
                             [&](const std::string& mark) { return b.marks.contains(mark); });
}

}  // namespace

// A union of groups by the smallest index. The quadratic cost is bounded by kEventsLookedAt.
std::vector<std::size_t> events_of_findings(std::span<const FindingPlace> findings) {
  std::vector<std::size_t> event(findings.size());
  std::iota(event.begin(), event.end(), std::size_t{0});
  for (std::size_t i = 0; i < findings.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (event[i] == event[j] || !are_one(findings[i], findings[j])) continue;
      const auto [kept, gone] = std::minmax(event[i], event[j]);
      std::ranges::replace(event, std::size_t{gone}, std::size_t{kept});
    }
  return event;
}

// --- events of open findings ---

namespace {

// Open findings that are grouped, the newest first; the grouping is quadratic.
constexpr std::size_t kEventsLookedAt = 200;
// Series of one finding that are read.
constexpr std::size_t kSeriesLookedAt = 256;
// Newest findings among which open ones are searched.
constexpr std::uint32_t kFindings = 1'000;
// Stacks of a node that are read, the newest first.
constexpr std::uint32_t kEpochsRead = 20;
// The assumed length of the time in which a finding began, where its figures do not show it: one
// night.
constexpr double kUnplacedSeconds = 86'400.0;

// An open finding with its series, its nodes, and when and where it began.
struct Placed {
  store::FindingRow row{};
  FindingPlace place{};
  std::set<std::string> nodes{};
  std::vector<store::SeriesRow> series{};
  FindingSketch sketch{};
};

// Sets when it began. The split of a level may be wrong by a figure, so that the time starts two
// figures earlier and ends one figure later. A finding that moves no level is placed among the
// fresh runs only.
void place_in_time(const FindingFacts& facts, const FindingCauses& found, FindingPlace& place) {
  place = {.from = facts.opened_at - kUnplacedSeconds, .until = facts.opened_at};
  if (!found.since) return;
  const auto first = std::ranges::find(facts.points, *found.since, &LevelPoint::at);
  const auto back = std::min<std::ptrdiff_t>(first - facts.points.begin(), 2);
  place.from = (first - back)->at;
  const std::optional<MovedKind> kind = moved_kind_of(facts.kind);
  if (kind && is_of_level(*kind) && first + 1 < facts.points.end()) place.until = (first + 1)->at;
}

// Places a finding of nightly runs by its figures, and marks it with the changed parts of the
// stacks.
Status place_night(const store::Store& store, Placed& out) {
  const FindingFacts facts = RG_TRY(facts_of(store, out.row, out.nodes));
  const FindingCauses found = causes_of(facts);
  place_in_time(facts, found, out.place);
  out.sketch = sketch_of(out.series.front(), facts, found);
  for (const store::StackChange& part : foreign_changes(found.parts))
    out.place.marks.insert("change " + store::text_of(part));
  return {};
}

// Places a finding of an upgrade between the last run of the before side and the first run of the
// after side, and marks it with the parts that the upgrade changed.
Status place_upgrade(const store::Store& store, Placed& out) {
  const store::UpgradeRow upgrade = RG_TRY(store.read(store::read_upgrade, out.row.upgrade_id));
  out.place = {.from = upgrade.created_at, .until = out.row.opened_at};
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    const double at = RG_TRY(store.run_summary(run.run_id)).run.created_at;
    if (run.after) {
      out.place.until = at;
      break;
    }
    out.place.from = at;
  }
  out.place.marks.insert("upgrade " + upgrade.upgrade_id);
  for (const store::UpgradeNodeRow& node : changed_nodes(upgrade)) {
    out.nodes.insert(node.node);
    if (node.stack_before == 0 || node.stack_after == 0) continue;
    for (const store::StackChange& part : foreign_changes(
             store::stack_changes(RG_TRY(store.read(store::read_stack_parts, node.stack_before)),
                                  RG_TRY(store.read(store::read_stack_parts, node.stack_after)))))
      out.place.marks.insert("change " + store::text_of(part));
  }
  return {};
}

// Places a finding about a part between its last good night and its first bad one.
void place_part(Placed& out) {
  const PartEvidence evidence = part_evidence_of(out.row);
  out.sketch = sketch_of_part(out.row);
  const auto since = parse_calendar(evidence.since());
  const auto good = parse_calendar(evidence.good_at());
  out.place.until = since.value_or(out.row.opened_at);
  out.place.from = good.value_or(out.place.until - kUnplacedSeconds);
  for (const std::string& mark : evidence.marks()) {
    constexpr std::string_view kNodeMark = "node ";
    if (mark.starts_with(kNodeMark)) out.nodes.insert(mark.substr(kNodeMark.size()));
    out.place.marks.insert(mark);
  }
}

// Reads the finding whole and places it in time and in the fabric. kNotFound: its run or one of its
// series was pruned.
Result<Placed> placed(const store::Store& store, const RunPlaces& places,
                      const std::string& finding_id) {
  Placed out{.row = RG_TRY(store.read(store::read_finding, finding_id))};
  for (const store::FindingSeriesRow& series :
       std::span(out.row.series).first(std::min(out.row.series.size(), kSeriesLookedAt)))
    out.series.push_back(RG_TRY(store.read(store::read_one_series, series.series)));
  if (out.row.upgrade_id.empty()) out.nodes = nodes_in_common(out.series);
  if (!out.row.upgrade_id.empty()) {
    RG_TRY_OK(place_upgrade(store, out));
    if (!out.series.empty()) out.sketch = RG_TRY(read_sketch(store, finding_id));
  } else if (out.row.kind == kPartKind) {
    place_part(out);
  } else if (!out.series.empty()) {
    RG_TRY_OK(place_night(store, out));
  } else {
    out.place = {.from = out.row.opened_at - kUnplacedSeconds, .until = out.row.opened_at};
  }
  for (const std::string& node : out.nodes) out.place.marks.insert("node " + node);
  out.place.marks.merge(places.common_of(out.series));
  return out;
}

// Joins the members to one event: the union of their times and nodes, and the marks that all series
// share.
OpenEvent event_of(const RunPlaces& places, std::vector<Placed*> members) {
  OpenEvent out{.from = members.front()->place.from, .until = members.front()->place.until};
  std::vector<store::SeriesRow> all;
  for (Placed* one : members) {
    out.from = std::min(out.from, one->place.from);
    out.until = std::max(out.until, one->place.until);
    out.nodes.insert(one->nodes.begin(), one->nodes.end());
    all.insert(all.end(), one->series.begin(), one->series.end());
    out.findings.push_back(std::move(one->row));
    out.sketches.push_back(std::move(one->sketch));
  }
  out.common = places.common_of(all);
  return out;
}

}  // namespace

// The findings are listed newest first and returned oldest first, so that an event keeps its first
// finding, and with it its id, while later findings join.
Result<std::vector<OpenEvent>> open_events(const store::Store& store, KeptRunPlaces& kept) {
  std::vector<store::FindingRow> open = RG_TRY(store.read(store::read_findings, {}, kFindings));
  std::erase_if(open, [](const store::FindingRow& row) { return !api::is_open(row.state); });
  if (open.empty()) return std::vector<OpenEvent>();
  if (open.size() > kEventsLookedAt) open.resize(kEventsLookedAt);
  const auto shared = RG_TRY(kept.get(open.front().finding_id));
  const RunPlaces& places = *shared;
  std::vector<Placed> all;
  for (const store::FindingRow& row : open) {
    auto one = placed(store, places, row.finding_id);
    if (!one && one.error().code != Code::kNotFound) return tl::unexpected(one.error());
    // Its run or series was pruned: the finding is an event of its own.
    if (!one) one = Placed{.row = row, .place = {.from = row.opened_at, .until = row.opened_at}};
    all.push_back(std::move(*one));
  }
  std::ranges::reverse(all);  // the oldest first
  std::vector<FindingPlace> where;
  for (const Placed& one : all) where.push_back(one.place);
  const std::vector<std::size_t> numbers = events_of_findings(where);
  std::map<std::size_t, std::vector<Placed*>> members;
  for (std::size_t i = 0; i < all.size(); ++i) members[numbers[i]].push_back(&all[i]);
  std::vector<OpenEvent> out;
  for (auto& [number, group] : members) out.push_back(event_of(places, group));
  return out;
}

// Counts for each change of the time how many nodes have it and how many of these got worse.
Result<std::vector<analysis::Cause>> scored_causes(const store::Store& store,
                                                   const OpenEvent& event) {
  std::vector<analysis::ExposedNode> exposed;
  for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes))) {
    analysis::ExposedNode& one = exposed.emplace_back(
        analysis::ExposedNode{.node = node.name, .affected = event.nodes.contains(node.name)});
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsRead));
    for (std::size_t i = 0; i + 1 < epochs.size(); ++i) {
      if (epochs[i].valid_from < event.from || epochs[i].valid_from > event.until) continue;
      for (const store::StackChange& change :
           foreign_changes(store::stack_changes(epochs[i + 1].parts, epochs[i].parts)))
        one.changes.insert(store::text_of(change));
    }
  }
  std::vector<analysis::Cause> out = analysis::likely_causes(exposed);
  std::erase_if(out, [](const analysis::Cause& cause) { return cause.exposed_affected == 0; });
  out.resize(std::min(out.size(), kMostDifferences));
  return out;
}

std::string cause_text(const analysis::Cause& cause) {
  std::string text = fmt::format("{}: {} of {} nodes that have it got worse, {} of {} others",
                                 fmt::join(cause.changes, ", "), cause.exposed_affected,
                                 cause.exposed, cause.unexposed_affected, cause.unexposed);
  if (cause.changes.size() > 1) {
    text += "; they always came together";
    if (!cause.separators.empty())
      text += fmt::format(", undoing one of them on {} would separate them",
                          fmt::join(cause.separators, " or "));
  }
  return text;
}

}  // namespace railgauge
