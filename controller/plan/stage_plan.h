// One prepared stage: its kernel, its parameters, and the endpoints that each node has for it.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/planner.h"
#include "controller/plan/rounds/pair_rounds.h"
#include "controller/plan/rounds/pair_schedule.h"
#include "controller/plan/suite/suite.h"
#include "kernels/core/params.h"

namespace railgauge::plan {

// Finds the kernel's parameter of that name and type; nullptr when the kernel has none.
const ParameterInfo* find_parameter(const KernelInfo& kernel, std::string_view name,
                                    std::string_view type);
// Reports whether any of the kernel's metrics is a bandwidth.
bool measures_bandwidth(const KernelInfo& kernel);

// Returns the name of a kind of stage whose runs take equally long: "verbs.write_bandwidth on
// pairs, sizes=64KiB". Parameters at their defaults are left out; placements whose tasks span all
// nodes have their number.
std::string time_key(const KernelInfo& kernel, const Params& params, PlacementKind placement,
                     std::size_t nodes);

// Cost of a stage's tasks. Reads the stage's parameters once and serves all of its tasks.
class StageCost {
 public:
  // `params` are effective: defaults included.
  StageCost(const KernelInfo& kernel, const Params& params);
  [[nodiscard]] TaskCost of(double rate_bits_per_second, std::size_t node_gpus) const;

 private:
  // Time of all sizes; with several GPUs, of one pair of GPUs.
  double seconds_per_point_ = 0;
  double proof_seconds_ = 0;  // of the task
  double bytes_per_point_ = 0;
  // True when bytes are the port's rate times the time.
  bool by_rate_ = false;
  // True when every ordered pair of the node's GPUs is a point.
  bool by_node_gpus_ = false;
  // Number of GPUs that the stage names.
  std::size_t named_gpus_ = 1;
};

// An endpoint for a task, or the reason for its absence. Exactly one of `endpoint` and `reason` is
// set; both are "" for a kernel without endpoints.
struct Choice {
  std::string endpoint{};
  // GPU whose memory the ranks on a NIC port use ("gpu3"); "" when none is chosen.
  std::string gpu{};
  // PCIe distance between port and GPU: a word of kPciDistances, or "unknown".
  std::string distance{};
  // Reason why the node has no endpoint for the task; "" when it has one.
  std::string reason{};
  double rate_bits_per_second = 0;
};

// Chooses the node's endpoints of the kernel's kind: one, or all with `each`. Returns at least one
// choice, which may hold only a reason. For loopback, `each: gpu_nic` pairs every GPU with every
// NIC port, GPU by GPU, and `each: gpu` pairs every GPU with its nearest active port. Active
// endpoints come first; slots decide the rest of the order.
std::vector<Choice> choose_endpoints(const PlanNode& node, const std::string& kind,
                                     const Placement& placement);

// Nodes over which rounds are laid out.
struct NodeLayout {
  // By node.
  std::vector<LeafPlace> places{};
  // By node: the number of its kind of hardware.
  std::vector<std::uint32_t> kinds{};
  // Nodes sorted by pod, leaf and place on the leaf.
  std::vector<std::uint32_t> order{};
  // PairInput::numbers; empty: the layout covers exactly the plan's nodes.
  std::vector<std::uint32_t> numbers{};
};

// The nodes of a plan with their places in the topology, shared by all stages.
struct PlanContext {
  std::vector<PlanNode> nodes{};
  NodeLayout own{};
  // By node: the name of its leaf; "" where none is known.
  std::vector<std::string> leaf_names{};
  // Layout of nodes_of_slices(), for sliced rounds; without numbers, sliced rounds use `own`.
  NodeLayout sliced{};
};
// Makes the context of a plan, with a copy of the nodes.
PlanContext context_of(std::span<const PlanNode> nodes, const PlanOptions& options);

// Returns PlanOptions::slice_nodes, with the plan's own entry for each node of the plan, followed
// by the plan's other nodes.
std::vector<PlanNode> nodes_of_slices(std::span<const PlanNode> nodes, const PlanOptions& options);

// A prepared stage: everything that its tasks have in common.
struct StagePlan {
  Stage stage{};
  std::uint32_t index = 0;
  KernelInfo kernel{};
  Params params{};
  // The parameters of each task, and with the index of a GPU ("gpu3") that the placement chooses.
  SharedTexts effective{};
  std::map<std::string, SharedTexts> with_gpu{};
  std::vector<std::string> identity{};
  std::vector<std::string> site_defaults{};
  // By node; more than one choice only with `each` and rails.
  std::vector<std::vector<Choice>> choices{};
  // By node: the number of its GPUs, active or not.
  std::vector<std::size_t> gpus{};
  StageCost cost;
  std::string time_key{};
  // The part of the longest time that earlier runs took; nothing: no earlier run.
  std::optional<double> learned{};

