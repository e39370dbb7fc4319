#include "deploy/truth/modelled_nights.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "agent/fleet/agents/task_board.h"
#include "agent/fleet/model/modelled_fabric.h"
#include "agent/fleet/node/modelled_node.h"
#include "controller/fleet/convert.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/plan/suite/suite.h"
#include "controller/plan/topology/topology_sources.h"
#include "kernels/core/base/headline.h"

namespace railgauge::truth {
namespace {

constexpr fleet::Nanoseconds kHourNs = 3'600'000'000'000;
// The schedule starts a run at one o'clock.
constexpr fleet::Nanoseconds kDueNs = kHourNs;
constexpr const char* kMetric = "bandwidth_bytes_per_second";

// The site of a case as the controller knows it, and its modelled fabric. Immutable after make(): a
// night depends on its number alone, so that nights may be asked for in any order.
class Site {
 public:
  // Nodes are described by the fleet's own code and read by the controller's own code, so that the
  // planner sees what it would see of agents. Nothing of the scenario's later times changes them.
  static Result<Site> make(const Case& one, std::span<const KernelInfo> kernels) {
    Site site(one, kernels);
    site.fabric_ = std::make_unique<fleet::ModelledFabric>(
        RG_TRY(fleet::read_scenario(one.scenario, "the case's scenario")));
    plan::SuiteReading read = plan::read_suite(one.suite, "the case's suite", kernels);
    if (!read.suite) return tl::unexpected(plan::error_of(read.problems));
    site.suite_ = *std::move(read.suite);
    const fleet::Scenario& scenario = site.fabric_->scenario();
    std::vector<plan::TopologyNode> places;
    for (std::uint32_t node = 0; node < scenario.fabric.nodes; ++node) {
      fleet::NodeState state;
      state.hello = std::make_shared<api::Hello>(fleet::hello_at(scenario, node, 0));
      site.nodes_.push_back(plan_node_of(state));
      places.push_back(topology_node_of(state));
    }
    site.topology_ = RG_TRY(plan::read_topology({.source = "labels"}, "", places));
    site.place_nodes();
    return site;
  }

  // The schedule's number of the start is the slice. The clock jumps to the due time last, which is
  // the time from which the fleet spreads the tasks of the run.
  [[nodiscard]] Result<parts::NightFigures> night(std::uint32_t number) const {
    const plan::PlanOptions options{
        .topology = topology_, .slice_index = number, .slice_nodes = nodes_};
    const plan::PlanOutline outline =
        RG_TRY(plan::PlanOutline::make(suite_, nodes_, kernels_, {}, options));
    parts::NightFigures figures = healthy_;
    fleet::TaskBoard board(*fabric_);
    board.set_calendar(kDueNs + static_cast<fleet::Nanoseconds>(number) * 24 * kHourNs);
    for (std::size_t round = 0; round < outline.head().round_infos.size(); ++round)
      for (const plan::PlannedTask& task : outline.tasks_of(round))
        RG_TRY_OK(add_figure(task, board, figures));
    return figures;
  }

 private:
  Site(const Case& one, std::span<const KernelInfo> kernels)
      : rails_(one.choice.rails), kernels_(kernels) {}

  // Nodes and leaves are in the order of their names, as the controller has them.
  void place_nodes() {
    const fleet::Scenario& scenario = fabric_->scenario();
    std::set<std::string> leaves;
    for (std::uint32_t leaf = 0; leaf < scenario.fabric.leaves; ++leaf)
      leaves.insert(fleet::leaf_name(leaf));
    healthy_.leaves.assign(leaves.begin(), leaves.end());
    for (std::uint32_t node = 0; node < scenario.fabric.nodes; ++node) {
      const auto leaf =
          std::ranges::find(healthy_.leaves, fleet::leaf_name(scenario.leaf_of(node)));
      healthy_.nodes.push_back({.name = fleet::node_name(scenario.fabric, node),
                                .leaf = static_cast<std::int32_t>(leaf - healthy_.leaves.begin())});
    }
    healthy_.rail_class.assign(rails_, 0);
  }

