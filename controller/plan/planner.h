// From a suite and nodes to tasks in rounds. Pure: the same input gives the same plan, ids
// included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/policy/policy.h"
#include "controller/plan/policy/preflight_gate.h"
#include "controller/plan/suite/suite.h"
#include "controller/plan/topology/site.h"
#include "controller/plan/topology/topology.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {

// Most tasks that one run dispatches: all pairs of 632 nodes. A plan may be larger (PlanOutline); a
// larger suite is run by slices, by quick scans, or on fewer nodes. A plan holds every task in
// memory.
inline constexpr std::size_t kMaxPlannedTasks = 200'000;
// A task's time beside its measuring: spawn, open, exchange, stop, on a slow machine.
inline constexpr double kTaskOverheadSeconds = 2;
// The deadline where the suite sets none: kDeadlineFactor x expected + kDeadlineSlackSeconds.
inline constexpr double kDeadlineFactor = 3;
inline constexpr double kDeadlineSlackSeconds = 30;

// An endpoint that a node offers.
struct NodeEndpoint {
  // "nic", "gpu".
  std::string kind{};
  // "rxe0:1", "gpu0": as the agent takes it.
  std::string name{};
  // PCI address; "" for a software device.
  std::string pci_address{};
  bool active = false;
  // Rate of the port; 0: unknown.
  double rate_bits_per_second = 0;
  // PCIe distance of a GPU to each NIC device ("rxe0"): words of kPciDistances.
  std::map<std::string, std::string> distances{};
};

// A node as the inventory reports it.
struct PlanNode {
  std::string name{};
  std::vector<NodeEndpoint> endpoints{};
  // GPUs of the machine that the agent's container was not given ("0000:9f:00.0"): not this node's
  // to use, so that no task waits for them; the plan's notes name them.
  std::vector<std::string> hidden_gpus{};
  // Nodes with the same text are alike ("8x NVIDIA H100, 8x 400 Gb/s"); nodes of different kinds
  // are never in one round with nodes of their own kind. "": all are alike.
  std::string hardware{};
  // Not empty: it cannot be used now, with the reason, and each task with it is waived.
  std::string absent{};
};

// One rank of a task: where it runs.
struct PlannedRank {
  std::string node{};
  // "" only for kernels without one, or when the task is waived.
  std::string endpoint{};
  // "gpu3": with a NIC port, whose memory the rank uses; else "".
  std::string gpu{};
  // The switch that its node hangs on; "": no topology names it.
  std::string leaf{};
  // Place among the node's endpoints, by slot; -1: placed without rails.
  std::int32_t rail = -1;
};
// "mlx5_0:1+gpu3".
std::string text_of(const PlannedRank& rank);

// One launch of one kernel on given endpoints.
struct PlannedTask {
  // "t0001": unique in the run.
  std::string id{};
  // Index into the suite's stages.
  std::uint32_t stage = 0;
  // Round in the whole run, from 0; rounds run in this order.
  std::uint32_t round = 0;
  std::string kernel{};
  // Effective, defaults included.
  std::map<std::string, std::string> parameters{};
  // Names of those that identify the series: what is declared so and not at its default.
  std::vector<std::string> identity_parameters{};
  // Names of those that the site profile gave.
  std::vector<std::string> site_defaults{};
  std::vector<PlannedRank> ranks{};
  // Facts that the placement knows and no rank can: kLoopbackFact, kDistanceFact.
  std::map<std::string, std::string> facts{};
  // True when the stage stores every sample.
  bool raw_samples = false;
  double deadline_seconds = 0;
  double expected_seconds = 0;
  double expected_bytes = 0;
  // Not empty: never dispatched, recorded as waived with this reason.
  std::string waived_reason{};
  // Distance of its two nodes; kUnknown where the topology lacks one of them, kNone where the task
  // is not on a pair of nodes.
  DistanceClass distance = DistanceClass::kNone;
  // Number of the fresh launch of the same measurement, from 1.
  std::uint32_t repetition = 1;
  // With `directions: both`: false has rank 0 (which sends, in a kernel of one direction) on the
  // node that comes first in the plan, true the other way round. Else always false.
  bool reversed = false;
  // Its round holds tasks of other distance classes too: what the round expects fits none of them.
  bool mixed_round = false;
  // Whom an odd number of nodes leaves over, measuring itself by loopback. Never a figure of the
  // fabric.
  bool idle_filler = false;
  // Its ranks end on different nodes and its kernel measures bandwidth or is a collective.
  bool loads_fabric = false;
};

// Settings that all tasks of a stage share, for the code that runs them and judges their points.
struct PlannedStage {
  std::string name{};
  std::string kernel{};
  PlacementKind placement = PlacementKind::kPairs;
  // Limits of the points (controller/plan/policy/limits.h).
  std::vector<Limit> limits{};
  // 0: none; what has not begun by then is not started.
  double time_budget_seconds = 0;
  run::OnFailure on_failure = run::OnFailure::kContinue;
  std::uint32_t repetitions = 1;
  std::uint32_t rounds = 0;
  std::uint64_t tasks = 0;
};

