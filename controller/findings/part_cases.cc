#include "controller/findings/part_cases.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "controller/findings/changes/run_changes.h"
#include "controller/parts/pair_evidence.h"
#include "controller/parts/tables.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

// Measured nights within which a part that is slow on some nights only began.
constexpr std::size_t kFlappingNights = 8;
// Nights in a row that must be as expected before a finding is over.
constexpr std::size_t kGoodNights = 3;
// Shares of a finding's loss: a night that shows it, and one that is as expected again.
constexpr double kShownShare = 0.5;
constexpr double kBackShare = 1.0 / 3;

double log_of_loss(double share) { return -std::log1p(-std::min(share, 0.999)); }

// Sets what names the part and where it belongs.
void describe_part(const parts::PartNames& names, const Element& element, PartCase& out) {
  PartEvidence& evidence = out.evidence;
  const bool is_of_leaves =
      element.kind == Kind::kLeaf || element.kind == Kind::kUplink || element.kind == Kind::kTrunk;
  const std::vector<std::string>& list = is_of_leaves ? names.leaves : names.nodes;
  const std::string_view what = is_of_leaves ? "leaf" : "node";
  evidence.set_schema_version(1);
  evidence.set_part(std::string(localise::kind_word(element.kind)));
  evidence.set_direction(std::string(localise::direction_word(element.direction)));
  evidence.set_memory(element.memory);
  evidence.set_intermittent(element.intermittent);
  if (element.rail >= 0) evidence.set_rail(element.rail);
  if (element.kind == Kind::kRail) evidence.add_marks(fmt::format("rail {}", element.rail));
  if (element.first >= 0) {
    evidence.set_first(list[static_cast<std::size_t>(element.first)]);
    evidence.add_marks(fmt::format("{} {}", what, evidence.first()));
  }
  if (element.second >= 0) {
    evidence.set_second(list[static_cast<std::size_t>(element.second)]);
    evidence.add_marks(fmt::format("{} {}", what, evidence.second()));
  }
  if (localise::is_of_node(element)) out.node = evidence.first();
  out.name = parts::lasting_name(names, element);
  out.suspect = parts::part_name(names, element);
}

// The element of a finding in the numbers of a night; absent: a node or leaf is not there.
std::optional<Element> element_of(const PartEvidence& evidence, const parts::PartNames& names) {
  static constexpr std::array kKinds{Kind::kPort,   Kind::kNode,  Kind::kRail,  Kind::kLeaf,
                                     Kind::kUplink, Kind::kTrunk, Kind::kSpine, Kind::kPair};
  static constexpr std::array kDirections{Direction::kSends, Direction::kReceives,
                                          Direction::kBoth};
  const auto kind = std::ranges::find(kKinds, evidence.part(), localise::kind_word);
  const auto direction =
      std::ranges::find(kDirections, evidence.direction(), localise::direction_word);
  if (kind == kKinds.end() || direction == kDirections.end()) return std::nullopt;
  const bool is_of_leaves = *kind == Kind::kLeaf || *kind == Kind::kUplink || *kind == Kind::kTrunk;
  const std::vector<std::string>& list = is_of_leaves ? names.leaves : names.nodes;
  Element element{.kind = *kind,
                  .rail = evidence.has_rail() ? evidence.rail() : -1,
                  .memory = evidence.memory(),
                  .direction = *direction};
  for (const auto& [name, number] : {std::pair(&evidence.first(), &element.first),
                                     std::pair(&evidence.second(), &element.second)}) {
    if (name->empty()) continue;
    const auto found = std::ranges::find(list, *name);
    if (found == list.end()) return std::nullopt;
    *number = static_cast<std::int32_t>(found - list.begin());
  }
  return element;
}

// The losses of the part, night by night; absent: not measured.
using Losses = std::vector<std::optional<double>>;

// Sets since when the part is slow, and its levels before and after.
void place_nights(const std::vector<LevelsOfRun>& nights, const Losses& losses, double loss,
                  PartEvidence& evidence) {
  std::size_t first = nights.size();
  std::size_t good = nights.size();
  std::size_t looked_at = 0;
  for (std::size_t night = losses.size(); night-- > 0;) {
    if (!losses[night]) continue;
    const bool is_bad = *losses[night] >= kShownShare * loss;
    ++looked_at;
    if (is_bad) {
      first = night;
      good = nights.size();
    } else if (good == nights.size()) {
      good = night;
    }
    const bool may_flap = evidence.intermittent() && looked_at < kFlappingNights;
    if (!is_bad && first < nights.size() && !may_flap) break;
  }
  if (first == nights.size()) return;
  evidence.set_since(rfc3339(nights[first].at));
  if (good < first) evidence.set_good_at(rfc3339(nights[good].at));
  for (std::size_t night = 0; night < losses.size(); ++night)
    if (losses[night])
      (night < first ? evidence.mutable_before_levels() : evidence.mutable_after_levels())
          ->Add(std::exp(-*losses[night]));
}

