// A suite: kernels to measure, their placements, and the policy of the run. Read from YAML and
// checked as a whole: all problems are reported at once, and a suite with a problem does not run.
// suite_keys.h has the table of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/policy/limits.h"
#include "controller/plan/policy/policy.h"
#include "controller/plan/policy/preflight_gate.h"
#include "controller/plan/suite/yaml_problem.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {

// Version and bounds of a suite's text. They guard the controller against any file that a caller
// sends.
inline constexpr std::uint32_t kSuiteVersion = 1;
inline constexpr std::size_t kMaxSuiteBytes = 1U << 20U;
// Bound of stages after `vary` is expanded.
inline constexpr std::size_t kMaxStages = 1'000;
// Largest N of `slice: K/N`.
inline constexpr std::uint32_t kMaxRunSlices = 10'000;
// Bound of listed problems; further ones are only counted.
inline constexpr std::size_t kMaxSuiteProblems = 50;
inline constexpr double kMaxDeadlineSeconds = 24 * 3600.0;

// Which ranks form one task.
enum class PlacementKind : std::uint8_t {
  // Pairs of nodes, rank 0 on the earlier one.
  kPairs,
  // One task, one rank on each node.
  kGroup,
  // One task on each node, with a rank on each of its endpoints.
  kNode,
  // One task on each leaf of the topology, one rank on each of its nodes.
  kLeaf,
  // One task of one rank on each node.
  kLocal,
  // One task of two ranks on each node, both on one NIC port, or on one GPU. Measures the cost
  // within the node,
  // never the fabric.
  kLoopback,
};

// Choice of the pairs of nodes.
enum class PairChoice : std::uint8_t {
  // Every pair once: N - 1 rounds, N when N is odd.
  kAll,
  // Seeded random rounds; `matchings` is their number.
  kQuick,
  // Each node with the next one, as a ring.
  kRing,
  // The first half with the second, one round.
  kHalves,
  // The pairs that a file lists.
  kFile,
  // Each node of a proof with its known-good partners (Suite::prove).
  kPartners,
};

// Choice of the links between the nodes of a pair.
enum class RailChoice : std::uint8_t {
  // Endpoints chosen by `endpoint` and `each`, without rails.
  kNone,
  // Each rail with the same rail of the other node.
  kSame,
  // Each rail with every other one of the other node.
  kCross,
};

// The parameter of GPU kernels that the planner sets where a placement is `together`.
inline constexpr std::string_view kBesideParameter = "beside";

// The mapping `placement:` of a stage.
struct Placement {
  PlacementKind kind = PlacementKind::kPairs;
  // This member and those down to `slice` apply to kPairs only.
  PairChoice pairs = PairChoice::kAll;
  // Number of random rounds of kQuick.
  std::uint32_t matchings = 3;
  // For kFile: name of the list in the controller's suite folder.
  std::string pairs_file{};
  enum class Leaves : std::uint8_t { kAny, kWithin, kAcross } leaves = Leaves::kAny;
  RailChoice rails = RailChoice::kNone;
  // Measures all rails of a pair at once, instead of one after the other.
  bool rails_together = false;
  // Measures each pair once more with its ranks exchanged.
  bool both_directions = false;
  // Allows one distance class per round, even at the cost of more rounds.
  bool strict_class = false;
  // With an odd number of nodes, the node without a partner measures itself by loopback.
  bool idle_loopback = false;
  // Each run takes every slice_of-th round; 1: all.
  std::uint32_t slice_of = 1;
  // Number of the slice from 0, by the suite's own `slice: K/N`; absent: PlanOptions::slice_index.
  std::optional<std::uint32_t> slice{};
  // "DEV:PORT" or "gpuN", the same on every node; "": each node's first active endpoint.
  std::string endpoint{};
  // With kLocal: "gpu" or "nic" makes a task for each endpoint of that kind. With kLoopback: "nic"
  // makes a task for each port, "gpu_nic" for each GPU with each port, "gpu" for each GPU with its
  // nearest port. Tasks of one node run one after the other. "" makes one task per node.
  // With kPairs, kGroup and kNode: "gpu" or "nic" puts a rank on each endpoint of a node. With
  // kGroup also "rail": a task for each place among a node's endpoints, by slot, over the endpoints
  // at that place on every node.
  std::string each{};
  // With kLocal and `each`: the tasks of a node at once, instead of one after the other.
  bool together = false;
  // Reports whether the placement chooses the GPU of each task.
  [[nodiscard]] bool chooses_gpu() const {
    return kind == PlacementKind::kLoopback && each.starts_with("gpu");
  }
  // Reports whether tasks are placed by rail numbers.
  [[nodiscard]] bool is_by_rail() const { return each == "rail" || rails != RailChoice::kNone; }
  // Reports whether the placement chooses the port; otherwise the node's first active one is used.
  [[nodiscard]] bool chooses_port() const {
    return kind == PlacementKind::kLoopback || !each.empty() || !endpoint.empty() || is_by_rail();
  }
};

