#include "controller/plan/suite/suite_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace railgauge::plan {
namespace {

constexpr double kMaxTasksAtOnce = 1'000'000;

template <class Meaning>
std::vector<std::string> words_of(Words<Meaning> words) {
  std::vector<std::string> out;
  for (const auto& [word, meaning] : words) out.emplace_back(word);
  return out;
}

}  // namespace

KeyTable::KeyTable(std::string_view table_name, std::string table_help, std::vector<SuiteKey> rows,
                   std::string table_rule)
    : name(table_name),
      help(std::move(table_help)),
      keys(std::move(rows)),
      rule(std::move(table_rule)) {
  for (const SuiteKey& key : keys) (key.required ? required : optional).push_back(key.name);
}

const SuiteKey& KeyTable::row(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &SuiteKey::name);
  RG_CHECK(found != keys.end());
  return *found;
}

const KeyTable& suite_keys() {
  static const KeyTable table(
      "suite", "",
      {
          {.name = "version",
           .required = true,
           .kind = ValueKind::kOther,
           .schema = R"("const": 1)",
           .help = "version of the format"},
          {.name = "metadata",
           .required = true,
           .kind = ValueKind::kMapping,
           .of = "metadata",
           .help = "name and description for people"},
          {.name = "seed",
           .kind = ValueKind::kCount,
           .least = 0,
           .most = 1e12,
           .help = "seed of every random choice: matchings, order of repetitions; default 1"},
          {.name = "slice",
           .kind = ValueKind::kOther,
           .schema = R"("type": "string", "pattern": "^[0-9]+/[0-9]+$")",
           .help = "K/N: each stage with all pairs measures the K-th of N slices of its rounds; "
                   "--slice sets it"},
          {.name = "night",
           .kind = ValueKind::kMapping,
           .of = "night",
           .help = "written by the controller into the suite that it stores with a run"},
          {.name = "preflight",
           .kind = ValueKind::kMapping,
           .of = "preflight",
           .help = "checks that a node must pass to take part"},
          {.name = "rounds",
           .kind = ValueKind::kMapping,
           .of = "rounds",
           .help = "how strictly rounds are driven"},
          {.name = "bounds",
           .kind = ValueKind::kMapping,
           .of = "bounds",
           .help = "bounds of an upgrade verdict by this suite"},
          {.name = "stages",
           .required = true,
           .kind = ValueKind::kList,
           .most = kMaxStages,
           .of = "stage",
           .help = "measured one after the other"},
      });
  return table;
}

const KeyTable& metadata_keys() {
  static const KeyTable table(
      "metadata", "",
      {
          {.name = "name", .required = true, .kind = ValueKind::kWord, .help = "name of the suite"},
          {.name = "summary",
           .kind = ValueKind::kText,
           .most = 400,
           .help = "one line, shown in lists"},
          {.name = "description", .kind = ValueKind::kText, .most = 4000, .help = "one paragraph"},
          {.name = "contact",
           .kind = ValueKind::kText,
           .most = 400,
           .help = "person or team to ask"},
      });
  return table;
}

const KeyTable& night_keys() {
  static const KeyTable table(
      "night",
      "which slices, over which nodes; the controller writes it into the suite that it stores with "
      "a run",
      {
          {.name = "number",
           .required = true,
           .kind = ValueKind::kCount,
           .least = 0,
           .most = 1e9,
           .help = "modulo the number of slices: which of them"},
          {.name = "nodes",
           .required = true,
           .kind = ValueKind::kText,
           .help = "names joined by commas; rounds are laid out over them, attached or not"},
      });
  return table;
}

const KeyTable& preflight_keys() {
  static const KeyTable table("preflight", "a node that does not pass these checks takes no part",
                              {
                                  {.name = "require",
                                   .required = true,
                                   .kind = ValueKind::kList,
                                   .of = "word",
                                   .help = "ids of preflight checks"},
                                  {.name = "allow_unknown",
                                   .kind = ValueKind::kList,
                                   .of = "word",
                                   .help = "required checks that may be unknown"},
                              });
  return table;
}