// The losses of a part against its peers or its own past. A pair has losses where it lost much.
Losses losses_over(const JudgedNights& judged, const parts::Tables& tables, const Element& element,
                   double before) {
  Losses losses(judged.nights.size());
  if (element.kind != Kind::kPair) {
    const std::vector<parts::Level> levels = tables.levels_over(element);
    for (std::size_t night = 0; night < levels.size(); ++night)
      if (levels[night].known()) losses[night] = static_cast<double>(levels[night].loss) - before;
    return losses;
  }
  const parts::Levels& last = judged.nights.back().levels;
  const std::string& from = last.nodes[static_cast<std::size_t>(element.first)].name;
  const std::string& to = last.nodes[static_cast<std::size_t>(element.second)].name;
  for (std::size_t night = 0; night < losses.size(); ++night) {
    const parts::Levels& levels = judged.nights[night].levels;
    for (const parts::PairLoss& pair : levels.pairs)
      if (levels.nodes[pair.from].name == from && levels.nodes[pair.to].name == to &&
          static_cast<std::int32_t>(pair.rail) == element.rail)
        losses[night] = static_cast<double>(pair.loss);
  }
  return losses;
}

// Adds the run's figures for and against the part.
void add_figures_of(const JudgedNights& judged, const Element& element, PartEvidence& evidence) {
  const parts::PairEvidence found = parts::pairs_of(judged.figures, element, evidence.loss());
  evidence.set_figures_for(static_cast<std::uint32_t>(found.slow));
  evidence.set_figures_against(static_cast<std::uint32_t>(found.others));
  for (const parts::PartFigure& figure : found.worst)
    evidence.add_worst(fmt::format("{} to {}, rail {}{}: {:.1f} % worse than others",
                                   judged.figures.nodes[figure.from].name,
                                   judged.figures.nodes[figure.to].name, figure.rail,
                                   figure.gpu ? ", GPU memory" : "", 100 * figure.loss));
}

parts::PartNames names_of_data(const localise::PairData& data) {
  return {.nodes = data.nodes, .leaves = data.leaves};
}

}  // namespace

std::string id_of_part(std::string_view name) {
  return fmt::format("part-{}", finding_word(std::string(name)));
}

std::string text_of_series(const PairSeries& series) {
  return metric_text({.kernel = series.kernel,
                      .metric = series.metric,
                      .meaning = series.meaning,
                      .unit = series.unit,
                      .message_bytes = series.message_bytes},
                     "");
}

std::vector<PartCase> cases_of_nights(const JudgedNights& judged) {
  std::vector<PartCase> cases;
  if (judged.nights.empty()) return cases;
  std::vector<const parts::Levels*> nights;
  for (const LevelsOfRun& night : judged.nights) nights.push_back(&night.levels);
  const parts::PartNames names = parts::names_of(*nights.back());
  const parts::Tables tables(nights);
  for (const parts::PartFinding& finding : parts::judge_parts(nights).findings) {
    PartCase& one = cases.emplace_back();
    describe_part(names, finding.element, one);
    one.confirmed = finding.confirmed;
    one.summary = finding.sentence;
    PartEvidence& evidence = one.evidence;
    evidence.set_series(text_of_series(judged.series));
    evidence.set_loss(finding.loss);
    evidence.set_low(finding.low);
    evidence.set_high(finding.high);
    evidence.set_is_change(finding.is_change);
    evidence.set_level_before(finding.before);
    evidence.set_bad_nights(static_cast<std::uint32_t>(finding.bad_nights));
    evidence.set_nights(static_cast<std::uint32_t>(finding.nights));
    for (const std::string& line : finding.ruled_out) evidence.add_ruled_out(line);
    const double loss = log_of_loss(finding.loss);
    const Losses losses = losses_over(judged, tables, finding.element, finding.before);
    one.is_present = losses.back().value_or(0) >= kShownShare * loss;
    place_nights(judged.nights, losses, loss, evidence);
    add_figures_of(judged, finding.element, evidence);
  }
  return cases;
}

