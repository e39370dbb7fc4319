#include "controller/findings/proof/run_proof.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/findings/changes/brief_pairs.h"
#include "controller/findings/changes/part_levels.h"
#include "controller/findings/changes/series_runs.h"
#include "controller/findings/part_cases.h"
#include "controller/parts/judge.h"
#include "controller/plan/rounds/partner_rounds.h"
#include "controller/plan/suite/suite.h"
#include "controller/store/queries/events.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/fold.h"

namespace railgauge {
namespace {

using parts::ProofState;
using parts::Side;

// The share of the figure, in percent, that a logarithm of a loss is.
double percent_of_log(double loss) { return -100 * std::expm1(-loss); }

// "10.2 % worse than its peers (called from 3.0 % on)".
std::string comparison(std::string_view with, double loss, double called) {
  return fmt::format("{:.1f} % {} than {} (called from {:.1f} % on)",
                     std::abs(percent_of_log(loss)), loss >= 0 ? "worse" : "better", with,
                     percent_of_log(called));
}

// One line for an operator: the part, the comparisons that were made, and the series.
std::string sentence_of(const ProvedPart& part) {
  std::vector<std::string> words;
  if (part.answer.of_peers)
    words.push_back(comparison("its peers", *part.answer.of_peers, *part.answer.called_of_peers));
  if (part.answer.of_past)
    words.push_back(comparison("its past", *part.answer.of_past, *part.answer.called_of_past));
  if (words.empty()) words.emplace_back("no peer and no past to compare it with");
  return fmt::format("{}: {}; {}", part.name, fmt::join(words, ", "), part.series);
}

// Ends of tasks that are no fault of the node: somebody or the controller ended the run.
bool was_ended_from_outside(const std::string& outcome) {
  return outcome.empty() || outcome == kCancelledOutcome;
}

// The judgement of one proof. Not thread safe.
class ProofJudge {
 public:
  ProofJudge(const store::Store& store, store::RunRow run, plan::ProvedNodes prove,
             RunPlaces places)
      : store_(store), run_(std::move(run)), prove_(std::move(prove)), places_(std::move(places)) {
    const std::set<std::string> there(run_.nodes.begin(), run_.nodes.end());
    for (const std::string& node : prove_.nodes) {
      by_name_[node] = out_.nodes.size();
      out_.nodes.push_back({.node = node});
    }
    for (const std::string& node : prove_.partners) {
      if (!there.contains(node) || by_name_.contains(node)) continue;
      out_.partners.push_back(node);
      out_.partner_leaves.push_back(places_.leaf(node));
    }
  }

  Result<RunProof> run() {
    ends_ = RG_TRY(store_.read(store::read_task_ends, run_.run_id));
    const BriefPairs brief = RG_TRY(BriefPairs::of(store_, places_, run_.run_id));
    for (const PartSeries& series : RG_TRY(part_series_of(store_, run_.run_id)))
      RG_TRY_OK(add_pairs(series, brief));
    RG_TRY_OK(add_local_figures());
    add_failures();
    add_absent();
    conclude();
    return std::move(out_);
  }

 private:
  // Whether the node took part as a known-good partner.
  [[nodiscard]] bool is_partner(const std::string& node) const {
    return std::ranges::find(out_.partners, node) != out_.partners.end();
  }

  // The parts of the proved nodes by one series of pairs.
  // Levels are judged by the run's own partners, the past by the levels that nights kept.
  Status add_pairs(const PartSeries& series, const BriefPairs& brief) {
    const parts::NightFigures night = RG_TRY(night_of(store_, places_, run_.nodes, series, brief));
    std::vector<bool> partner;
    for (const parts::NightNode& node : night.nodes) partner.push_back(is_partner(node.name));
    const std::vector<LevelsOfRun> past = RG_TRY(earlier_levels(series));
    const std::vector<parts::ProofLevel> levels = parts::levels_against(night, partner);
    const std::string text = text_of_series(series.series);
    for (const parts::ProofLevel& level : levels) {
      const std::string& name = night.nodes[level.node].name;
      if (!by_name_.contains(name)) continue;
      add({.node = name,
           .name = name_of_side(name, level),
           .series = text,
           .rail = static_cast<std::int32_t>(level.rail),
           .gpu = level.gpu,
           .side = level.side},
          {.loss = level.loss,
           .error = level.error,
           .peers = peers_of(night, partner, levels, level),
           .alike = alike_of(night, partner, levels, level),
           .past = past_of(past, name, level),
           .loss_now = level.loss,
           .least = night.larger_is_better ? parts::kLeastRateLoss : parts::kLeastTimeLoss});
    }
    add_unmeasured(night, partner, levels, text, series.series.kernel);
    add_losses_of_pairs(night, text);
    return {};
  }