const KeyTable& rounds_keys() {
  static const KeyTable table(
      "rounds", "",
      {
          {.name = "quorum",
           .kind = ValueKind::kNumber,
           .least = 0,
           .most = 1,
           .help = "share of a round's tasks after whose end the others get straggler time"},
          {.name = "straggler_factor",
           .kind = ValueKind::kNumber,
           .least = 0,
           .most = 1000,
           .help = "straggler time, as a multiple of the time of the quorum"},
          {.name = "straggler_slack", .kind = ValueKind::kDuration, .help = "least straggler time"},
          {.name = "deadline",
           .kind = ValueKind::kDuration,
           .help = "of a round; 0: the deadline of its longest task"},
          {.name = "settle", .kind = ValueKind::kDuration, .help = "pause between two rounds"},
          {.name = "max_attempts",
           .kind = ValueKind::kCount,
           .least = 1,
           .most = 10,
           .help = "attempts of a task that was lost, hung or left over"},
          {.name = "max_tasks",
           .kind = ValueKind::kCount,
           .least = 0,
           .most = kMaxTasksAtOnce,
           .help = "tasks at one time; 0: no cap"},
          {.name = "max_tasks_per_leaf",
           .kind = ValueKind::kCount,
           .least = 0,
           .most = kMaxTasksAtOnce,
           .help = "tasks at one time that touch one leaf; 0: no cap"},
          {.name = "drill_down",
           .kind = ValueKind::kBoolean,
           .help =
               "after the last round: suspects with known-good partners, failed groups by halves"},
          {.name = "stop",
           .kind = ValueKind::kMapping,
           .of = "stop",
           .help = "when the run gives up"},
          {.name = "kindness",
           .kind = ValueKind::kMapping,
           .of = "kindness",
           .help = "limits while a node of the fabric is busy"},
      });
  return table;
}

const KeyTable& stop_keys() {
  static const KeyTable table("stop", "when the run gives up by itself",
                              {
                                  {.name = "failures",
                                   .kind = ValueKind::kCount,
                                   .least = 0,
                                   .most = kMaxTasksAtOnce,
                                   .help = "failures that are allowed; 0: any number"},
                                  {.name = "failed_share",
                                   .kind = ValueKind::kNumber,
                                   .least = 0,
                                   .most = 1,
                                   .help = "share of the ended tasks that may fail"},
                                  {.name = "share_after",
                                   .kind = ValueKind::kCount,
                                   .least = 1,
                                   .most = kMaxTasksAtOnce,
                                   .help = "the share counts once so many tasks have ended"},
                              });
  return table;
}

const KeyTable& kindness_keys() {
  static const KeyTable table(
      "kindness", "limits while any node of the fabric is busy",
      {
          {.name = "exclusive",
           .kind = ValueKind::kBoolean,
           .help = "the fabric is reserved: no limit of this table applies"},
          {.name = "bandwidth_tasks_per_leaf",
           .kind = ValueKind::kCount,
           .least = 0,
           .most = kMaxTasksAtOnce,
           .help = "tasks at one time that load one leaf"},
          {.name = "cross_leaf_share",
           .kind = ValueKind::kNumber,
           .least = 0,
           .most = 1,
           .help = "share of the uplinks of a leaf"},
          {.name = "max_collective_nodes",
           .kind = ValueKind::kCount,
           .least = 0,
           .most = kMaxTasksAtOnce,
           .help = "most nodes of one task"},
          {.name = "wait",
           .kind = ValueKind::kDuration,
           .help = "time that a held-back task waits before it is waived"},
      });
  return table;
}

const KeyTable& bounds_keys() {
  static const KeyTable table("bounds",
                              "by how much worse matters when an upgrade is judged, as a fraction",
                              {
                                  {.name = "rate",
                                   .kind = ValueKind::kNumber,
                                   .least = 0.0001,
                                   .most = 0.9,
                                   .help = "bandwidth and message rate; default 0.01"},
                                  {.name = "median",
                                   .kind = ValueKind::kNumber,
                                   .least = 0.0001,
                                   .most = 0.9,
                                   .help = "of latencies; default 0.02"},
                                  {.name = "p90",
                                   .kind = ValueKind::kNumber,
                                   .least = 0.0001,
                                   .most = 0.9,
                                   .help = "default 0.02"},
                                  {.name = "p99",
                                   .kind = ValueKind::kNumber,
                                   .least = 0.0001,
                                   .most = 0.9,
                                   .help = "default 0.05"},
                                  {.name = "p99.9",
                                   .kind = ValueKind::kNumber,
                                   .least = 0.0001,
                                   .most = 0.9,
                                   .help = "default 0.1"},
                              });
  return table;
}

