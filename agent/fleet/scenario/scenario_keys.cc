#include "agent/fleet/scenario/scenario_keys.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/fleet/scenario/scenario.h"

namespace railgauge::fleet {
namespace {

using plan::ChoiceWord;
using plan::KeyTable;
using plan::SuiteKey;
using plan::ValueKind;

constexpr double kMostText = 64;
constexpr double kMostSetText = 1'000;

SuiteKey count(const char* name, double least, double most, const char* help,
               const char* shown = "") {
  return {.name = name,
          .kind = ValueKind::kCount,
          .least = least,
          .most = most,
          .help = help,
          .shown_default = shown};
}
SuiteKey number(const char* name, double least, double most, const char* help,
                const char* shown = "") {
  SuiteKey key = count(name, least, most, help, shown);
  key.kind = ValueKind::kNumber;
  return key;
}
SuiteKey text(const char* name, const char* help, const char* shown = "", double most = kMostText) {
  return {
      .name = name, .kind = ValueKind::kText, .most = most, .help = help, .shown_default = shown};
}
SuiteKey word(const char* name, const char* help, const char* shown = "") {
  return {.name = name, .kind = ValueKind::kWord, .help = help, .shown_default = shown};
}
SuiteKey boolean(const char* name, const char* help) {
  return {.name = name, .kind = ValueKind::kBoolean, .help = help};
}
SuiteKey choice(const char* name, std::vector<ChoiceWord> words, const char* help,
                const char* shown = "") {
  return {.name = name,
          .kind = ValueKind::kChoice,
          .words = std::move(words),
          .help = help,
          .shown_default = shown};
}
// `of` names the table of the keys in it.
SuiteKey mapping(const char* name, const char* of, const char* help) {
  return {.name = name, .kind = ValueKind::kMapping, .of = of, .help = help};
}
// At most `most` elements, each of the table `of`.
SuiteKey list(const char* name, const char* of, double most, const char* help) {
  return {.name = name, .kind = ValueKind::kList, .most = most, .of = of, .help = help};
}
// A kind of value that suites do not have: its schema, and its words on the page.
struct OwnKind {
  const char* schema;
  const char* words;
};
constexpr OwnKind kVersion{R"("const": 1)", "1"};
constexpr OwnKind kDate{R"("type": "string", "pattern": "^(19[7-9]|20[0-9])[0-9]-")",
                        "date before 2100: `2026-01-05`, `2026-01-05T20:00`"};
constexpr OwnKind kTime{R"("$ref": "#/$defs/time")", "time: `3d`, `90min`, or a date"};
constexpr OwnKind kDays{R"("$ref": "#/$defs/days")", "duration: `3d`, `90min`, `20us`"};
constexpr OwnKind kRate{R"("type": "string")", "rate: `400Gb/s`, `50GB/s`"};
constexpr OwnKind kKernels{
    R"("type": "array", "minItems": 1, "maxItems": 16, "items": {"$ref": "#/$defs/kernel"})",
    "list of at most 16: `nccl`, `verbs.write_bw`"};
// A value of a kind of our own.
SuiteKey other(const char* name, const OwnKind& kind, const char* help, const char* shown = "") {
  return {.name = name,
          .kind = ValueKind::kOther,
          .of = kind.words,
          .schema = kind.schema,
          .help = help,
          .shown_default = shown};
}
SuiteKey required(SuiteKey key) {
  key.required = true;
  return key;
}

// Keys that several tables have.
SuiteKey nodes_key(const char* help = "node set, as sim[0001-0016]; absent: all") {
  return text("nodes", help, "", kMostSetText);
}
SuiteKey kernels_key() {
  return other("kernels", kKernels, "kernels or families of railgauge-runner --list; absent: all");
}
SuiteKey begin_key() {
  return other("begin", kTime, "when it starts: a time since the begin, or a date", "0");
}
SuiteKey end_key() { return other("end", kTime, "when it is over; absent: never"); }
SuiteKey memory_key() {
  return choice(
      "memory",
      {{"any", MemoryChoice::kAny}, {"host", MemoryChoice::kHost}, {"gpu", MemoryChoice::kGpu}},
      "tasks with this memory alone; gpu wants a node with a GPU", "any");
}
SuiteKey direction_key() {
  return choice("direction",
                {{"both", Direction::kBoth},
                 {"sends", Direction::kSends},
                 {"receives", Direction::kReceives}},
                "as the part sees it; of a trunk or a pair, sends is from the first to the second",
                "both");
}

// Less is no harm: a fault without one is a slip of the pen.
constexpr double kLeastTaken = 0.0001;
constexpr double kLeastLoss = 1e-6;

// Keys of a Harm.
std::vector<SuiteKey> harm_keys() {
  return {number("takes", kLeastTaken, 1, "share of bandwidth that is gone; 1: the link is down"),
          other("adds", kDays, "latency that each message has more; above 0"),
          number("loss", kLeastLoss, 0.5, "share of packets that are lost"),
          other("stall", kDays, "length of a pause; above 0; wants stall_every"),
          other("stall_every", kDays, "time from one pause to the next")};
}
std::vector<SuiteKey> with_harm(std::vector<SuiteKey> keys) {
  for (SuiteKey& key : harm_keys()) keys.push_back(std::move(key));
  return keys;
}

// The keys that each kind requires, as members of a JSON schema.
std::string kind_rule(const std::vector<KindKeys>& kinds) {
  std::vector<std::string> rules;
  for (const KindKeys& each : kinds)
    if (!each.required.empty())
      rules.push_back(fmt::format(
          R"({{"if": {{"properties": {{"kind": {{"const": "{}"}}}}}}, "then": {{"required": ["{}"]}}}})",
          each.kind, fmt::join(each.required, "\", \"")));
  return fmt::format("\"allOf\": [{}]", fmt::join(rules, ", "));
}

}  // namespace

const KeyTable kScenarioKeys(
    "scenario", "",
    {
        required(other("version", kVersion, "version of the format")),
        required(mapping("metadata", "metadata", "name and summary for people")),
        count("seed", 0, 1e12,
              "seed of all chance; the same seed gives the same figures under a simulated clock",
              "1"),
        other("begin", kDate, "date and time of the scenario's time 0, UTC", "2026-01-05"),
        required(mapping("fabric", "fabric", "sizes")),
        list("classes", "class", kMaxClasses,
             "hardware; the one without nodes is that of all other nodes"),
        list("noise", "noise", kMaxListed, "why healthy figures vary; all of them apply"),
        mapping("day", "day", "hours in which the fabric is in use"),
        list("faults", "fault", kMaxListed, "faults of single parts; several may hold at once"),
        list("changes", "change", kMaxListed, "stack changes"),
        list("losses", "loss", kMaxListed, "functions that nodes lack"),
        list("agents", "agent", kMaxListed, "agents that are not as they should be"),
        list("jobs", "job", kMaxListed, "work that keeps nodes busy"),
    });

const KeyTable kNameKeys("metadata", "",
                         {
                             required(word("name", "name of the scenario")),
                             text("summary", "one line", "", 400),
                         });

const KeyTable kFabricKeys(
    "fabric", "nodes are shared out evenly among leaves, and leaves among pods",
    {
        required(count("nodes", 1, kMaxNodes, "number of nodes, an agent each")),
        count("rails", 1, kMaxRails, "NIC i of every node is on rail i", "8"),
        count("leaves", 1, kMaxNodes, "leaf switches of a rail; at most as many as nodes",
              "one for 16 nodes"),
        count("spines", 1, kMaxSpines, "spine switches of a rail", "4"),
        count("pods", 1, kMaxNodes, "groups of leaves; at most as many as leaves", "1"),
        word("prefix", "beginning of the nodes' names", "sim"),
    });

const KeyTable kClassKeys(
    "class", "nodes of equal hardware, with the figures that they give in health",
    {
        required(word("name", "name of the class")),
        nodes_key("node set; absent, in one class at most: all nodes of no other class"),
        count("gpus", 0, kMaxGpus, "GPUs of a node", "8"),
        count("nics", 1, kMaxRails, "NICs of a node; at most fabric.rails", "fabric.rails"),
        count("sockets", 1, 2, "NUMA nodes", "2"),
        other("nic_rate", kRate, "line rate of a NIC, as 400Gb/s", "400Gb/s"),
        choice("link_layer",
               {{"infiniband", LinkLayer::kInfiniband}, {"ethernet", LinkLayer::kEthernet}},
               "of its NICs", "infiniband"),
        text("cpu_model", "as the inventory shows it", "Modelled CPU"),
        text("gpu_model", "as the inventory shows it", "Modelled GPU"),
        word("nic_model", "as the inventory shows it", "MT4129"),
        other("latency", kDays, "one-way latency of a small RDMA message inside a leaf", "1800ns"),
        number("reaches", 0.1, 1, "share of the line rate that large messages reach", "0.97"),
        other("gpu_rate", kRate, "between two GPUs of a node", "370GB/s"),
        other("pcie_rate", kRate, "between a GPU and its host", "55GB/s"),
        mapping("versions", "versions", "versions at the begin"),
        mapping("settings", "settings", "settings at the begin"),
    });

const KeyTable kVersionKeys("versions", "versions of a stack; a change names those that it changes",
                            {
                                text("bios", "of the machine", "1.0"),
                                text("cuda", "toolkit", "12.4"),
                                text("gpu_driver", "of the GPUs", "550.54.15"),
                                text("gpu_vbios", "of the GPUs", "96.00.89.00.01"),
                                text("linux_kernel", "release", "6.8.0-48-generic"),
                                text("nccl", "library", "2.21.5"),
                                text("nic_firmware", "of the NICs", "28.39.1002"),
                                text("ofed", "NIC driver", "MLNX_OFED_LINUX-24.10-0.7.0.0"),
                                text("rdma_core", "library", "2410mlnx54"),
                                text("ucx", "library", "1.17.0"),
                            });

const KeyTable kSettingKeys(
    "settings", "settings of a stack; a change names those that it changes",
    {
        text("kernel_command_line", "of Linux", "iommu=pt", 1'000),
        boolean("acs", "access control on the bridges between GPU and NIC; false by default"),
        boolean("peermem", "nvidia_peermem is loaded; true by default"),
        boolean("relaxed_ordering", "of the NICs; true by default"),
        count("max_read_request_bytes", 128, 4'096, "of the NICs", "4096"),
        count("mtu_bytes", 256, 9'216, "of the NICs' interfaces", "4092; 9000 on ethernet"),
    });

const KeyTable kNoiseKeys(
    "noise", "sizes are shares of the figure: 0.01 is 1 %",
    {
        required(choice("kind",
                        {{"gaussian", NoiseKind::kGaussian},
                         {"skew", NoiseKind::kSkew},
                         {"correlated", NoiseKind::kCorrelated},
                         {"modes", NoiseKind::kModes},
                         {"spikes", NoiseKind::kSpikes},
                         {"drift", NoiseKind::kDrift},
                         {"quantised", NoiseKind::kQuantised}},
                        "see below")),
        required(number("size", -0.9, 10, "negative for a drift to the better alone")),
        other("span", kDays, "time over which it moves, or for which one draw holds"),
        number("share", 0, 1, "chance of the slow mode, or of a spike"),
        choice("among",
               {{"series", Among::kSeries},
                {"node", Among::kNode},
                {"leaf", Among::kLeaf},
                {"fabric", Among::kFabric}},
               "figures that move together: those of the first node, its leaf, or all", "series"),
        nodes_key(),
        kernels_key(),
    },
    kind_rule(noise_kinds()));

const KeyTable kDayKeys("day", "times of the day in UTC; `from` may be after `to`, not equal to it",
                        {
                            required(other("from", kDays, "time after midnight, as 7h")),
                            required(other("to", kDays, "time after midnight, as 19h")),
                            number("takes", 0, 0.9, "share of bandwidth that is gone by day", "0"),
                            number("noise", 0, 100,
                                   "factor of noise by day, but for drift and quantised", "1"),
                        });

const KeyTable kFaultKeys(
    "fault", "at least one of takes, adds, loss and stall",
    with_harm({
        text("name", "for people"),
        required(choice("kind",
                        {{"port", Part::kPort},
                         {"node", Part::kNode},
                         {"gpu", Part::kGpu},
                         {"rail", Part::kRail},
                         {"leaf", Part::kLeaf},
                         {"trunk", Part::kTrunk},
                         {"uplink", Part::kUplink},
                         {"spine", Part::kSpine},
                         {"pair", Part::kPair}},
                        "the part, see below")),
        text("node", "name of a node"),
        text("to_node", "name of the other node of a pair"),
        count("nic", 0, kMaxRails - 1, "number of a NIC of the node"),
        count("gpu", 0, kMaxGpus - 1, "number of a GPU of the node"),
        count("rail", 0, kMaxRails - 1, "number of a rail; absent: all"),
        count("leaf", 0, kMaxNodes - 1, "number of a leaf"),
        count("to_leaf", 0, kMaxNodes - 1, "number of the other leaf of a trunk"),
        count("spine", 0, kMaxSpines - 1, "number of a spine"),
        direction_key(),
        begin_key(),
        end_key(),
        number("hits", 0.001, 1, "share of spells in which a flapping part is bad; absent: all"),
        other("spell", kDays,
              "how long a flapping part is bad or good, from 10s on; wants hits below 1; absent: "
              "10min"),
    }),
    kind_rule(fault_kinds()) +
        R"(, "dependentSchemas": {"spell": {"required": ["hits"], "properties": {"hits": )"
        R"({"exclusiveMaximum": 1}}}})");

const KeyTable kChangeKeys(
    "change", "without an effect it changes the stack alone; at its end the stack is as before",
    {
        text("name", "for people"),
        nodes_key(),
        begin_key(),
        end_key(),
        mapping("versions", "versions", "the versions that change"),
        mapping("settings", "settings", "the settings that change"),
        mapping("effect", "effect", "what it does to figures of these nodes"),
        other("reboot", kDays, "how long the agents are away at the begin", "0"),
    });

const KeyTable kEffectKeys("effect", "at least one of takes, adds, loss and stall",
                           with_harm({kernels_key(), memory_key()}));

const KeyTable kLossKeys("loss", "tasks that need the function end without figures",
                         {
                             nodes_key(),
                             begin_key(),
                             end_key(),
                             kernels_key(),
                             memory_key(),
                             choice("outcome", {"waived", "failed", "crashed"}, "of these tasks",
                                    "waived"),
                             required(text("reason", "the line that the task reports", "", 200)),
                         });

const KeyTable kAgentKeys(
    "agent", "",
    {
        required(choice("kind",
                        {{"lost", AgentKind::kLost},
                         {"late", AgentKind::kLate},
                         {"rebooting", AgentKind::kRebooting},
                         {"wedged", AgentKind::kWedged},
                         {"lying", AgentKind::kLying},
                         {"clock_skewed", AgentKind::kSkewed}},
                        "see below")),
        required(nodes_key("node set")),
        begin_key(),
        end_key(),
        other("by", kDays,
              "late: delay of its answers; rebooting: how long it is away; clock_skewed: how far "
              "its clock is ahead"),
        boolean("behind", "clock_skewed: the clock is behind instead"),
        other("every", kDays, "rebooting: time from one to the next"),
        number("factor", 1.001, 100, "lying: how many times better its figures are"),
    },
    kind_rule(agent_kinds()));

const KeyTable kJobKeys("job", "without every it runs from begin to end",
                        {
                            text("name", "the reason that busy nodes report", "job"),
                            nodes_key(),
                            begin_key(),
                            end_key(),
                            other("every", kDays, "time from one start to the next"),
                            other("length", kDays, "how long each lasts; wants every"),
                            number("share", 0.001, 1, "share of the nodes that each takes", "1"),
                        });

std::vector<const KeyTable*> scenario_tables() {
  return {&kScenarioKeys, &kNameKeys,  &kFabricKeys, &kClassKeys, &kVersionKeys,
          &kSettingKeys,  &kNoiseKeys, &kDayKeys,    &kFaultKeys, &kChangeKeys,
          &kEffectKeys,   &kLossKeys,  &kAgentKeys,  &kJobKeys};
}

const std::vector<KindKeys>& noise_kinds() {
  static const std::vector<KindKeys> kinds{
      {.kind = "gaussian", .optional = {"span"}},
      {.kind = "skew", .optional = {"span"}},
      {.kind = "correlated", .required = {"span"}},
      {.kind = "modes", .required = {"share"}, .optional = {"span"}},
      {.kind = "spikes", .required = {"share"}, .optional = {"span"}},
      {.kind = "drift", .required = {"span"}},
      {.kind = "quantised"},
  };
  return kinds;
}

const std::vector<KindKeys>& fault_kinds() {
  static const std::vector<KindKeys> kinds{
      {.kind = "port", .required = {"node", "nic"}, .optional = {"direction"}},
      {.kind = "node", .required = {"node"}, .optional = {"direction"}},
      {.kind = "gpu", .required = {"node", "gpu"}, .optional = {"direction"}},
      {.kind = "rail", .required = {"rail"}},
      {.kind = "leaf", .required = {"leaf"}, .optional = {"rail", "direction"}},
      {.kind = "trunk", .required = {"leaf", "to_leaf"}, .optional = {"rail", "direction"}},
      {.kind = "uplink", .required = {"leaf", "spine"}, .optional = {"rail", "direction"}},
      {.kind = "spine", .required = {"spine"}, .optional = {"rail"}},
      {.kind = "pair", .required = {"node", "to_node"}, .optional = {"rail", "direction"}},
  };
  return kinds;
}

const std::vector<KindKeys>& agent_kinds() {
  static const std::vector<KindKeys> kinds{
      {.kind = "lost"},
      {.kind = "late", .required = {"by"}},
      {.kind = "rebooting", .required = {"by"}, .optional = {"every"}},
      {.kind = "wedged"},
      {.kind = "lying", .required = {"factor"}},
      {.kind = "clock_skewed", .required = {"by"}, .optional = {"behind"}},
  };
  return kinds;
}

}  // namespace railgauge::fleet