// Tasks that run at the same time.
struct PlannedRound {
  std::uint32_t stage = 0;
  std::uint32_t repetition = 1;
  bool reversed = false;
  // The distance that most of its pairs have; kNone for what is no pairs' round.
  DistanceClass distance = DistanceClass::kNone;
  // True when some pairs have another distance.
  bool mixed = false;
  std::uint32_t tasks = 0;
  double expected_seconds = 0;
};

// All tasks of a run. A plain value; it is stored as the run's outline.
struct Plan {
  std::string suite{};
  // Names of the chosen nodes, in the order of the choice.
  std::vector<std::string> nodes{};
  std::uint32_t rounds = 0;
  // Rounds one after the other, each as long as its longest task.
  double expected_seconds = 0;
  double expected_bytes = 0;
  // Sorted by round.
  std::vector<PlannedTask> tasks{};
  // One for each stage of the suite, in its order.
  std::vector<PlannedStage> stages{};
  // One for each round.
  std::vector<PlannedRound> round_infos{};
  // Leaf of each node; without those of no known leaf.
  std::map<std::string, std::string> leaves{};
  // "labels", "slurm", ...; "": none.
  std::string topology_source{};
  // The suite's gate; the controller applies it before the run starts.
  PreflightGate preflight{};
  // Includes on_failure and stage_budget_seconds by stage.
  run::RoundPolicy policy{};
  // Lines for people: the cost of strict_class, the blind spots of a scan.
  std::vector<std::string> notes{};
};

// Input of a plan beside suite and nodes.
// A default-constructed value plans without topology, slices and lists.
struct PlanOptions {
  Topology topology{};
  // Which slice, of a stage with slice_of: modulo that. Numbers in a row cover everything: a
  // schedule counts its starts, since its days in a row may have a common divisor with slice_of.
  std::uint64_t slice_index = 0;
  // Over whom rounds that are sliced are laid out, whether they take part in this plan or not, in
  // an order that does not hang on that: who is away on a night must not shift what the others are
  // measured in. None: over the plan's nodes.
  std::vector<PlanNode> slice_nodes{};
  // Text of each file that a stage may name.
  std::map<std::string, std::string> pair_lists{};
};

// A plan with its tasks left out: rounds, counts, time and traffic are all there, and the tasks of
// a round are made when asked for. All pairs of 10,000 nodes are 50 million tasks; their outline is
// a few hundred KiB.
// Immutable after make(); thread safe for readers.
class PlanOutline {
 public:
  // A parameter that a stage leaves open takes the value of the site profile, else the default of
  // its declaration. kInvalidArgument: a kernel that `kernels` lacks, a parameter against its
  // declaration, no nodes, fewer nodes than a placement needs, a node named twice, a placement that
  // wants a topology. kOutOfRange: nobody is there of the slice, and there is nothing else; another
  // one may do. Waived, not refused: tasks of a node without a fitting endpoint.
  static Result<PlanOutline> make(const Suite& suite, std::span<const PlanNode> nodes,
                                  std::span<const KernelInfo> kernels, const Site& site = {},
                                  const PlanOptions& options = {});

  // The plan without its tasks.
  [[nodiscard]] const Plan& head() const;
  // Number of tasks in all rounds.
  [[nodiscard]] std::uint64_t tasks() const;
  // In how many slices (`slice: K/N` of a suite) each is a run that can be dispatched; 0: in no
  // number of them, or all of it is one.
  [[nodiscard]] std::uint32_t slices() const;
  // The tasks of a round, from 0, in order.
  [[nodiscard]] std::vector<PlannedTask> tasks_of(std::size_t round) const;

 private:
  struct Inside;
  explicit PlanOutline(std::shared_ptr<const Inside> inside);
  std::shared_ptr<const Inside> inside_;
};

// The outline with all of its tasks. kInvalidArgument: more than kMaxPlannedTasks.
Result<Plan> make_plan(const PlanOutline& outline);
// Outline and tasks in one call; errors of both.
Result<Plan> make_plan(const Suite& suite, std::span<const PlanNode> nodes,
                       std::span<const KernelInfo> kernels, const Site& site = {},
                       const PlanOptions& options = {});

// The remaining plan of a stopped run: the tasks whose ids are not in `finished`, with their old
// ids, in rounds from 0 without gaps. Plans of the same input have the same ids, so results stored
// for the stopped run fit.
Plan without_finished(Plan plan, const std::set<std::string>& finished);

// Expected time and traffic of one task. Rule: parameters `iterations` (when above 0), `time_cap`
// and `sizes` of the kernel, by name; absent ones as 1 size, and 1 s for the cap, or its `duration`
// where that is longer, since no cap ends it. A kernel with the text parameter `gpus` measures g
// GPUs: those that it lists, or with "all" the node's (`node_gpus`), and up to g x (g - 1) points
// for each size, at least 1. Seconds: the time cap for each point plus kTaskOverheadSeconds: an
// upper bound of measuring, but not of fixed iterations, which no cap ends, nor of GPUs that the
// inventory did not show (both want the stage's `deadline_seconds`). Bytes: iterations x size for
// each point where iterations are fixed; else the time cap at the slower endpoint's rate for a
// kernel with a bandwidth metric (0 when the rate is unknown), and 0 for latency kernels, which
// load nothing.
struct TaskCost {
  double seconds = 0;
  double bytes = 0;
};
}  // namespace railgauge::plan