  // Those of nights of any suite; damaged ones are left out.
  Result<std::vector<LevelsOfRun>> earlier_levels(const PartSeries& series) const {
    std::vector<LevelsOfRun> past;
    for (const store::PartLevelsRow& row : RG_TRY(
             store_.read(store::read_earlier_part_levels, row_of_levels(run_.run_id, series.series),
                         static_cast<std::uint32_t>(parts::kMostNightsJudged)))) {
      auto levels = levels_of_bytes(row.body);
      if (levels)
        past.push_back({.run_id = row.run_id, .at = row.created_at, .levels = std::move(*levels)});
    }
    return past;
  }

  // "n3 rail 2, sending, GPU memory".
  static std::string name_of_side(const std::string& node, const parts::ProofLevel& level) {
    return fmt::format("{} rail {}, {}{}", node, level.rail,
                       level.side == Side::kSends ? "sending" : "receiving",
                       level.gpu ? ", GPU memory" : "");
  }

  // The same side of partners of the node's hardware on the same rail.
  [[nodiscard]] static std::vector<double> peers_of(const parts::NightFigures& night,
                                                    const std::vector<bool>& partner,
                                                    const std::vector<parts::ProofLevel>& levels,
                                                    const parts::ProofLevel& own) {
    std::vector<double> peers;
    for (const parts::ProofLevel& level : levels)
      if (partner[level.node] && level.gpu == own.gpu && level.side == own.side &&
          level.rail == own.rail &&
          night.nodes[level.node].hardware == night.nodes[own.node].hardware)
        peers.push_back(level.loss);
    return peers;
  }

  // The same on all rails, each against its rail.
  [[nodiscard]] static std::vector<double> alike_of(const parts::NightFigures& night,
                                                    const std::vector<bool>& partner,
                                                    const std::vector<parts::ProofLevel>& levels,
                                                    parts::ProofLevel own) {
    std::set<std::uint32_t> rails;
    for (const parts::ProofLevel& level : levels) rails.insert(level.rail);
    std::vector<double> alike;
    for (const std::uint32_t rail : rails) {
      own.rail = rail;
      add_against_their_middle(peers_of(night, partner, levels, own), alike);
    }
    return alike;
  }

  // Adds each peer against the middle of them; a few have none.
  static void add_against_their_middle(const std::vector<double>& peers,
                                       std::vector<double>& alike) {
    if (peers.size() < parts::kFewestPeers) return;
    const double middle = median(peers);
    for (const double peer : peers) alike.push_back(peer - middle);
  }

  // The levels of earlier nights in which the node was not paused.
  [[nodiscard]] std::vector<double> past_of(const std::vector<LevelsOfRun>& past,
                                            const std::string& node,
                                            const parts::ProofLevel& own) const {
    std::vector<double> losses;
    for (const LevelsOfRun& night : past) {
      const parts::Levels& levels = night.levels;
      const auto found = std::ranges::find(levels.nodes, node, &parts::NightNode::name);
      if (found == levels.nodes.end() || own.rail >= levels.rails) continue;
      const auto at = static_cast<std::size_t>(found - levels.nodes.begin());
      const parts::Level& base = levels.end(parts::Memory::kBase, own.side, at, own.rail);
      double loss = static_cast<double>(base.loss);
      if (own.gpu && levels.has_gpu)
        loss += static_cast<double>(levels.end(parts::Memory::kGpu, own.side, at, own.rail).loss);
      if (!std::isnan(loss)) losses.push_back(loss);
    }
    return losses;
  }

  // Sides that several partners have and a proved node has not.
  void add_unmeasured(const parts::NightFigures& night, const std::vector<bool>& partner,
                      const std::vector<parts::ProofLevel>& levels, const std::string& text,
                      const std::string& kernel) {
    using Key = std::tuple<bool, std::uint32_t, Side>;
    std::map<Key, std::size_t> of_partners;
    std::set<std::pair<std::uint32_t, Key>> have;
    for (const parts::ProofLevel& level : levels) {
      const Key key{level.gpu, level.rail, level.side};
      if (partner[level.node]) ++of_partners[key];
      have.emplace(level.node, key);
    }
    for (std::uint32_t node = 0; node < night.nodes.size(); ++node) {
      if (!by_name_.contains(night.nodes[node].name)) continue;
      for (const auto& [key, count] : of_partners) {
        if (count < parts::kFewestPeers || have.contains({node, key})) continue;
        const auto& [gpu, rail, side] = key;
        const std::string& name = night.nodes[node].name;
        out_.unmeasured.push_back(
            {.node = name,
             .name = name_of_side(name, {.rail = rail, .gpu = gpu, .side = side}),
             .series = text,
             .rail = static_cast<std::int32_t>(rail),
             .gpu = gpu,
             .side = side});
        out_.unmeasured.back().answer.state =
            say_unmeasured(name, out_.unmeasured.back().name, text, kernel);
      }
    }
  }

