#include "controller/plan/suite/suite_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace railgauge::plan {
namespace {

constexpr double kMaxTasksAtOnce = 1'000'000;
// Range of the keys of `bounds`, as fractions.
constexpr double kLeastBound = 0.0001;
constexpr double kMostBound = 0.9;

// The words alone, for the schema and the page.
template <class Meaning>
std::vector<std::string> words_of(Words<Meaning> words) {
  std::vector<std::string> out;
  for (const auto& [word, meaning] : words) out.emplace_back(word);
  return out;
}

// Rows by the kind of value; an absent bound of a text or list is 0, and `field` is the member that
// the reader sets.
SuiteKey word_key(const char* name, const char* help) {
  return {.name = name, .kind = ValueKind::kWord, .help = help};
}
SuiteKey text_key(const char* name, double most, const char* help) {
  return {.name = name, .kind = ValueKind::kText, .most = most, .help = help};
}
SuiteKey count_key(const char* name, double least, double most, const char* help,
                   KeyField field = {}) {
  return {.name = name,
          .kind = ValueKind::kCount,
          .least = least,
          .most = most,
          .help = help,
          .field = field};
}
SuiteKey number_key(const char* name, double least, double most, const char* help,
                    KeyField field = {}) {
  SuiteKey key = count_key(name, least, most, help, field);
  key.kind = ValueKind::kNumber;
  return key;
}
SuiteKey duration_key(const char* name, const char* help, KeyField field = {}) {
  return {.name = name, .kind = ValueKind::kDuration, .help = help, .field = field};
}
SuiteKey boolean_key(const char* name, const char* help, KeyField field = {}) {
  return {.name = name, .kind = ValueKind::kBoolean, .help = help, .field = field};
}
SuiteKey choice_key(const char* name, std::vector<std::string> words, const char* help) {
  return {.name = name, .kind = ValueKind::kChoice, .words = std::move(words), .help = help};
}
SuiteKey mapping_key(const char* name, const char* of, const char* help) {
  return {.name = name, .kind = ValueKind::kMapping, .of = of, .help = help};
}
SuiteKey list_key(const char* name, const char* of, double most, const char* help) {
  return {.name = name, .kind = ValueKind::kList, .most = most, .of = of, .help = help};
}
SuiteKey other_key(const char* name, const char* schema, const char* help) {
  return {.name = name, .kind = ValueKind::kOther, .schema = schema, .help = help};
}
SuiteKey required(SuiteKey key) {
  key.required = true;
  return key;
}

}  // namespace

// Required and optional names are derived, so that a row states them once.
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
          required(other_key("version", R"("const": 1)", "version of the format")),
          required(mapping_key("metadata", "metadata", "name and description for people")),
          count_key("seed", 0, 1e12, "seed of every random choice: matchings, order of repetitions",
                    &Suite::seed),
          other_key("slice", R"("type": "string", "pattern": "^[0-9]+/[0-9]+$")",
                    "K/N: each stage with all pairs measures the K-th of N slices of its rounds; "
                    "--slice sets it"),
          mapping_key("night", "night",
                      "written by the controller into the suite that it stores with a run"),
          mapping_key("preflight", "preflight", "checks that a node must pass to take part"),
          mapping_key("rounds", "rounds", "how strictly rounds are driven"),
          mapping_key("bounds", "bounds", "bounds of an upgrade verdict by this suite"),
          required(list_key("stages", "stage", kMaxStages, "measured one after the other")),
      });
  return table;
}

const KeyTable& metadata_keys() {
  static const KeyTable table("metadata", "",
                              {
                                  required(word_key("name", "name of the suite")),
                                  text_key("summary", 400, "one line, shown in lists"),
                                  text_key("description", 4000, "one paragraph"),
                                  text_key("contact", 400, "person or team to ask"),
                              });
  return table;
}

const KeyTable& night_keys() {
  static const KeyTable table(
      "night",
      "which slices, over which nodes; the controller writes it into the suite that it stores with "
      "a run",
      {
          required(count_key("number", 0, 1e9, "modulo the number of slices: which of them")),
          required(
              text_key("nodes", 0,
                       "names joined by commas; rounds are laid out over them, attached or not")),
      });
  return table;
}

