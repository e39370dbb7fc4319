// The schema for editors and the page of scenario keys, both rendered from the tables in
// scenario_keys.cc. Equal text on every call.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/fleet/scenario/kernel_shapes.h"
#include "agent/fleet/scenario/scenario.h"
#include "agent/fleet/scenario/scenario_keys.h"

namespace railgauge::fleet {
namespace {

// The introduction of the page; the tables follow it.
constexpr const char* kHead = R"(# Scenarios

A scenario is a modelled fabric and all that happens to it: `railgauge-fleet --scenario FILE.yaml`
plays it. Every figure made from one is marked `synthetic`.

The tables below are rendered from `agent/fleet/scenario/scenario_keys.cc`; a test compares the two.
`agent/fleet/scenario/schema.json` is the same for editors.

```yaml
version: 1
metadata: {name: bad_port, summary: A slow port and a driver that costs NCCL 4 %}
seed: 7
begin: 2026-01-05
fabric: {nodes: 64, rails: 8, leaves: 4, spines: 4}
noise:
  - {kind: gaussian, size: 0.01}
  - {kind: spikes, size: 0.3, share: 0.002}
faults:
  - {kind: port, node: sim0012, nic: 3, direction: sends, begin: 10d, end: 25d, takes: 0.2}
changes:
  - nodes: sim[0001-0008]
    begin: 20d
    reboot: 10min
    versions: {gpu_driver: 560.35.03}
    effect: {takes: 0.04, kernels: [nccl]}
jobs:
  - {name: training, nodes: "sim[0033-0064]", every: 1d, length: 6h, share: 0.5}
```

Node n of a fabric is under leaf n * leaves / nodes, counted from 0. Its NIC i is on rail i, and
each rail has leaves and spines of its own. Times count from `begin` and have the units `ns us ms s
min h d`; `begin` and `end` of an element may be dates. An impossible scenario is refused with one
line that has file, line, key and the allowed values.

| clock of the controller | the same seed gives |
|---|---|
| simulated, `--simulated-clock` | figures bit for bit, where runs begin in the same order |
| the host's | faults, jobs and stacks at the same times; tasks at others, hence other noise |
)";

// The end of the page.
constexpr const char* kTail = R"(
## How figures follow

- A healthy figure follows from the slowest class of the task's nodes: the time of an empty
  operation, and the bytes over the rate. A way between two leaves costs 350 ns more.
- A fault moves the tasks whose data crosses its part in a faulty direction, and no other. With
  several faults the slowest part decides the bandwidth; delays add up.
- A round trip with one slow direction is slower by half. A stream hides latency, so that `adds`
  does not lower a rate.
- A flow between two leaves takes a spine by chance, another one each task.
- Rings of collectives run rail by rail from node to node; all-to-all crosses every pair.
- A lost packet costs 64 that are sent again, or a wait of 4 ms in a task of latency. It shows in
  `packet_seq_err` of the sender, `out_of_sequence` of the receiver, and, where a port loses it, in
  `symbol_error` there.
- A stall lowers the rate over all time, low slots and the slowest samples, and leaves the median.
- `takes: 1` takes the link down: its tasks fail and its port is `down`.
- Noise is a factor on the time that an operation takes. `gaussian` and `correlated` have `size` as
  standard deviation, `skew` as mean of an exponential tail, `modes` and `spikes` as height, `drift`
  as growth in one `span`, `quantised` as the step of the figure.
- By day the bandwidth of tasks on the wire is less by `takes`, and noise larger by `noise`, but
  for `drift` and `quantised`.
- With `hits` below 1 a part flaps: each `spell` of time is bad or good by chance, for all tasks,
  events and ports in it.
- Healthy time has short pauses, so that `flow` varies. `takes` lowers the pace and leaves the flow;
  `stall` lowers it.
- Two changes of one key: the later begin holds, whichever the file has first.
- A stack change without an end stays; what its `effect` takes is taken once a task, whether one of
  its nodes has the change or all.
)";

std::string kind_lines(std::string_view table, const std::vector<KindKeys>& kinds) {
  std::string out = fmt::format(
      "\n### Kinds of `{}`\n\n| kind | required | also allowed |\n|---|---|---|\n", table);
  const auto words = [](const std::vector<std::string>& keys) {
    return keys.empty() ? std::string() : fmt::format("`{}`", fmt::join(keys, "`, `"));
  };
  for (const KindKeys& each : kinds)
    out +=
        fmt::format("| `{}` | {} | {} |\n", each.kind, words(each.required), words(each.optional));
  return out;
}

}  // namespace

std::string scenario_schema() {
  const plan::SchemaHead head{
      .title = fmt::format("Railgauge scenario, version {}", kScenarioVersion),
      .description =
          "A modelled fabric and all that happens to it. For editors; the reader knows "
          "the sizes too. deploy/docs/reference/scenarios.md lists every key.",
      .root = "scenario",
      .definitions = {
          R"("word": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"})",
          fmt::format(R"("kernel": {{"enum": ["{}"]}})", fmt::join(kernel_words(), "\", \"")),
          R"("days": {"type": ["string", "number"], "description": "3d, 90min, 20us, 0"})",
          R"("time": {"type": ["string", "number"], "description": "3d, 90min, 2026-01-08T12:00"})"}};
  return plan::schema_of(head, scenario_tables());
}

std::string scenario_page() {
  std::string page = plan::key_page(kHead, scenario_tables());
  page += kind_lines("noise", noise_kinds());
  page += kind_lines("fault", fault_kinds());
  page += kind_lines("agent", agent_kinds());
  page += kTail;
  return page;
}

}  // namespace railgauge::fleet