  // Plays one task as the agents of its ranks would, and keeps the figure of a pair. The store has
  // figures in single precision.
  Status add_figure(const plan::PlannedTask& task, fleet::TaskBoard& board,
                    parts::NightFigures& figures) const {
    api::PrepareTask prepare;
    api::TaskRef& ref = *prepare.mutable_task();
    ref.set_run_id("night");
    ref.set_task_id(task.id);
    ref.set_attempt(1);
    prepare.set_kernel(task.kernel);
    prepare.set_size(static_cast<std::uint32_t>(task.ranks.size()));
    prepare.mutable_parameters()->insert(task.parameters.begin(), task.parameters.end());
    std::vector<fleet::Endpoint> ends;
    for (const plan::PlannedRank& rank : task.ranks) {
      const auto node = fleet::node_of_name(fabric_->scenario().fabric, rank.node);
      RG_CHECK(node.has_value());
      fleet::Endpoint& end = ends.emplace_back(RG_TRY(fleet::parse_endpoint(*node, rank.endpoint)));
      if (!rank.gpu.empty()) end.gpu = RG_TRY(fleet::parse_endpoint(*node, rank.gpu)).gpu;
      ref.set_rank(static_cast<std::uint32_t>(ends.size() - 1));
      board.prepare(prepare, end);
    }
    const auto done = board.run(ref, 0);
    for (std::size_t rank = 0; rank < ends.size(); ++rank) board.end(ref);
    const auto memory = task.parameters.find("memory");
    const bool is_gpu = memory != task.parameters.end() && memory->second == "cuda";
    for (const Point& point : done->result.points)
      if (point.metric() == kMetric && ends.size() == 2)
        figures.figures.push_back(
            {.from = ends[0].node,
             .to = ends[1].node,
             .rail = static_cast<std::uint32_t>(ends[0].nic),
             .gpu = is_gpu,
             .value = static_cast<double>(static_cast<float>(headline_of(point)))});
    return {};
  }

  std::uint32_t rails_;
  std::span<const KernelInfo> kernels_;
  std::unique_ptr<fleet::ModelledFabric> fabric_{};
  plan::Suite suite_{};
  plan::Topology topology_{};
  std::vector<plan::PlanNode> nodes_{};
  // The nodes, leaves and rails of every night, without figures.
  parts::NightFigures healthy_{};
};

// Adds what the findings say after a night, by the rules of their life: a part that the night
// itself does not show opens none, the clearest case of a part counts, and the suspect of a
// confirmed finding is the one of its confirmation.
void note(const std::vector<PartCase>& cases, std::uint32_t night, std::vector<SaidPart>& said) {
  std::set<std::string> names;
  for (const PartCase& one : cases) {
    if (!names.insert(one.name).second || !one.is_present) continue;
    const std::string id = id_of_part(one.name);
    auto known = std::ranges::find(said, id, &SaidPart::finding_id);
    if (known == said.end()) {
      said.push_back({.finding_id = id, .suspect = one.suspect, .opened = night});
      known = said.end() - 1;
    }
    if (!one.confirmed || known->confirmed > 0) continue;
    known->confirmed = night;
    known->suspect = one.suspect;
  }
}

}  // namespace

Result<parts::NightFigures> figures_of(const Case& one, std::uint32_t night,
                                       std::span<const KernelInfo> kernels) {
  return RG_TRY(Site::make(one, kernels)).night(night);
}

// Levels go through the bytes of the store, which round them.
Result<std::vector<SaidPart>> judge_case(const Case& one, std::span<const KernelInfo> kernels) {
  const Site site = RG_TRY(Site::make(one, kernels));
  std::vector<SaidPart> said;
  JudgedNights judged;
  for (std::uint32_t night = 0; night < one.nights; ++night) {
    judged.figures = RG_TRY(site.night(night));
    const parts::Levels levels = RG_TRY(parts::levels_of(judged.figures));
    judged.nights.push_back({.levels = RG_TRY(levels_of_bytes(bytes_of_levels(levels)))});
    if (judged.nights.size() > parts::kMostNightsJudged) judged.nights.erase(judged.nights.begin());
    note(cases_of_nights(judged), night + 1, said);
  }
  return said;
}

}  // namespace railgauge::truth