const KeyTable& stage_keys() {
  static const KeyTable table(
      "stage", "",
      {
          {.name = "name",
           .kind = ValueKind::kWord,
           .help = "name of the stage; default: the name of its kernel"},
          {.name = "kernel",
           .required = true,
           .kind = ValueKind::kWord,
           .help = "as `railgauge kernels` lists them, or MPI's spelling (MPI_Allreduce), or an "
                   "OSU program (osu_latency, with its counts)"},
          {.name = "profile",
           .kind = ValueKind::kText,
           .help = "another tool's settings for what the stage does not say"},
          {.name = "parameters",
           .kind = ValueKind::kOther,
           .schema = R"("type": "object", "additionalProperties": {"$ref": "#/$defs/value"})",
           .help = "parameters of the kernel, as `railgauge kernels show` lists them"},
          {.name = "precision",
           .kind = ValueKind::kOther,
           .schema =
               R"("type": "object", "propertyNames": {"enum": ["precision", "time_cap", "min_samples", "max_samples", "iterations", "duration"]})",
           .help = "the stop rule: precision, time_cap, min_samples, max_samples, iterations, "
                   "duration"},
          {.name = "vary",
           .kind = ValueKind::kOther,
           .schema =
               R"("type": "object", "additionalProperties": {"type": "array", "minItems": 1})",
           .help = "a stage for each combination, at most 64"},
          {.name = "placement",
           .required = true,
           .kind = ValueKind::kMapping,
           .of = "placement",
           .help = "nodes and endpoints that measure together"},
          {.name = "repetitions",
           .kind = ValueKind::kCount,
           .least = 1,
           .most = 1000,
           .help = "fresh launches of each task, in seeded random order"},
          {.name = "limits",
           .kind = ValueKind::kList,
           .most = 100,
           .of = "limit",
           .help = "floors and ceilings of figures"},
          {.name = "time_budget",
           .kind = ValueKind::kDuration,
           .help = "a task that has not begun by then is not started"},
          {.name = "on_failure",
           .kind = ValueKind::kChoice,
           .words = words_of(on_failure_words()),
           .help = "effect of a failed task on tasks that have not begun"},
          {.name = "deadline_seconds",
           .kind = ValueKind::kOther,
           .schema = R"("type": "number", "exclusiveMinimum": 0, "maximum": 86400)",
           .help = "a task that takes longer is ended"},
          {.name = "raw_samples",
           .kind = ValueKind::kBoolean,
           .help = "every sample of every point is stored too"},
      });
  return table;
}

const KeyTable& placement_keys() {
  static const KeyTable table(
      "placement", "",
      {
          {.name = "pairs",
           .kind = ValueKind::kChoice,
           .words = words_of(pair_words()),
           .help = "which pairs of the chosen nodes"},
          {.name = "group",
           .kind = ValueKind::kChoice,
           .words = words_of(group_words()),
           .help = "one task with a rank on each node"},
          {.name = "local",
           .kind = ValueKind::kChoice,
           .words = {"all"},
           .help = "one task of one rank on each node"},
          {.name = "loopback",
           .kind = ValueKind::kChoice,
           .words = {"all"},
           .help = "one task of two ranks on each node, both on one NIC port"},
          {.name = "endpoint",
           .kind = ValueKind::kText,
           .help = "DEV:PORT or gpuN, the same on every node"},
          {.name = "each",
           .kind = ValueKind::kChoice,
           .words = {"gpu", "nic", "gpu_nic", "rail"},
           .help = "a task, or a rank, on each endpoint of a node"},
          {.name = "file",
           .kind = ValueKind::kWord,
           .help = "with pairs: custom, name of the list in the suite folder"},
          {.name = "matchings",
           .kind = ValueKind::kCount,
           .least = 1,
           .most = 100,
           .help = "with pairs: quick, number of random rounds"},
          {.name = "leaves",
           .kind = ValueKind::kChoice,
           .words = words_of(leaves_words()),
           .help = "pairs on one leaf only, or on two"},
          {.name = "rails",
           .kind = ValueKind::kChoice,
           .words = words_of(rail_words()),
           .help = "each rail with the same one of the other node, or with every other one"},
          {.name = "rails_together",
           .kind = ValueKind::kBoolean,
           .help = "the rails of a pair at once"},
          {.name = "directions",
           .kind = ValueKind::kChoice,
           .words = {"one", "both"},
           .help = "both: each pair once more with its ranks exchanged"},
          {.name = "strict_class",
           .kind = ValueKind::kBoolean,
           .help = "one distance a round, also where that takes more rounds"},
          {.name = "idle",
           .kind = ValueKind::kChoice,
           .words = {"rest", "loopback"},
           .help = "task of the node that an odd number of nodes leaves over"},
          {.name = "slice",
           .kind = ValueKind::kCount,
           .least = 2,
           .most = 366,
           .help = "every n-th round; n nights in a row cover all"},
      },
      R"("oneOf": [{"required": ["pairs"]}, {"required": ["group"]}, {"required": ["local"]}, {"required": ["loopback"]}])");
  return table;
}