// One stage: a kernel, its parameters and where it runs.
struct Stage {
  // "" in the file: the kernel's name.
  std::string name{};
  // "verbs.write_bw".
  std::string kernel{};
  // Values as given, in canonical text when the kernel's declaration was available. A parameter
  // profile fills the parameters that the stage leaves open.
  std::map<std::string, std::string> parameters{};
  Placement placement{};
  // Deadline of one task; absent: the planner's rule (kDeadlineFactor).
  std::optional<double> deadline_seconds{};
  // Every sample is stored, for a week by default.
  bool raw_samples = false;
  // Number of fresh launches of each task.
  std::uint32_t repetitions = 1;
  // Floors and ceilings: a point beyond one has failed.
  std::vector<Limit> limits{};
  // Time budget of the stage; a task that has not begun by then is not started.
  std::optional<double> time_budget_seconds{};
  run::OnFailure on_failure = run::OnFailure::kContinue;
  // Block number, equal for the stages of one `vary`. Repetitions within a block are mixed with
  // each other.
  std::uint32_t block = 0;
};

// Key `night:`: the origin of a run's slices, with which the run can be planned again.
struct SliceOrigin {
  // Number of the slice (PlanOptions::slice_index).
  std::uint64_t number = 0;
  // Nodes over which the rounds were laid out, in that order.
  std::vector<std::string> nodes{};
};

// Key `prove:`: the nodes of a proof, with which the run can be planned again.
struct ProvedNodes {
  std::vector<std::string> nodes{};
  // Known-good nodes that they are measured with; empty: there was none.
  std::vector<std::string> partners{};
};

// A suite that was read without problems.
struct Suite {
  std::uint32_t version = kSuiteVersion;
  std::string name{};
  std::string summary{};
  std::string description{};
  std::string contact{};
  std::vector<Stage> stages{};
  // Seed of every random choice: matchings, order of repetitions.
  std::uint64_t seed = 1;
  // The mapping `preflight:`; an empty gate admits every node.
  PreflightGate preflight{};
  // Key `bounds:`: by statistic, the loss as a fraction from which a judge of two runs reports it.
  std::map<std::string, double> bounds{};
  // Key `rounds:`; the planner fills in on_failure and stage_budget_seconds.
  run::RoundPolicy rounds{};
  std::optional<SliceOrigin> night{};
  std::optional<ProvedNodes> prove{};
};

// Reports whether any stage measures only a slice, chosen by the day or by the suite's text.
bool has_slices(const Suite& suite);
// Returns the text with `night` as its last key, or the text unchanged when it has that key already
// or is no readable suite.
std::string with_night(const std::string& text, const SliceOrigin& night);
// Likewise with `prove`.
std::string with_proof(const std::string& text, const ProvedNodes& prove);

// Reports whether a run's text equals `suite`, apart from a key that with_night() added.
bool is_same_suite(const std::string& of_run, const std::string& suite);

// Parameter with the ports that a rank uses instead of its own port.
inline constexpr const char* kDevicesParameter = "devices";
// Returns the reason why `devices` conflicts with the placement: the kernel would not use the port
// that labels its series. Absent when they fit. Pure.
std::optional<std::string> devices_problem(const Placement& placement, const std::string& devices);

using SuiteProblem = YamlProblem;

// Returns the parameters that decide when a measurement ends; a stage's `precision` may set them.
std::span<const std::string> stop_rule_parameters();

// Result of reading a suite.
struct SuiteReading {
  // Set exactly when there are no problems.
  std::optional<Suite> suite{};
  std::vector<SuiteProblem> problems{};
  // False when no declarations were given: kernels and parameters are unchecked.
  bool kernels_checked = false;
};

// Reads and checks a whole suite. Never throws. `file_name` appears in problems only; an empty
// `kernels` skips the checks against declarations.
SuiteReading read_suite(std::string_view text, std::string_view file_name,
                        std::span<const KernelInfo> kernels);

}  // namespace railgauge::plan