std::vector<PartCase> cases_of_suspects(const RunSuspects& suspects, bool any) {
  std::vector<PartCase> cases;
  const parts::PartNames names = names_of_data(suspects.figures.data);
  for (std::size_t i = 0; i < suspects.found.suspects.size(); ++i) {
    const localise::Suspect& suspect = suspects.found.suspects[i];
    const auto retest = std::ranges::find(suspects.retests, i, &localise::Retest::suspect);
    const bool is_tested =
        retest != suspects.retests.end() && retest->answer != localise::Answer::kInconclusive;
    const bool confirmed = is_tested && retest->answer == localise::Answer::kConfirmed;
    if (!confirmed && (is_tested || !any || !suspect.confirmed)) continue;
    const Element& element = confirmed ? retest->element : suspect.element;
    if (element.kind == Kind::kSpine) continue;  // no later run can show that it is back
    PartCase& one = cases.emplace_back();
    describe_part(names, element, one);
    one.confirmed = confirmed;
    one.summary = suspect.sentence;
    PartEvidence& evidence = one.evidence;
    evidence.set_series(text_of_series(suspects.figures.series));
    evidence.set_loss(suspect.drop);
    evidence.set_low(suspect.drop);
    evidence.set_high(suspect.drop);
    evidence.set_bad_nights(1);
    evidence.set_nights(1);
    evidence.set_figures_for(static_cast<std::uint32_t>(suspect.slow_tasks));
    evidence.set_figures_against(static_cast<std::uint32_t>(suspect.tasks - suspect.slow_tasks));
    for (const localise::PairFigure& figure : suspect.evidence)
      evidence.add_worst(fmt::format("{} to {}, rail {}, {}: {:.1f} % of the expected figure",
                                     names.nodes[static_cast<std::size_t>(figure.from)],
                                     names.nodes[static_cast<std::size_t>(figure.to)], figure.rail,
                                     figure.memory, 100 * figure.seen / figure.expected));
    for (const std::string& line : suspect.ruled_out) evidence.add_ruled_out(line);
    if (confirmed) evidence.set_retest(retest->sentence);
  }
  return cases;
}

std::set<std::string> cleared_parts(const RunSuspects& suspects) {
  std::set<std::string> cleared;
  const parts::PartNames names = names_of_data(suspects.figures.data);
  for (const localise::Retest& retest : suspects.retests)
    if (retest.answer == localise::Answer::kCleared)
      cleared.insert(parts::lasting_name(names, suspects.found.suspects[retest.suspect].element));
  return cleared;
}

bool is_part_back(const PartEvidence& evidence, double worse, const JudgedNights& judged) {
  if (judged.nights.empty()) return false;
  std::vector<const parts::Levels*> nights;
  for (const LevelsOfRun& night : judged.nights) nights.push_back(&night.levels);
  const auto element = element_of(evidence, parts::names_of(*nights.back()));
  if (!element) return false;
  const double loss = log_of_loss(worse);
  const parts::Tables tables(nights);
  const Losses losses = losses_over(judged, tables, *element, evidence.level_before());
  if (element->kind == Kind::kPair) {
    const bool is_measured = std::ranges::any_of(
        judged.figures.figures,
        [&](const parts::Figure& figure) { return parts::uses(judged.figures, *element, figure); });
    return is_measured && losses.back().value_or(0) < kShownShare * loss;
  }
  if (!losses.back()) return false;
  std::size_t good = 0;
  for (std::size_t night = losses.size(); night-- > 0 && good < kGoodNights;) {
    if (!losses[night]) continue;
    if (*losses[night] >= kBackShare * loss) return false;
    ++good;
  }
  return good == kGoodNights;
}

// The commands are those of the person who repairs the part.
std::string how_to_end(const PartEvidence& evidence) {
  const std::string& part = evidence.part();
  if (part == "port" || part == "node")
    return fmt::format("railgauge prove {} ends it", evidence.first());
  if (part == "pair")
    return fmt::format("railgauge prove {},{} ends it", evidence.first(), evidence.second());
  if (part == "leaf" || part == "uplink")
    return fmt::format("railgauge prove with all nodes of leaf {} ends it", evidence.first());
  return "railgauge findings resolve ends it, since no proof of nodes shows it";
}

PartEvidence part_evidence_of(const store::FindingRow& finding) {
  PartEvidence evidence;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(finding.evidence, &evidence, options).ok())
    evidence.Clear();
  return evidence;
}

}  // namespace railgauge
