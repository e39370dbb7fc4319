// THE list of metrics that agents and controller export to Prometheus. Registration, `railgauge
// metrics --describe`, deploy/docs/reference/metrics.md, the series budgets and the lint of
// dashboards and alerts are made from it. A metric without a row here cannot be exported.
//
// Names and labels follow Prometheus' conventions; `device` and `port` are those of node_exporter,
// `UUID` and `pci_bus_id` those of dcgm-exporter, so that series can be joined. Only an `_info`
// series may have a run, a peer, an error text or a firmware as a label. Pairs of nodes are labels
// of one family only, with kWorstPairs series.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::metric {

// Types of the exposition format. A counter only grows; a summary also has _sum and _count.
enum class Type { kGauge, kCounter, kSummary };
// Program that exports a family.
enum class Owner { kAgent, kController, kBoth };

// One family of series: a row of the catalog. All texts live as long as the program.
struct Info {
  std::string_view name;
  Type type = Type::kGauge;
  Owner owner = Owner::kAgent;
  std::string_view unit;      // "seconds", "bytes", "1" (a share, a count, a state)
  std::string_view labels;    // names, separated by spaces; label_values() has their values
  std::uint32_t typical = 1;  // series of one process: an agent of 8 NIC ports and 8 GPUs
  std::uint32_t most = 1;     // bound of series in the registry
  std::string_view help;
};

// Bound of the one family that names pairs of nodes: enough for a table on a dashboard, few enough
// for Prometheus.
inline constexpr std::uint32_t kWorstPairs = 20;

// Returns all rows in the order of the reference.
std::span<const Info> catalog();
// Finds a family by name; nullptr: no such metric.
const Info* find(std::string_view name);
// Returns the label names of a family in the order of its row.
std::vector<std::string_view> label_names(const Info& info);
// Describes the values of a label and their bound; "" for an undeclared label.
std::string_view label_values(std::string_view label);

// Return the words of the reference: "gauge", "controller".
std::string_view word(Type type);
std::string_view word(Owner owner);
// Reports whether `process` (kAgent or kController) exports the family.
bool is_shown_by(const Info& info, Owner process);

// Numbers of series of a whole fleet, from the bounds of the catalog.
struct Budget {
  double agent_typical = 0;  // of one agent
  double agent_most = 0;
  double controller_typical = 0;  // does not grow with the nodes
  double controller_most = 0;
  double fleet_typical = 0;  // all agents and the controller
};
// Computes the sums for a fleet of `nodes` agents and one controller. Pure.
Budget budget(std::uint32_t nodes);

// Renders deploy/docs/reference/metrics.md: every metric with type, unit, labels, bounds and
// meaning, then the labels and the budget. Pure.
std::string reference_markdown();

}  // namespace railgauge::metric