const KeyTable& limit_keys() {
  static const KeyTable table(
      "limit", "",
      {
          {.name = "metric",
           .required = true,
           .kind = ValueKind::kText,
           .help = "a metric of the kernel, as bandwidth_bytes_per_second or latency_ns"},
          {.name = "size",
           .kind = ValueKind::kOther,
           .schema = R"("type": ["string", "integer"])",
           .help = "message size, as 64KiB; absent: every size"},
          {.name = "floor",
           .kind = ValueKind::kOther,
           .schema = R"("type": ["string", "number"])",
           .help = "40Gb/s, 5GB/s, 3us: a figure below it makes the task failed"},
          {.name = "ceiling",
           .kind = ValueKind::kOther,
           .schema = R"("type": ["string", "number"])",
           .help = "a figure above it makes the task failed"},
      },
      R"("anyOf": [{"required": ["floor"]}, {"required": ["ceiling"]}])");
  return table;
}

std::vector<const KeyTable*> all_key_tables() {
  return {&suite_keys(),  &metadata_keys(),  &night_keys(),    &preflight_keys(),
          &rounds_keys(), &stop_keys(),      &kindness_keys(), &bounds_keys(),
          &stage_keys(),  &placement_keys(), &limit_keys()};
}

std::span<const std::string> stop_rule_parameters() {
  static const std::array<std::string, 6> names{"precision",   "time_cap",   "min_samples",
                                                "max_samples", "iterations", "duration"};
  return names;
}

Words<PairChoice> pair_words() {
  static constexpr std::pair<std::string_view, PairChoice> kWords[]{{"all", PairChoice::kAll},
                                                                    {"quick", PairChoice::kQuick},
                                                                    {"ring", PairChoice::kRing},
                                                                    {"halves", PairChoice::kHalves},
                                                                    {"custom", PairChoice::kFile}};
  return kWords;
}

Words<Placement::Leaves> leaves_words() {
  static constexpr std::pair<std::string_view, Placement::Leaves> kWords[]{
      {"any", Placement::Leaves::kAny},
      {"within", Placement::Leaves::kWithin},
      {"across", Placement::Leaves::kAcross}};
  return kWords;
}

Words<RailChoice> rail_words() {
  static constexpr std::pair<std::string_view, RailChoice> kWords[]{{"same", RailChoice::kSame},
                                                                    {"cross", RailChoice::kCross}};
  return kWords;
}

Words<PlacementKind> group_words() {
  static constexpr std::pair<std::string_view, PlacementKind> kWords[]{
      {"all", PlacementKind::kGroup},
      {"node", PlacementKind::kNode},
      {"leaf", PlacementKind::kLeaf}};
  return kWords;
}

Words<run::OnFailure> on_failure_words() {
  static constexpr std::pair<std::string_view, run::OnFailure> kWords[]{
      {"continue", run::OnFailure::kContinue},
      {"stop_stage", run::OnFailure::kStopStage},
      {"stop_run", run::OnFailure::kStopRun}};
  return kWords;
}

}  // namespace railgauge::plan
