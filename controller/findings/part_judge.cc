#include "controller/findings/part_judge.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/findings/changes/brief_pairs.h"
#include "controller/findings/changes/part_levels.h"
#include "controller/findings/changes/run_changes.h"
#include "controller/findings/part_cases.h"
#include "controller/findings/run_judge.h"
#include "controller/history/run_suspects.h"
#include "controller/localise/localise_cells.h"
#include "controller/nodes/pause_times.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/lines.h"

namespace railgauge {
namespace {

// Newest findings among which those that may be over are searched.
constexpr std::uint32_t kPartsCompared = 1'000;
// Parts of one run that become findings; more say that the run is at fault.
constexpr std::size_t kPartsKept = 50;
// Share of the figure by which a known part gets worse before it is a step of its finding.
constexpr double kPartGrowth = 0.03;

constexpr std::string_view kLooksOver = "looks over";
constexpr std::string_view kAcknowledge = "ack";
constexpr std::string_view kComment = "comment";
// Steps of a person that leave the finding as it is.
constexpr std::array<std::string_view, 3> kRemarks{kComment, "assign", "nudge"};

// Whether the judge said so by such a step, and nothing but remarks came since.
bool is_said_over(const store::FindingRow& finding, std::string_view action) {
  for (std::size_t i = finding.steps.size(); i-- > 0;) {
    const store::FindingStepRow& step = finding.steps[i];
    if (step.action == action && step.who == kRunJudgeWho &&
        step.text.find(kLooksOver) != std::string::npos)
      return true;
    if (std::ranges::find(kRemarks, step.action) == kRemarks.end()) return false;
  }
  return false;
}

// The judgement of one run. Not thread safe.
class PartJudge {
 public:
  PartJudge(store::Store& store, const store::RunRow& run, double now)
      : store_(store), run_(run), now_(now) {}

  Status run(const LeafSource& leaves) {
    places_.emplace(RG_TRY(RunPlaces::of(store_, leaves)));
    brief_ = RG_TRY(BriefPairs::of(store_, *places_, run_.run_id));
    const auto [from, until] = span_of(run_);
    paused_ = RG_TRY(PauseTimes::of(store_, from)).nodes_during(from, until);
    RG_TRY_OK(store_levels());
    if (run_.trigger == "prove") return {};  // judged by proof/, and no picture of the site
    RG_TRY_OK(judge_nights());
    RG_TRY_OK(judge_suspects(leaves));
    std::vector<const PartCase*> worst;
    for (const auto& [name, one] : cases_)
      if (one.is_present) worst.push_back(&one);
    std::ranges::stable_sort(worst, [](const PartCase* a, const PartCase* b) {
      return std::pair(!a->confirmed, -a->evidence.loss()) <
             std::pair(!b->confirmed, -b->evidence.loss());
    });
    if (worst.size() > kPartsKept) {
      spdlog::warn("run {}: {} slow parts, of which the worst {} become findings", run_.run_id,
                   worst.size(), kPartsKept);
      worst.resize(kPartsKept);
    }
    for (const PartCase* one : worst) RG_TRY_OK(keep(*one));
    return end_what_is_over();
  }

 private:
  // Fits the levels of each series. Figures are dropped with those of a series that has none.
  Status store_levels() {
    std::vector<store::PartLevelsRow> rows;
    for (const PartSeries& series : RG_TRY(part_series_of(store_, run_.run_id))) {
      JudgedNights one{.series = series.series,
                       .figures = RG_TRY(night_of(store_, *places_, run_.nodes, series, brief_))};
      leave_out_paused(one.figures);
      const std::uint32_t nodes = measured_nodes(one.figures);
      if (nodes < kFewestNodesOfLevels) continue;
      const auto levels = parts::levels_of(one.figures);
      if (!levels) {
        spdlog::warn("run {}: no levels of its parts: {}", run_.run_id, levels.error().message);
        continue;
      }
      store::PartLevelsRow& row = rows.emplace_back(row_of_levels(run_.run_id, series.series));
      row.nodes = nodes;
      row.body = bytes_of_levels(*levels);
      judged_.push_back(std::move(one));
    }
    if (rows.empty()) return {};
    return store_.write(store::write_part_levels, run_.run_id, std::move(rows));
  }

