// Plans a run: turns a suite and nodes into tasks in rounds. Pure: the same input gives the same
// plan, ids included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/policy/learned_times.h"
#include "controller/plan/policy/policy.h"
#include "controller/plan/policy/preflight_gate.h"
#include "controller/plan/shared_texts.h"
#include "controller/plan/suite/suite.h"
#include "controller/plan/topology/site.h"
#include "controller/plan/topology/topology.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {

// Most tasks of a Plan, which holds each of them in memory, and of an answer that lists them. An
// outline has no such bound, nor has a run: it makes the tasks of a round when the round begins.
inline constexpr std::size_t kMostListedTasks = 200'000;
// Most rounds of an outline, each repetition counted. An outline has a row a round, so a small
// suite with many repetitions would else take the controller's memory.
inline constexpr std::uint64_t kMaxPlannedRounds = 1'000'000;
// A task's time apart from measuring: spawn, open, exchange, stop, on a slow machine.
inline constexpr double kTaskOverheadSeconds = 2;
// Deadline when the suite sets none: kDeadlineFactor x expected + kDeadlineSlackSeconds.
inline constexpr double kDeadlineFactor = 3;
inline constexpr double kDeadlineSlackSeconds = 30;

// An endpoint that a node offers.
struct NodeEndpoint {
  // "nic", "gpu".
  std::string kind{};
  // Name that the agent accepts: "rxe0:1", "gpu0".
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
  // GPUs of the machine that the agent's container cannot use ("0000:9f:00.0"). No task waits for
  // them; the plan's notes name them.
  std::vector<std::string> hidden_gpus{};
  // Kind of hardware ("8x NVIDIA H100, 8x 400 Gb/s"). With `pairs: all`, no round mixes pairs
  // within one kind with pairs between two kinds. "" is a kind like any other.
  std::string hardware{};
  // Reason why the node cannot be used now; each of its tasks is waived. "": usable.
  std::string absent{};
};

// One rank of a task: where it runs.
struct PlannedRank {
  std::string node{};
  // "" only for a kernel without endpoints, or when the task is waived.
  std::string endpoint{};
  // "gpu3": the GPU whose memory the rank on a NIC port uses; else "".
  std::string gpu{};
  // Leaf switch of the node; "": no topology names it.
  std::string leaf{};
  // Place among the node's endpoints, by slot; -1: placed without rails.
  std::int32_t rail = -1;
};
// Returns the rank's endpoint with its GPU, if any: "mlx5_0:1+gpu3".
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
  SharedTexts parameters{};
  // Parameters that identify the series: declared as identity and not at their defaults.
  std::vector<std::string> identity_parameters{};
  // Names of parameters with a value from the site profile.
  std::vector<std::string> site_defaults{};
  std::vector<PlannedRank> ranks{};
  // Facts from the placement, which a rank cannot know: kLoopbackFact, kDistanceFact.
  std::map<std::string, std::string> facts{};
  // True when the stage stores every sample.
  bool raw_samples = false;
  double deadline_seconds = 0;
  // Longest time by the kernel's own caps. Deadline and stragglers count from it; 0: waived.
  double longest_seconds = 0;
  // longest_seconds, or the part of it that earlier runs took.
  double expected_seconds = 0;
  double expected_bytes = 0;
  // Reason for the outcome "waived", without a dispatch; "": the task is dispatched.
  std::string waived_reason{};
  // Distance between the task's two nodes; kUnknown when the topology lacks one of them, kNone when
  // the task is not on a pair of nodes.
  DistanceClass distance = DistanceClass::kNone;
  // Number of this launch among fresh launches of the same measurement, from 1.
  std::uint32_t repetition = 1;
  // With `directions: both`: false puts rank 0 (the sender in a kernel of one direction) on the
  // pair's first node in the plan, true on its second. Otherwise always false.
  bool reversed = false;
  // True when the round holds tasks of other distance classes too: its expectations fit no class.
  bool mixed_round = false;
  // True for loopback on the node that an odd number of nodes leaves without a partner. Never a
  // figure of the fabric.
  bool idle_filler = false;
  // True when the ranks are on different nodes and the kernel measures bandwidth or is a
  // collective.
  bool loads_fabric = false;
};

// Settings that all tasks of a stage share, for the code that runs them and judges their points.
struct PlannedStage {
  std::string name{};
  std::string kernel{};
  // Metrics that the kernel declares: its points have no others.
  std::vector<std::string> metrics{};
  PlacementKind placement = PlacementKind::kPairs;
  // Limits of the points (controller/plan/policy/limits.h).
  std::vector<Limit> limits{};
  // A task that has not begun by then is not started. 0: no budget.
  double time_budget_seconds = 0;
  run::OnFailure on_failure = run::OnFailure::kContinue;
  std::uint32_t repetitions = 1;
  std::uint32_t rounds = 0;
  std::uint64_t tasks = 0;
  // The key of its times in LearnedTimes, and whether earlier runs have shown them.
  std::string time_key{};
  bool learned = false;
};

// Tasks that run at the same time.
struct PlannedRound {
  std::uint32_t stage = 0;
  std::uint32_t repetition = 1;
  bool reversed = false;
  // Distance of most pairs of the round; kNone for a round without pairs.
  DistanceClass distance = DistanceClass::kNone;
  // True when some pairs have another distance.
  bool mixed = false;
  std::uint32_t tasks = 0;
  double expected_seconds = 0;
};