  // Lost function, unless the run was ended from outside.
  ProofState say_unmeasured(const std::string& node, const std::string& name,
                            const std::string& text, const std::string& kernel) {
    NodeProof& proof = out_.nodes[by_name_.at(node)];
    const store::TaskEnd* why = nullptr;
    for (const store::TaskEnd& end : ends_) {
      if (end.outcome == kPassed || end.kernel != kernel) continue;
      const bool is_its = std::ranges::any_of(
          end.endpoints, [&](const std::string& endpoint) { return node_of(endpoint) == node; });
      if (is_its && (why == nullptr || was_ended_from_outside(why->outcome))) why = &end;
    }
    const bool is_lost = why != nullptr && !was_ended_from_outside(why->outcome);
    (is_lost ? proof.worse : proof.unsure)
        .push_back(fmt::format("{}: not measured, as its partners were{}; {}", name,
                               why == nullptr ? "" : ": " + why->reason, text));
    return is_lost ? ProofState::kWorse : ProofState::kUnsure;
  }

  // The share that each figure lacks against all figures of its rail, memory and distance.
  void add_losses_of_pairs(const parts::NightFigures& night, const std::string& text) {
    const auto is_within = [&](const parts::Figure& figure) {
      return night.nodes[figure.from].leaf >= 0 &&
             night.nodes[figure.from].leaf == night.nodes[figure.to].leaf;
    };
    std::map<std::tuple<std::uint32_t, bool, bool>, std::vector<double>> alike;
    const auto class_of = [&](const parts::Figure& figure) {
      return std::tuple(figure.rail, figure.gpu, is_within(figure));
    };
    const double sign = night.larger_is_better ? -1 : 1;
    for (const parts::Figure& figure : night.figures)
      if (figure.value > 0) alike[class_of(figure)].push_back(sign * std::log(figure.value));
    std::map<std::tuple<std::uint32_t, bool, bool>, double> expected;
    for (auto& [key, losses] : alike) expected[key] = median_in(losses);
    for (const parts::Figure& figure : night.figures) {
      if (!(figure.value > 0)) continue;
      const double loss = sign * std::log(figure.value) - expected[class_of(figure)];
      const auto [place, is_new] =
          out_.pairs.try_emplace({.series = text,
                                  .from = night.nodes[figure.from].name,
                                  .to = night.nodes[figure.to].name,
                                  .rail = static_cast<std::int32_t>(figure.rail),
                                  .gpu = figure.gpu},
                                 -std::expm1(-loss));
      if (!is_new) place->second = std::max(place->second, -std::expm1(-loss));
    }
  }

  // A figure of one node.
  struct LocalFigure {
    std::string node{};
    std::string place{};  // its endpoints without the node
    double loss = 0;
    double least = 0;
    std::vector<double> past{};
  };
  using LocalFigures = std::map<std::string, std::vector<LocalFigure>>;  // by what was measured

  // The parts of the proved nodes by the figures of each node by itself.
  Status add_local_figures() {
    const LocalFigures all = RG_TRY(local_figures());
    for (const auto& [text, figures] : all) {
      for (const LocalFigure& own : figures) {
        if (!by_name_.contains(own.node)) continue;
        add({.node = own.node, .name = own.node + own.place, .series = text},
            {.loss = own.loss,
             .peers = local_peers(figures, own),
             .alike = local_alike(figures, own),
             .past = own.past,
             .loss_now = own.loss,
             .least = own.least});
      }
      add_unmeasured_local(text, figures);
    }
    return {};
  }

  // The figures of partners of the same hardware at the same place; where they name it otherwise,
  // at any place.
  [[nodiscard]] std::vector<double> local_peers(const std::vector<LocalFigure>& figures,
                                                const LocalFigure& own) const {
    std::vector<double> same;
    std::vector<double> any;
    for (const LocalFigure& figure : figures) {
      if (!is_partner(figure.node) || places_.hardware(figure.node) != places_.hardware(own.node))
        continue;
      any.push_back(figure.loss);
      if (figure.place == own.place) same.push_back(figure.loss);
    }
    return same.size() >= parts::kFewestPeers ? same : any;
  }