const KeyTable& preflight_keys() {
  static const KeyTable table(
      "preflight", "a node that does not pass these checks takes no part",
      {
          required(list_key("require", "word", 0, "ids of preflight checks")),
          list_key("allow_unknown", "word", 0, "required checks that may be unknown"),
      });
  return table;
}

const KeyTable& rounds_keys() {
  static const KeyTable table(
      "rounds", "",
      {
          number_key("quorum", 0, 1,
                     "share of a round's tasks after whose end the others get straggler time",
                     &run::RoundPolicy::quorum),
          number_key("straggler_factor", 0, 1000,
                     "straggler time, as a multiple of the time of the quorum",
                     &run::RoundPolicy::straggler_factor),
          duration_key("straggler_slack", "least straggler time",
                       &run::RoundPolicy::straggler_slack_seconds),
          duration_key("deadline", "of a round; 0: the deadline of its longest task",
                       &run::RoundPolicy::round_deadline_seconds),
          duration_key("settle", "pause between two rounds", &run::RoundPolicy::settle_seconds),
          count_key("max_attempts", 1, 10, "attempts of a task that was lost, hung or left over",
                    &run::RoundPolicy::max_attempts),
          count_key("max_tasks", 0, kMaxTasksAtOnce, "tasks at one time; 0: no cap",
                    &run::RoundPolicy::max_tasks),
          count_key("max_tasks_per_leaf", 0, kMaxTasksAtOnce,
                    "tasks at one time that touch one leaf; 0: no cap",
                    &run::RoundPolicy::max_tasks_per_leaf),
          boolean_key(
              "drill_down",
              "after the last round: suspects with known-good partners, failed groups by halves",
              &run::RoundPolicy::drill_down),
          mapping_key("stop", "stop", "when the run gives up"),
          mapping_key("kindness", "kindness", "limits while a node of the fabric is busy"),
      });
  return table;
}

const KeyTable& stop_keys() {
  static const KeyTable table(
      "stop", "when the run gives up by itself",
      {
          count_key("failures", 0, kMaxTasksAtOnce, "failures that are allowed; 0: any number",
                    &run::StopBudget::failures),
          number_key("failed_share", 0, 1, "share of the ended tasks that may fail",
                     &run::StopBudget::failed_share),
          count_key("share_after", 1, kMaxTasksAtOnce,
                    "the share counts once so many tasks have ended",
                    &run::StopBudget::share_after),
      });
  return table;
}

const KeyTable& kindness_keys() {
  static const KeyTable table(
      "kindness", "limits while any node of the fabric is busy",
      {
          boolean_key("exclusive", "the fabric is reserved: no limit of this table applies",
                      &run::Kindness::exclusive),
          count_key("bandwidth_tasks_per_leaf", 0, kMaxTasksAtOnce,
                    "tasks at one time that load one leaf",
                    &run::Kindness::bandwidth_tasks_per_leaf),
          number_key("cross_leaf_share", 0, 1, "share of the uplinks of a leaf",
                     &run::Kindness::cross_leaf_share),
          count_key("max_collective_nodes", 0, kMaxTasksAtOnce, "most nodes of one task",
                    &run::Kindness::max_collective_nodes),
          duration_key("wait", "time that a held-back task waits before it is waived",
                       &run::Kindness::wait_seconds),
      });
  return table;
}

// The keys are words of MetricTraits; controller/stats/metric_traits.cc has the defaults.
const KeyTable& bounds_keys() {
  static const KeyTable table(
      "bounds", "by how much worse matters when an upgrade is judged, as a fraction",
      {
          number_key("rate", kLeastBound, kMostBound, "bandwidth and message rate; default 0.01"),
          number_key("median", kLeastBound, kMostBound, "of latencies; default 0.02"),
          number_key("p90", kLeastBound, kMostBound, "default 0.02"),
          number_key("p99", kLeastBound, kMostBound, "default 0.05"),
          number_key("p99.9", kLeastBound, kMostBound, "default 0.1"),
      });
  return table;
}

