// THE list of what agents and controller show to Prometheus. Registration is made from it, and so
// are `railgauge metrics --describe`, deploy/docs/reference/metrics.md, the series budgets and the
// lint of dashboards and alerts. A metric without a row here cannot be exported.
//
// Names and labels by Prometheus' conventions; `device` and `port` as node_exporter has them,
// `UUID` and `pci_bus_id` as dcgm-exporter has them, so that their series can be joined. No label
// is a run, a peer, an error text or a firmware but on an `_info` series; pairs stand in one family
// of kWorstPairs only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::metric {

// Types of the exposition format. A counter only grows; a summary has _sum and _count beside it.
enum class Type { kGauge, kCounter, kSummary };
// Who shows it. kExposer: prometheus-cpp's own, of the agent's server.
enum class Owner { kAgent, kController, kBoth, kExposer };

// One family of series: a row of the catalog. All texts live as long as the program.
struct Info {
  std::string_view name;
  Type type = Type::kGauge;
  Owner owner = Owner::kAgent;
  std::string_view unit;      // "seconds", "bytes", "1" (a share, a count, a state)
  std::string_view labels;    // names, by spaces; what may stand there: label_values()
  std::uint32_t typical = 1;  // series of one process: an agent of 8 NIC ports and 8 GPUs
  std::uint32_t most = 1;     // the registry takes no more
  std::string_view help;
};

// Bound of the one family that names pairs of nodes: enough for a table on a dashboard, few enough
// for Prometheus.
inline constexpr std::uint32_t kWorstPairs = 20;

// All rows, in the order of the reference.
std::span<const Info> catalog();
// nullptr: no such metric.
const Info* find(std::string_view name);
// The label names of a family, in the order of its row.
std::vector<std::string_view> label_names(const Info& info);
// The values of a label, in words that name their bound; "" for a label that is not declared.
std::string_view label_values(std::string_view label);

// The words of the reference: "gauge", "controller".
std::string_view word(Type type);
std::string_view word(Owner owner);
// Whether `process` (kAgent or kController) exports the family.
bool is_shown_by(const Info& info, Owner process);

// Series of a whole fleet, as the catalog bounds them.
struct Budget {
  double agent_typical = 0;  // of one agent
  double agent_most = 0;
  double controller_typical = 0;  // does not grow with the nodes
  double controller_most = 0;
  double fleet_typical = 0;  // all agents and the controller
};
// The sums for a fleet of `nodes` agents and one controller. Pure.
Budget budget(std::uint32_t nodes);

// The text of deploy/docs/reference/metrics.md: every metric with type, unit, labels, bounds and
// meaning, then the labels and the budget. Pure.
std::string reference_markdown();

}  // namespace railgauge::metric