  // The cost of a task, scaled by what earlier runs took.
  [[nodiscard]] TaskCost expected(const TaskCost& longest) const;
};

// kInvalidArgument: a kernel that `kernels` lacks, parameters against its declaration, or a
// placement that the kernel cannot run on.
Result<StagePlan> prepare_stage(const Stage& stage, std::uint32_t index, const PlanContext& context,
                                std::span<const KernelInfo> kernels, const Site& site,
                                const LearnedTimes& times = {});

// Place of a rank: a node, and the index of one of the node's choices.
struct Seat {
  std::uint32_t node = 0;
  std::uint32_t choice = 0;
  bool operator==(const Seat&) const = default;
};
// The ranks of one task.
struct TaskSeats {
  std::vector<Seat> ranks{};
  bool reversed = false;
  bool idle_filler = false;
};

// Makes a task without id, round and repetition.
PlannedTask make_task(const StagePlan& plan, const PlanContext& context, const TaskSeats& seats);

struct PlanOptions;

// Reason of a stage whose slice has no pair of present nodes.
inline constexpr std::string_view kNobodyOfSlice =
    "each pair of the slice has a node that takes no part now";

// The rounds of one stage. The stage plan and the context must outlive it. Thread safe for readers.
class StageRounds {
 public:
  // Lays out the rounds. kInvalidArgument: a number of ranks that the kernel does not take, or a
  // list of pairs that cannot be read.
  static Result<StageRounds> make(const StagePlan& plan, const PlanContext& context,
                                  std::uint64_t seed, const PlanOptions& options);

  [[nodiscard]] std::size_t size() const;
  // Tasks, distance and direction of a round, with its expected time and traffic; without its
  // stage and repetition.
  struct Info {
    PlannedRound round{};
    double bytes = 0;
  };
  // Returns the counts of a round. Cheap for pairs: no task is made.
  [[nodiscard]] Info info(std::size_t round) const;
  // Returns the seats of a round's tasks in order; rounds count from 0.
  [[nodiscard]] std::vector<TaskSeats> tasks(std::size_t round) const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Returns the reason why the chosen nodes yield no round ("pairs need at least 2 nodes, 1
  // chosen"); "" when rounds exist. The suite's other stages are still measured.
  [[nodiscard]] const std::string& left_out() const { return left_out_; }

 private:
  // The properties of a node that decide the cost of its tasks in one pass, so that a round's cost
  // needs no tasks.
  struct NodeCost {
    double rate = 0;
    std::size_t gpus = 0;
    bool waived = false;
  };
  // The choices of both ends of a pair; absent: all choices of that end, without rails.
  struct Link {
    std::optional<std::uint32_t> first{};
    std::optional<std::uint32_t> second{};
  };
  // A round of the stage: one pass over a round of pairs, in one direction.
  struct Turn {
    std::size_t pairs_round;
    const std::vector<Link>* links;
    bool reversed;
  };

  StageRounds(const StagePlan& plan, const PlanContext& context) : plan_(plan), context_(context) {}
  // Fills `fixed_`, or `pairs_` with passes and costs.
  Status lay_out(std::uint64_t seed, const PlanOptions& options);
  // Choices of pairs are laid out by PairRounds; passes and directions multiply its rounds.
  Status lay_out_pairs(std::uint64_t seed, const PlanOptions& options);
  void lay_out_leaves();
  void leave_out(std::string reason);
  void lay_out_within_nodes(std::uint32_t ranks);
  void lay_out_group();
  void lay_out_nodes();
  void add_all_seats(std::uint32_t node, std::vector<Seat>& seats) const;
  // Fills `passes_`.
  void add_passes();
  // kInvalidArgument when a task has a number of ranks that the kernel does not take.
  [[nodiscard]] Status check_ranks() const;
  [[nodiscard]] Turn turn_of(std::size_t round) const;
  void add_seats(std::uint32_t node, const std::optional<std::uint32_t>& choice,
                 std::vector<Seat>& seats) const;
  void add_idle(const std::vector<NodePair>& pairs, std::vector<TaskSeats>& tasks) const;
  [[nodiscard]] bool fills_idle(std::size_t pairs_round) const;
  [[nodiscard]] NodeCost cost_of(std::uint32_t node,
                                 const std::optional<std::uint32_t>& choice) const;
  // Fills `costs_`.
  void add_costs();
  void add_cost(const Turn& turn, const std::vector<NodePair>& pairs, Info& info) const;

  const StagePlan& plan_;
  const PlanContext& context_;
  // Rounds of every placement except pairs.
  std::vector<std::vector<TaskSeats>> fixed_;
  std::optional<PairRounds> pairs_;
  // For pairs: the links that are measured at one time.
  std::vector<std::vector<Link>> passes_;
  // By node: the cost of all choices together, then of each choice.
  std::vector<std::vector<NodeCost>> costs_;
  std::vector<std::string> notes_;
  std::string left_out_;
};

}  // namespace railgauge::plan