  // Those at all places of the node, each against its place.
  [[nodiscard]] std::vector<double> local_alike(const std::vector<LocalFigure>& figures,
                                                const LocalFigure& own) const {
    std::vector<double> alike;
    for (const LocalFigure& figure : figures)
      if (figure.node == own.node) add_against_their_middle(local_peers(figures, figure), alike);
    return alike;
  }

  // The places of a proved node are fewer than those of most partners of its hardware.
  void add_unmeasured_local(const std::string& text, const std::vector<LocalFigure>& figures) {
    std::map<std::string, std::size_t> counts;
    for (const LocalFigure& figure : figures) ++counts[figure.node];
    for (const NodeProof& node : out_.nodes) {
      std::vector<double> of_peers;
      for (const std::string& partner : out_.partners)
        if (places_.hardware(partner) == places_.hardware(node.node) && counts.contains(partner))
          of_peers.push_back(static_cast<double>(counts[partner]));
      const bool is_there = std::ranges::find(run_.nodes, node.node) != run_.nodes.end();
      if (!is_there || of_peers.size() < parts::kFewestPeers) continue;
      const double expected = median_in(of_peers);
      const auto own = static_cast<double>(counts[node.node]);
      if (own < expected)
        say_unmeasured(node.node,
                       fmt::format("{}: {:.0f} of {:.0f} figures", node.node, own, expected), text,
                       text.substr(0, text.find(' ')));
    }
  }

  // All series of the run with one node, read with their past.
  Result<LocalFigures> local_figures() const {
    LocalFigures all;
    RunTimes made(store_);
    const double now = RG_TRY(made.of(run_.run_id));
    std::set<std::int64_t> ids;
    for (const store::SidePointRow& point :
         RG_TRY(store_.read(store::read_side_points, {run_.run_id}, {})))
      ids.insert(point.series);
    for (const std::int64_t id : ids) {
      const store::HistoryRow history = RG_TRY(store_.history(id, std::nullopt, kPointsOfSeries));
      const store::SeriesRow& series = history.series;
      if (nodes_of(series).size() != 1) continue;
      LocalFigure figure = RG_TRY(local_figure(history, made, now));
      if (std::isnan(figure.loss)) continue;
      all[metric_text(series, "")].push_back(std::move(figure));
    }
    return all;
  }

  // The median of the run's launches, and one figure a run before it.
  // A rate and a time become losses: the logarithm, with its sign by which way is worse. Later runs
  // than the proof are no past, nor are those in which the node was paused.
  Result<LocalFigure> local_figure(const store::HistoryRow& history, RunTimes& made,
                                   double now) const {
    const store::SeriesRow& series = history.series;
    const auto traits = traits_of(series);
    const bool is_rate = traits.better == analysis::Better::kHigher;
    LocalFigure figure{.node = *nodes_of(series).begin(),
                       .loss = std::nan(""),
                       .least = is_rate ? parts::kLeastRateLoss : parts::kLeastTimeLoss};
    std::set<std::string> places;
    for (const std::string& endpoint : series.endpoints)
      places.insert(endpoint.substr(std::min(endpoint.find('/'), endpoint.size())));
    figure.place = fmt::format("{}", fmt::join(places, " "));
    std::map<std::string, std::vector<double>> runs;
    for (const store::HistoryPointRow& point : history.points)
      if (point.outcome == kPassed && point.headline > 0)
        runs[point.run_id].push_back((is_rate ? -1 : 1) * std::log(point.headline));
    for (auto& [id, losses] : runs) {
      if (id == run_.run_id) {
        figure.loss = median_in(losses);
        continue;
      }
      if (RG_TRY(made.of(id)) >= now || RG_TRY(made.had_pause(id, series))) continue;
      figure.past.push_back(median_in(losses));
    }
    return figure;
  }

  // Judges one part and keeps its answer. A part that is not proved has a sentence at its node.
  void add(ProvedPart part, const parts::ProofCase& one) {
    part.answer = parts::prove(one);
    NodeProof& node = out_.nodes[by_name_.at(part.node)];
    ++node.parts;
    node.without_past += part.answer.of_past ? 0 : 1;
    if (part.answer.state == ProofState::kWorse) node.worse.push_back(sentence_of(part));
    if (part.answer.state == ProofState::kUnsure) node.unsure.push_back(sentence_of(part));
    out_.parts.push_back(std::move(part));
  }