const KeyTable& stage_keys() {
  static const KeyTable table(
      "stage", "",
      {
          word_key("name", "name of the stage; default: the name of its kernel"),
          required(word_key("kernel",
                            "as `railgauge kernels` lists them, or MPI's spelling (MPI_Allreduce), "
                            "or an OSU program (osu_latency, with its counts)")),
          text_key("profile", 0, "another tool's settings for what the stage does not say"),
          other_key("parameters",
                    R"("type": "object", "additionalProperties": {"$ref": "#/$defs/value"})",
                    "parameters of the kernel, as `railgauge kernels show` lists them"),
          other_key(
              "precision",
              R"("type": "object", "propertyNames": {"enum": ["precision", "time_cap", "min_samples", "max_samples", "iterations", "duration"]})",
              "the stop rule: precision, time_cap, min_samples, max_samples, iterations, duration"),
          other_key("vary",
                    R"("type": "object", "additionalProperties": {"type": "array", "minItems": 1})",
                    "a stage for each combination, at most 64"),
          required(
              mapping_key("placement", "placement", "nodes and endpoints that measure together")),
          count_key("repetitions", 1, 1000, "fresh launches of each task, in seeded random order",
                    &Stage::repetitions),
          list_key("limits", "limit", 100, "floors and ceilings of figures"),
          duration_key("time_budget", "a task that has not begun by then is not started",
                       &Stage::time_budget_seconds),
          choice_key("on_failure", words_of(on_failure_words()),
                     "effect of a failed task on tasks that have not begun"),
          other_key(
              "deadline_seconds", R"("type": "number", "exclusiveMinimum": 0, "maximum": 86400)",
              "a task that takes longer is ended; default: three times what is expected, and 30 s"),
          boolean_key("raw_samples",
                      "every sample of every point is stored too, for a week by default",
                      &Stage::raw_samples),
      });
  return table;
}

const KeyTable& placement_keys() {
  static const KeyTable table(
      "placement", "",
      {
          choice_key("pairs", words_of(pair_words()), "which pairs of the chosen nodes"),
          choice_key("group", words_of(group_words()), "one task with a rank on each node"),
          choice_key("local", {"all"}, "one task of one rank on each node"),
          choice_key("loopback", {"all"},
                     "one task of two ranks on each node, both on one NIC port"),
          text_key("endpoint", 0, "DEV:PORT or gpuN, the same on every node"),
          choice_key("each", {"gpu", "nic", "gpu_nic", "rail"},
                     "a task, or a rank, on each endpoint of a node"),
          word_key("file",
                   "with pairs: custom, name of the list in the suite folder: lines of ROUND NODE "
                   "NODE"),
          count_key("matchings", 1, 100, "with pairs: quick, number of random rounds; default 3"),
          choice_key("leaves", words_of(leaves_words()),
                     "pairs on one leaf only, or on two; wants a topology"),
          choice_key("rails", words_of(rail_words()),
                     "each rail with the same one of the other node, or with every other one"),
          boolean_key("rails_together", "the rails of a pair at once"),
          choice_key("directions", words_of(direction_words()),
                     "both: each pair once more with its ranks exchanged"),
          boolean_key("strict_class", "one distance a round, also where that takes more rounds"),
          choice_key(
              "idle", words_of(idle_words()),
              "task of the node that an odd number of nodes leaves over, another one each round"),
          count_key("slice", 2, 366, "every n-th round; n nights in a row cover all"),
      },
      R"("oneOf": [{"required": ["pairs"]}, {"required": ["group"]}, {"required": ["local"]}, {"required": ["loopback"]}])");
  return table;
}

const KeyTable& limit_keys() {
  static const KeyTable table(
      "limit", "",
      {
          required(text_key("metric", 0,
                            "a metric of the kernel, as bandwidth_bytes_per_second or latency_ns")),
          other_key("size", R"("type": ["string", "integer"])",
                    "message size, as 64KiB; absent: every size"),
          other_key("floor", R"("type": ["string", "number"])",
                    "40Gb/s, 5GB/s, 3us: a figure below it makes the task failed"),
          other_key("ceiling", R"("type": ["string", "number"])",
                    "a figure above it makes the task failed"),
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

// The words of each key with a fixed set, beside the values that they mean.
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

Words<bool> direction_words() {
  static constexpr std::pair<std::string_view, bool> kWords[]{{"one", false}, {"both", true}};
  return kWords;
}

Words<bool> idle_words() {
  static constexpr std::pair<std::string_view, bool> kWords[]{{"rest", false}, {"loopback", true}};
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