  // Reports whether a word of the suspect is a paused node or has one: "n1/mlx5_0:1 n2/mlx5_0:1".
  [[nodiscard]] bool names_paused(const std::string& suspect) const {
    return std::ranges::any_of(words_of(suspect), [&](std::string_view word) {
      return paused_.contains(std::string(word.substr(0, word.find('/'))));
    });
  }

  void leave_out_paused(parts::NightFigures& night) const {
    std::erase_if(night.figures, [&](const parts::Figure& figure) {
      return paused_.contains(night.nodes[figure.from].name) ||
             paused_.contains(night.nodes[figure.to].name);
    });
  }

  Status judge_nights() {
    for (JudgedNights& one : judged_) {
      one.nights = RG_TRY(read_nights(store_, run_.run_id, one.series));
      for (PartCase& found : cases_of_nights(one)) add(std::move(found));
    }
    return {};
  }

  // Whether most of the figures were measured too briefly to be judged.
  [[nodiscard]] bool is_brief(const PairFigures& figures) const {
    const std::size_t brief = brief_.count(figures.series);
    if (brief == 0) return false;
    std::ptrdiff_t measured = 0;
    for (const localise::Layer& layer : figures.data.layers)
      measured += std::ranges::count_if(layer.values, [](float value) { return value > 0; });
    return 2 * brief > static_cast<std::size_t>(measured);
  }

  // Without earlier runs to compare with, suspects of the plan count as well. Few nodes share noise
  // that two figures cannot separate from a fault.
  Status judge_suspects(const LeafSource& leaves) {
    api::PairsRequest request;
    request.set_run_id(run_.run_id);
    std::string without;
    std::size_t left = run_.nodes.size();
    for (const std::string& node : run_.nodes) {
      if (!paused_.contains(node)) continue;
      without += (without.empty() ? "!" : ",!") + node;
      --left;
    }
    if (left == 0) return {};
    request.set_node_set(without);
    const auto suspects = read_suspects(store_, request, leaves);
    if (!suspects) {
      const bool is_none = suspects.error().code == Code::kNotFound ||
                           suspects.error().code == Code::kFailedPrecondition;
      if (!is_none)
        spdlog::warn("run {}: its suspects are no findings: {}", run_.run_id,
                     suspects.error().message);
      return {};
    }
    if (is_brief(suspects->figures)) return {};
    const auto judged = std::ranges::find(judged_, suspects->figures.series, &JudgedNights::series);
    const bool is_first = judged == judged_.end() || judged->nights.size() < 2;
    const bool any = is_first && suspects->figures.data.nodes.size() > localise::kFewNodes;
    for (PartCase& found : cases_of_suspects(*suspects, any)) add(std::move(found));
    for (const std::string& name : cleared_parts(*suspects)) {
      const auto found = cases_.find(name);
      if (found != cases_.end() && !found->second.confirmed) cases_.erase(found);
    }
    return {};
  }

  // One case a part. Evidence of nights is richer than that of a retest, which is added to it.
  void add(PartCase found) {
    if (paused_.contains(found.node)) return;
    const auto [place, is_new] = cases_.try_emplace(found.name, found);
    if (is_new) return;
    PartCase& known = place->second;
    const bool is_clearer = std::pair(found.confirmed, found.evidence.bad_nights()) >
                            std::pair(known.confirmed, known.evidence.bad_nights());
    if (is_clearer && !found.evidence.has_retest()) std::swap(known, found);
    known.confirmed = known.confirmed || found.confirmed;
    known.is_present = known.is_present || found.is_present;
    if (found.evidence.has_retest()) known.evidence.set_retest(found.evidence.retest());
    if (found.evidence.series() != known.evidence.series())
      known.evidence.add_also(found.evidence.series());
  }

  [[nodiscard]] store::FindingRow row_of(const PartCase& one) const {
    return {.finding_id = id_of_part(one.name),
            .kind = std::string(kPartKind),
            .severity = severity::kWarning,
            .run_id = run_.run_id,
            .node_id = places_->id(one.node),
            .suspect = one.suspect,
            .summary = one.summary,
            .evidence = to_json(one.evidence, JsonLayout::kCompact),
            .opened_at = now_,
            .worse = one.evidence.loss()};
  }