  // Tasks that failed with several partners, or without any, are the node's fault.
  void add_failures() {
    struct Failures {
      std::set<std::string> others{};
      std::size_t tasks = 0;
      bool is_alone = false;
      std::string reason{};
    };
    std::map<std::pair<std::string, std::string>, Failures> all;
    for (const store::TaskEnd& end : ends_) {
      if (end.outcome != kFailed && end.outcome != kCrashed && end.outcome != kTimedOut) continue;
      std::set<std::string> nodes;
      for (const std::string& endpoint : end.endpoints) nodes.insert(node_of(endpoint));
      for (const std::string& node : nodes) {
        if (!by_name_.contains(node)) continue;
        Failures& failures = all[{node, end.kernel}];
        failures.tasks += static_cast<std::size_t>(end.tasks);
        failures.is_alone = failures.is_alone || nodes.size() == 1;
        failures.reason = end.reason;
        failures.others.insert(nodes.begin(), nodes.end());
        failures.others.erase(node);
      }
    }
    for (const auto& [key, failures] : all) {
      NodeProof& node = out_.nodes[by_name_.at(key.first)];
      const bool is_its = failures.is_alone || failures.others.size() > 1;
      node.has_failures = node.has_failures || is_its;
      (is_its ? node.worse : node.unsure)
          .push_back(fmt::format("{}: {} task{} of {} failed{}: {}", key.first, failures.tasks,
                                 failures.tasks == 1 ? "" : "s", key.second,
                                 is_its ? "" : " with " + *failures.others.begin() + " alone",
                                 failures.reason));
    }
  }

  // A node that took no part is not proved; one without a judged figure is not known.
  void add_absent() {
    for (NodeProof& node : out_.nodes) {
      if (std::ranges::find(run_.nodes, node.node) == run_.nodes.end())
        node.worse.push_back(fmt::format("{}: it was left out of the run", node.node));
      else if (node.parts == 0 && node.worse.empty())
        node.unsure.push_back(fmt::format("{}: nothing of it was measured", node.node));
      else if (std::ranges::none_of(out_.parts, [&](const ProvedPart& part) {
                 return part.node == node.node && part.rail >= 0;
               }))
        node.unsure.push_back(
            fmt::format("{}: no figure of it with a partner was judged", node.node));
    }
  }

  // The verdicts from the sentences, and the limits of the proof as a whole.
  void conclude() {
    out_.state = out_.nodes.empty() ? ProofState::kUnsure : ProofState::kProved;
    for (NodeProof& node : out_.nodes) {
      node.state = !node.worse.empty()    ? ProofState::kWorse
                   : !node.unsure.empty() ? ProofState::kUnsure
                                          : ProofState::kProved;
      out_.state = std::max(out_.state, node.state);
    }
    if (out_.partners.size() < plan::kPartnersMet)
      out_.limits.push_back(fmt::format("{} known-good partner{} took part, where {} are wanted",
                                        out_.partners.size(), out_.partners.size() == 1 ? "" : "s",
                                        plan::kPartnersMet));
    std::vector<std::string> without;
    for (const NodeProof& node : out_.nodes)
      if (node.parts > 0 && node.without_past == node.parts) without.push_back(node.node);
    if (!without.empty())
      out_.limits.push_back(
          fmt::format("{}: no figure has a past of {} runs: peers alone were compared with",
                      fold_names(without), parts::kFewestPast));
  }

  const store::Store& store_;
  const store::RunRow run_;
  const plan::ProvedNodes prove_;
  const RunPlaces places_;
  std::vector<store::TaskEnd> ends_{};
  std::map<std::string, std::size_t> by_name_{};
  RunProof out_{};
};

}  // namespace

// The words are values of the certificate's JSON: they never change.
std::string_view proof_word(ProofState state) {
  static constexpr std::array<std::string_view, 3> kWords{"proved", "inconclusive", "not_proved"};
  return kWords.at(static_cast<std::size_t>(state));
}

// The nodes and their partners are those that the controller wrote into the run's suite.
Result<RunProof> proof_of_run(const store::Store& store, const std::string& run_id,
                              const LeafSource& leaves) {
  store::RunRow run = RG_TRY(store.run_summary(run_id)).run;
  const std::string text = RG_TRY(store.read(store::read_suite_text, run_id));
  auto suite = plan::read_suite(text, "", {}).suite;
  if (run.trigger != kProofTrigger || !suite || !suite->prove)
    return fail(Code::kFailedPrecondition,
                fmt::format("run {}: it is no proof; railgauge prove NODES makes one", run_id));
  return ProofJudge(store, std::move(run), std::move(*suite->prove),
                    RG_TRY(RunPlaces::of(store, leaves)))
      .run();
}

}  // namespace railgauge
