// A suite: what to measure, on which placements, how strictly. Read from YAML, checked whole: every
// problem is reported at once and a suite with one does not run. suite_keys.h has the table of the
// keys.
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
// After `vary`.
inline constexpr std::size_t kMaxStages = 1'000;
// Largest N of `slice: K/N`.
inline constexpr std::uint32_t kMaxRunSlices = 10'000;
// Further ones are counted, not listed.
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
  // One task of two ranks on each node, both on one NIC port: what it costs within the node. Never
  // a figure of the fabric.
  kLoopback,
};

// Which pairs of nodes.
enum class PairChoice : std::uint8_t {
  // Every pair once: N - 1 rounds, N when N is odd.
  kAll,
  // Some seeded random rounds, as many as `matchings` says.
  kQuick,
  // Each node with the next one, as a ring.
  kRing,
  // The first half with the second, one round.
  kHalves,
  // The pairs that a file lists.
  kFile,
};

// Which links between the nodes of a pair.
enum class RailChoice : std::uint8_t {
  // Each node's endpoint as `endpoint` and `each` say.
  kNone,
  // Each rail with the same rail of the other node.
  kSame,
  // Each rail with every other one of the other node.
  kCross,
};

// The mapping `placement:` of a stage.
struct Placement {
  PlacementKind kind = PlacementKind::kPairs;
  // The members down to `slice` apply to kPairs only.
  PairChoice pairs = PairChoice::kAll;
  // Number of random rounds of kQuick.
  std::uint32_t matchings = 3;
  // For kFile: name of the list in the controller's suite folder.
  std::string pairs_file{};
  enum class Leaves : std::uint8_t { kAny, kWithin, kAcross } leaves = Leaves::kAny;
  RailChoice rails = RailChoice::kNone;
  // The rails of a pair at once, rather than one after the other.
  bool rails_together = false;
  // Each pair once more with its ranks exchanged.
  bool both_directions = false;
  // One distance class a round, also where that costs more rounds.
  bool strict_class = false;
  // Whom an odd number leaves over measures itself.
  bool idle_loopback = false;
  // Each run takes every slice_of-th round; 1: all.
  std::uint32_t slice_of = 1;
  // Which of them, from 0: the suite's own `slice: K/N`. Absent: the night's,
  // PlanOptions::slice_index.
  std::optional<std::uint32_t> slice{};
  // "DEV:PORT" or "gpuN", the same on every node; "" takes each node's first active one.
  std::string endpoint{};
  // With kLocal, "gpu" or "nic": a task for each of a node's endpoints of that kind. With
  // kLoopback, "nic": for each port; "gpu_nic": for each GPU with each port; "gpu": for each GPU
  // with the nearest port. Those of one node one after the other. "": one task a node.
  // With kPairs, kGroup and kNode, "gpu" or "nic": a rank on each of a node's endpoints. With
  // kGroup "rail" too: a task for each place among a node's endpoints, by slot, with the one of
  // every node.
  std::string each{};
  // Whether the placement names the GPU of each task.
  [[nodiscard]] bool chooses_gpu() const {
    return kind == PlacementKind::kLoopback && each.starts_with("gpu");
  }
  // Whether tasks are placed by rail numbers.
  [[nodiscard]] bool is_by_rail() const { return each == "rail" || rails != RailChoice::kNone; }
  // Rather than leave it to the node's first active one.
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
  // As given; canonical text when the kernel's declaration was at hand. With a profile, that one's
  // settings stand under what is given.
  std::map<std::string, std::string> parameters{};
  Placement placement{};
  // Deadline of one task; absent: the rule of the planner.
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
  // Stages that one `vary` made have the same: repetitions of a block are mixed with each other.
  std::uint32_t block = 0;
};

// `night:`: what slices were taken of, so that a run of them can be planned once more.
struct SliceOrigin {
  // Number of the slice (PlanOptions::slice_index).
  std::uint64_t number = 0;
  // Over which the rounds were laid out, in that order.
  std::vector<std::string> nodes{};
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
  // `bounds:`: by statistic, the fraction by which worse matters when two runs are judged.
  std::map<std::string, double> bounds{};
  // `rounds:`; on_failure and stage_budget_seconds are the planner's.
  run::RoundPolicy rounds{};
  std::optional<SliceOrigin> night{};
};

// Whether what the suite measures depends on the day, or on which slice its text names.
bool has_slices(const Suite& suite);
// The text with `night` as its last key; as it is where it has one, or cannot have one.
std::string with_night(const std::string& text, const SliceOrigin& night);

// Whether a run's text, which with_night() may have made, is that suite still.
bool is_same_suite(const std::string& of_run, const std::string& suite);

// Ports that a rank runs in its port's stead.
inline constexpr const char* kDevicesParameter = "devices";
// Why a kernel cannot run `devices` on such a placement: it would not be on the port that its
// series is labelled with. Nothing where it can. Pure.
std::optional<std::string> devices_problem(const Placement& placement, const std::string& devices);

using SuiteProblem = YamlProblem;

// Parameters that decide when a measurement ends: what a stage's `precision` may set.
std::span<const std::string> stop_rule_parameters();

// Result of reading a suite.
struct SuiteReading {
  // Set exactly when there are no problems.
  std::optional<Suite> suite{};
  std::vector<SuiteProblem> problems{};
  // False: no declarations were given, so kernels and parameters are unchecked.
  bool kernels_checked = false;
};

// Reads and checks a whole suite. Never throws. `file_name` appears in problems only; an empty
// `kernels` skips the checks against declarations.
SuiteReading read_suite(std::string_view text, std::string_view file_name,
                        std::span<const KernelInfo> kernels);

}  // namespace railgauge::plan