// All tasks of a run, or with PlanOutline::head() none of them. A plain value.
struct Plan {
  std::string suite{};
  // Names of the chosen nodes, in the order of the choice.
  std::vector<std::string> nodes{};
  std::uint32_t rounds = 0;
  // Sum over the rounds, each as long as its longest task.
  double expected_seconds = 0;
  double expected_bytes = 0;
  // Sorted by round.
  std::vector<PlannedTask> tasks{};
  // One for each stage of the suite, in its order.
  std::vector<PlannedStage> stages{};
  // One for each round.
  std::vector<PlannedRound> round_infos{};
  // Leaf by node name; a node without a known leaf is missing.
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

// Input of a plan besides suite and nodes. A default-constructed value plans without topology,
// slices and lists of pairs.
struct PlanOptions {
  Topology topology{};
  // Number of the slice, modulo the stage's slice_of. Consecutive numbers cover every round. A
  // schedule passes its count of starts: the interval between its days may share a divisor with
  // slice_of.
  std::uint64_t slice_index = 0;
  // Nodes over which sliced rounds are laid out, including nodes absent from this plan. The order
  // must not depend on absences: an absent node must not move the other pairs to other slices.
  // Empty: the plan's nodes.
  std::vector<PlanNode> slice_nodes{};
  // Nodes of a proof, for pairs: partners.
  std::optional<ProvedNodes> prove{};
  // Text of each file that a stage may name.
  std::map<std::string, std::string> pair_lists{};
  // Times of earlier runs. They change expectations alone: no task, round, id or deadline. With
  // them, a note names the stages of which no earlier run shows the time.
  std::optional<LearnedTimes> times{};
};

// A plan that makes the tasks of a round on demand; rounds, counts, time and traffic are computed.
// All pairs of 10,000 nodes are 50 million tasks, and their outline takes a few hundred KiB.
// Immutable, and copies share it; thread safe for readers.
class PlanOutline {
 public:
  // Lays out the rounds of all stages. A parameter that a stage leaves open takes the value of the
  // site profile, else its declared default. kInvalidArgument: a kernel that `kernels` lacks, a
  // parameter against its declaration, no nodes, fewer nodes than a placement needs, a node named
  // twice, a placement that needs a topology, more than kMaxPlannedRounds. kOutOfRange: every pair
  // of the slice has an absent node and no other task is left; another slice may work. Tasks of a
  // node without a fitting endpoint are waived, not refused.
  static Result<PlanOutline> make(const Suite& suite, std::span<const PlanNode> nodes,
                                  std::span<const KernelInfo> kernels, const Site& site = {},
                                  const PlanOptions& options = {});

  // Returns the plan without its tasks.
  [[nodiscard]] const Plan& head() const;
  // Returns the number of tasks in all rounds.
  [[nodiscard]] std::uint64_t tasks() const;
  // Makes the tasks of a round in order; rounds count from 0. Ids do not depend on the calls.
  [[nodiscard]] std::vector<PlannedTask> tasks_of(std::size_t round) const;
  // Returns the number of tasks in the rounds before `round`, which may be the number of rounds.
  [[nodiscard]] std::uint64_t first_of(std::size_t round) const;
  // Returns the round of the task with that index, which is below tasks().
  [[nodiscard]] std::size_t round_of(std::uint64_t index) const;
  // Returns the remaining plan of a stopped run: the tasks without those in `finished`, by their
  // index in this outline, with their ids, in rounds from 0 without gaps. Plans of the same input
  // have the same tasks, so the stored results of the stopped run fit. Makes each task once.
  // REQUIRES: an outline of make(), and as many marks as it has tasks.
  [[nodiscard]] PlanOutline without(std::vector<bool> finished) const;

 private:
  struct Inside;
  // The part of the tasks that remains.
  struct Rest;
  explicit PlanOutline(std::shared_ptr<const Inside> inside);
  std::shared_ptr<const Inside> inside_;
  std::shared_ptr<const Rest> rest_;  // null: all tasks
};

// Returns the index of a planned task from its id ("t0001" is 0); absent: the id is not one of a
// planned task.
std::optional<std::uint64_t> index_of_id(std::string_view id);

// Makes the plan with all tasks of the outline. kInvalidArgument: more than kMostListedTasks.
Result<Plan> make_plan(const PlanOutline& outline);
// Makes outline and tasks in one call, with the errors of both.
Result<Plan> make_plan(const Suite& suite, std::span<const PlanNode> nodes,
                       std::span<const KernelInfo> kernels, const Site& site = {},
                       const PlanOptions& options = {});

// Expected time and traffic of one task, from the kernel's parameters `iterations` (when above 0),
// `time_cap` and `sizes`. An absent `sizes` counts as 1 size, an absent `time_cap` as 1 s; a longer
// `duration` replaces the cap, since no cap ends it. With the text parameter `gpus`, a kernel
// measures g GPUs: the listed ones, or with "all" the node's (`node_gpus`); each size has up to
// g x (g - 1) points, at least 1.
// Seconds: the time cap for each point, `proof_time` unless `verify` is false, and
// kTaskOverheadSeconds. This bounds the measuring, except for fixed iterations, which no cap ends,
// and for GPUs missing in the inventory; both need the stage's `deadline_seconds`.
// Bytes: iterations x size for each point with fixed iterations; else, for a bandwidth metric, the
// time cap at the slower endpoint's rate (0 when unknown); 0 for latency kernels, which load
// nothing.
struct TaskCost {
  double seconds = 0;  // the longest
  double bytes = 0;
  bool bytes_follow_time = false;  // they are a rate times the time
};
}  // namespace railgauge::plan
