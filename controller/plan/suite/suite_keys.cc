#include "controller/plan/suite/suite_keys.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>

#include "kernels/core/text/units.h"

namespace railgauge::plan {

namespace {

constexpr double kMaxTasksAtOnce = 1'000'000;
// Range of the keys of `bounds`, as fractions.
constexpr double kLeastBound = 0.0001;
constexpr double kMostBound = 0.9;

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
SuiteKey choice_key(const char* name, std::initializer_list<ChoiceWord> words, const char* help,
                    KeyField field = {}) {
  return {.name = name, .kind = ValueKind::kChoice, .words = words, .help = help, .field = field};
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

const KeyTable kSuiteKeys(
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
        mapping_key("prove", "prove",
                    "written by the controller into the suite that it stores with a proof"),
        mapping_key("preflight", "preflight", "checks that a node must pass to take part"),
        mapping_key("rounds", "rounds", "how strictly rounds are driven"),
        mapping_key("bounds", "bounds", "bounds of an upgrade verdict by this suite"),
        required(list_key("stages", "stage", kMaxStages, "measured one after the other")),
    });

const KeyTable kMetadataKeys("metadata", "",
                             {
                                 required(word_key("name", "name of the suite")),
                                 text_key("summary", 400, "one line, shown in lists"),
                                 text_key("description", 4000, "one paragraph"),
                                 text_key("contact", 400, "person or team to ask"),
                             });

const KeyTable kNightKeys(
    "night",
    "which slices, over which nodes; the controller writes it into the suite that it stores with "
    "a run",
    {
        required(count_key("number", 0, 1e9, "modulo the number of slices: which of them")),
        required(text_key(
            "nodes", 0, "names joined by commas; rounds are laid out over them, attached or not")),
    });

const KeyTable kProveKeys(
    "prove",
    "the nodes of railgauge prove; the controller writes it into the suite that it stores with the "
    "run",
    {
        required(text_key("nodes", 0, "names joined by commas: the nodes to prove")),
        text_key("partners", 0, "names joined by commas: known-good nodes that they meet"),
    });

const KeyTable kPreflightKeys(
    "preflight", "a node that does not pass these checks takes no part",
    {
        required(list_key("require", "word", 0, "ids of preflight checks")),
        list_key("allow_unknown", "word", 0, "required checks that may be unknown"),
    });

const KeyTable kRoundsKeys(
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

const KeyTable kStopKeys(
    "stop", "when the run gives up by itself",
    {
        count_key("failures", 0, kMaxTasksAtOnce, "failures that are allowed; 0: any number",
                  &run::StopBudget::failures),
        number_key("failed_share", 0, 1, "share of the ended tasks that may fail",
                   &run::StopBudget::failed_share),
        count_key("share_after", 1, kMaxTasksAtOnce,
                  "the share counts once so many tasks have ended", &run::StopBudget::share_after),
    });

const KeyTable kKindnessKeys(
    "kindness", "limits while any node of the fabric is busy",
    {
        boolean_key("exclusive", "the fabric is reserved: no limit of this table applies",
                    &run::Kindness::exclusive),
        count_key("bandwidth_tasks_per_leaf", 0, kMaxTasksAtOnce,
                  "tasks at one time that load one leaf", &run::Kindness::bandwidth_tasks_per_leaf),
        number_key("cross_leaf_share", 0, 1, "share of the uplinks of a leaf",
                   &run::Kindness::cross_leaf_share),
        count_key("max_collective_nodes", 0, kMaxTasksAtOnce, "most nodes of one task",
                  &run::Kindness::max_collective_nodes),
        duration_key("wait", "time that a held-back task waits before it is waived",
                     &run::Kindness::wait_seconds),
    });

// The keys are words of MetricTraits; controller/stats/metric_traits.cc has the defaults.
const KeyTable kBoundsKeys(
    "bounds", "by how much worse matters when an upgrade is judged, as a fraction",
    {
        number_key("rate", kLeastBound, kMostBound,
                   "bandwidth and message rate, over all time; default 0.01"),
        number_key("flow", kLeastBound, kMostBound,
                   "of a rate: the share of time outside of pauses; default 0.01"),
        number_key("p10", kLeastBound, kMostBound, "of a rate in slots of 10 ms; default 0.05"),
        number_key("p1", kLeastBound, kMostBound, "of a rate in slots of 10 ms; default 0.1"),
        number_key("median", kLeastBound, kMostBound, "of latencies; default 0.02"),
        number_key("p90", kLeastBound, kMostBound, "default 0.02"),
        number_key("p99", kLeastBound, kMostBound, "default 0.05"),
        number_key("p99.9", kLeastBound, kMostBound, "default 0.1"),
    });

const KeyTable kStageKeys(
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
        required(mapping_key("placement", "placement",
                             "nodes and endpoints that measure together")),
        count_key("repetitions", 1, 1000, "fresh launches of each task, in seeded random order",
                  &Stage::repetitions),
        list_key("limits", "limit", 100, "floors and ceilings of figures"),
        duration_key("time_budget", "a task that has not begun by then is not started",
                     &Stage::time_budget_seconds),
        choice_key("on_failure",
                   {{"continue", run::OnFailure::kContinue},
                    {"stop_stage", run::OnFailure::kStopStage},
                    {"stop_run", run::OnFailure::kStopRun}},
                   "effect of a failed task on tasks that have not begun", &Stage::on_failure),
        other_key(
            "deadline_seconds", R"("type": "number", "exclusiveMinimum": 0, "maximum": 86400)",
            "a task that takes longer is ended; default: three times what is expected, and 30 s"),
        boolean_key("raw_samples",
                    "every sample of every point is stored too, for a week by default",
                    &Stage::raw_samples),
    });

const KeyTable kPlacementKeys(
    "placement", "",
    {
        choice_key("pairs",
                   {{"all", PairChoice::kAll},
                    {"quick", PairChoice::kQuick},
                    {"ring", PairChoice::kRing},
                    {"halves", PairChoice::kHalves},
                    {"custom", PairChoice::kFile},
                    {"partners", PairChoice::kPartners}},
                   "which pairs of the chosen nodes", &Placement::pairs),
        choice_key("group",
                   {{"all", PlacementKind::kGroup},
                    {"node", PlacementKind::kNode},
                    {"leaf", PlacementKind::kLeaf}},
                   "one task with a rank on each node"),
        choice_key("local", {{"all", PlacementKind::kLocal}}, "one task of one rank on each node"),
        choice_key("loopback", {{"all", PlacementKind::kLoopback}},
                   "one task of two ranks on each node, both on one NIC port, or on one GPU"),
        text_key("endpoint", 0, "DEV:PORT or gpuN, the same on every node"),
        // The kind of placement decides which of them it takes.
        choice_key("each", {"gpu", "nic", "gpu_nic", "rail"},
                   "a task, or a rank, on each endpoint of a node"),
        boolean_key("together", "with local and each, the endpoints of a node at once",
                    &Placement::together),
        word_key(
            "file",
            "with pairs: custom, name of the list in the suite folder: lines of ROUND NODE NODE"),
        count_key("matchings", 1, 100, "with pairs: quick, number of random rounds",
                  &Placement::matchings),
        choice_key("leaves",
                   {{"any", Placement::Leaves::kAny},
                    {"within", Placement::Leaves::kWithin},
                    {"across", Placement::Leaves::kAcross}},
                   "pairs on one leaf only, or on two; wants a topology", &Placement::leaves),
        choice_key("rails", {{"same", RailChoice::kSame}, {"cross", RailChoice::kCross}},
                   "each rail with the same one of the other node, or with every other one",
                   &Placement::rails),
        boolean_key("rails_together", "the rails of a pair at once", &Placement::rails_together),
        choice_key("directions", {{"one", false}, {"both", true}},
                   "both: each pair once more with its ranks exchanged",
                   &Placement::both_directions),
        boolean_key("strict_class", "one distance a round, also where that takes more rounds",
                    &Placement::strict_class),
        choice_key(
            "idle", {{"rest", false}, {"loopback", true}},
            "task of the node that an odd number of nodes leaves over, another one each round",
            &Placement::idle_loopback),
        count_key("slice", 2, 366, "every n-th round; n nights in a row cover all",
                  &Placement::slice_of),
    },
    R"("oneOf": [{"required": ["pairs"]}, {"required": ["group"]}, {"required": ["local"]}, {"required": ["loopback"]}])");

const KeyTable kLimitKeys(
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

std::vector<const KeyTable*> all_key_tables() {
  return {&kSuiteKeys, &kMetadataKeys, &kNightKeys,  &kProveKeys, &kPreflightKeys, &kRoundsKeys,
          &kStopKeys,  &kKindnessKeys, &kBoundsKeys, &kStageKeys, &kPlacementKeys, &kLimitKeys};
}

std::span<const std::string> stop_rule_parameters() {
  static const std::array<std::string, 6> names{"precision",   "time_cap",   "min_samples",
                                                "max_samples", "iterations", "duration"};
  return names;
}

void read_version(const YamlValue& value, std::uint32_t wanted) {
  const auto text = value.text(fmt::format("the number {}", wanted));
  if (text && parse_integer(*text) != std::int64_t{wanted})
    value.problem(fmt::format("is {}; this Railgauge reads version {}", in_quotes(*text), wanted));
}

namespace {

// Another word is a problem that lists the allowed ones.
std::optional<double> read_choice(const YamlValue& value, std::span<const ChoiceWord> words) {
  std::string allowed;
  for (const ChoiceWord& each : words) allowed += (allowed.empty() ? "" : ", ") + each.word;
  const auto text = value.text(words.size() > 1 ? "one of " + allowed : allowed);
  if (!text) return std::nullopt;
  const auto found = std::ranges::find(words, *text, &ChoiceWord::word);
  if (found != words.end()) return found->meaning;
  value.problem(fmt::format("is {}; allowed: {}", in_quotes(*text), allowed));
  return std::nullopt;
}

double most_seconds(const SuiteKey& row) { return row.most > 0 ? row.most : kMaxSuiteSeconds; }

// The figure of a text within the bounds of the row; absent where it is none. Booleans are 0 or 1,
// durations seconds.
std::optional<double> figure_of(std::string_view text, const SuiteKey& row) {
  const auto within = [&row](double figure) {
    return figure >= row.least && figure <= row.most ? std::optional(figure) : std::nullopt;
  };
  if (row.kind == ValueKind::kCount) {
    const auto number = parse_integer(text);
    return number ? within(static_cast<double>(*number)) : std::nullopt;
  }
  if (row.kind == ValueKind::kNumber) {
    const auto number = parse_number(text);
    return number ? within(*number) : std::nullopt;
  }
  if (row.kind == ValueKind::kDuration) {
    const auto ns = parse_duration_ns(text);
    return ns && *ns <= most_seconds(row) * 1e9 ? std::optional(*ns / 1e9) : std::nullopt;
  }
  return text == "true" || text == "false" ? std::optional(text == "true" ? 1.0 : 0.0)
                                           : std::nullopt;
}

}  // namespace

std::optional<double> read_scalar(const YamlValue& value, const SuiteKey& row) {
  std::string wanted = "true or false";
  std::string bounds;
  switch (row.kind) {
    case ValueKind::kCount:
      wanted = "a whole number";
      bounds = fmt::format(" from {:.0f} to {:.0f}", row.least, row.most);
      break;
    case ValueKind::kNumber:
      wanted = "a number";
      bounds = fmt::format(" from {:g} to {:g}", row.least, row.most);
      break;
    case ValueKind::kDuration:
      wanted = "a duration, as in 90s or 5min";
      bounds = fmt::format(", at most {}", canonical_duration(most_seconds(row) * 1e9));
      break;
    case ValueKind::kBoolean:
      break;
    case ValueKind::kChoice:
      return read_choice(value, row.words);
    default:
      std::abort();
  }
  const auto text = value.text(wanted);
  if (!text) return std::nullopt;
  const auto figure = figure_of(*text, row);
  if (!figure) value.problem(fmt::format("is {}; must be {}{}", in_quotes(*text), wanted, bounds));
  return figure;
}

YamlMap map_of(const YamlValue& value, const KeyTable& table) {
  return {value, table.required, table.optional};
}

std::string read_text(const YamlMap& map, const KeyTable& table, std::string_view key,
                      std::string_view wanted) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return "";
  return value->text(wanted, static_cast<std::size_t>(table.row(key).most)).value_or("");
}

// Decimal prefixes only: network rates are decimal.
Result<double> parse_rate(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes_per_second;
  };
  // Longer names first: "Gb/s" ends in "b/s".
  static constexpr std::array kUnits{
      Unit{"kb/s", 1e3 / 8}, Unit{"Mb/s", 1e6 / 8}, Unit{"Gb/s", 1e9 / 8}, Unit{"Tb/s", 1e12 / 8},
      Unit{"kB/s", 1e3},     Unit{"MB/s", 1e6},     Unit{"GB/s", 1e9},     Unit{"TB/s", 1e12},
      Unit{"b/s", 1.0 / 8},  Unit{"B/s", 1}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    std::string_view figure = text.substr(0, text.size() - unit.name.size());
    while (figure.ends_with(' ')) figure.remove_suffix(1);
    const auto number = parse_number(figure);
    if (number && *number >= 0) return *number * unit.bytes_per_second;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("{} is no rate, as in 40Gb/s or 5GB/s", in_quotes(text)));
}

}  // namespace railgauge::plan