  [[nodiscard]] store::FindingStepRow step(std::string action, std::string text) const {
    return {.at = now_,
            .who = std::string(kRunJudgeWho),
            .action = std::move(action),
            .text = fmt::format("run {}: {}", run_.run_id, text)};
  }

  // A settled or confirmed finding changes only where it gets worse. A part that was fixed, or that
  // a person settled, opens again only where several nights or a retest show it.
  Status keep(const PartCase& one) {
    const std::string id = id_of_part(one.name);
    const auto known = store_.read(store::read_finding, id);
    if (!known && known.error().code != Code::kNotFound) return tl::unexpected(known.error());
    if (!known) {
      RG_TRY_OK(store_.write(store::write_finding, row_of(one)));
      if (!one.confirmed) return {};
      return store_.write(store::write_finding_step, id, step("confirm", one.summary));
    }
    const store::FindingState state = known->state;
    const double loss = one.evidence.loss();
    const bool grew = loss > known->worse.value_or(0) + kPartGrowth;
    if (api::is_unseen(state)) {
      if (!one.confirmed && known->run_id == run_.run_id) return {};
      return store_.write(store::write_finding_again, row_of(one), step("confirm", one.summary));
    }
    if (known->run_id == run_.run_id || !one.confirmed) return {};
    if (state == store::FindingState::kConfirmed)
      return grew ? store_.write(store::write_finding_again, row_of(one),
                                 step("worse", one.summary + ", worse than confirmed"))
                  : Status();
    const bool is_open_again =
        store::opens_when_seen(*known) ||
        (state == store::FindingState::kAcknowledged && is_said_over(*known, kAcknowledge));
    if (!is_open_again && !grew) return {};
    return store_.write(store::write_finding_again, row_of(one), step("reopen", one.summary));
  }

  // A part that looks over keeps its finding open: three good nights are no repair. It pages nobody
  // meanwhile, and opens again where the part is slow again. A candidate that no second night and
  // no retest ever confirmed ends, since nothing was found.
  Status say_over(const store::FindingRow& row, const PartEvidence& evidence) {
    if (row.state == store::FindingState::kNew)
      return store_.write(store::write_finding_step, row.finding_id,
                          step("resolve", "as its peers again, and never confirmed"));
    const store::FindingRow whole = RG_TRY(store_.read(store::read_finding, row.finding_id));
    const bool is_known =
        row.state == store::FindingState::kInvestigating ||
        row.state == store::FindingState::kDownstream ||
        (row.state == store::FindingState::kAcknowledged && (!row.until || *row.until >= now_));
    if (is_known && (is_said_over(whole, kAcknowledge) || is_said_over(whole, kComment))) return {};
    return store_.write(
        store::write_finding_step, row.finding_id,
        step(std::string(is_known ? kComment : kAcknowledge),
             fmt::format("{}, as its peers and as before; {}", kLooksOver, how_to_end(evidence))));
  }

  Status end_what_is_over() {
    std::set<std::string> shown;
    for (const auto& [name, one] : cases_)
      if (one.is_present) shown.insert(id_of_part(one.name));
    for (const store::FindingRow& row :
         RG_TRY(store_.read(store::read_findings, {}, kPartsCompared))) {
      if (row.kind != kPartKind || !api::is_open(row.state) || shown.contains(row.finding_id))
        continue;
      // Figures of a paused node neither end nor keep a finding.
      if (names_paused(row.suspect)) continue;
      const PartEvidence evidence = part_evidence_of(row);
      const auto judged = std::ranges::find_if(judged_, [&](const JudgedNights& one) {
        return text_of_series(one.series) == evidence.series();
      });
      if (judged == judged_.end() || !is_part_back(evidence, row.worse.value_or(0), *judged))
        continue;
      RG_TRY_OK(say_over(row, evidence));
    }
    return {};
  }

  store::Store& store_;
  const store::RunRow& run_;
  const double now_;
  std::optional<RunPlaces> places_{};
  BriefPairs brief_{};
  // Nodes that were paused during the run.
  std::set<std::string> paused_{};
  std::vector<JudgedNights> judged_{};
  // By lasting name.
  std::map<std::string, PartCase> cases_{};
};

}  // namespace

Status judge_parts_of_run(store::Store& store, const store::RunRow& run, double now,
                          const LeafSource& leaves) {
  return PartJudge(store, run, now).run(leaves);
}

}  // namespace railgauge
