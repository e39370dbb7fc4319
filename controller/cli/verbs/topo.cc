// topo
#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/topology_report.h"
#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {
namespace {

constexpr std::string_view kLegend =
    "\nX    the device itself\n"
    "NV#  # NVLinks, directly or through NVSwitches\n"
    "PIX  one PCIe bridge or switch\n"
    "PXB  several PCIe bridges, none of them the host's\n"
    "PHB  through the PCIe host bridge\n"
    "NODE through several host bridges of one NUMA node\n"
    "SYS  from one NUMA node to another\n";

// The report lists the devices of all nodes one after the other.
std::vector<const TopologyDevice*> devices_of(const TopologyReport& report,
                                              const std::string& node) {
  std::vector<const TopologyDevice*> devices;
  for (const TopologyDevice& device : report.devices())
    if (device.node() == node) devices.push_back(&device);
  return devices;
}

// Either device may know the distance; "?" when none does.
std::string between(const TopologyDevice& a, const TopologyDevice& b) {
  if (a.name() == b.name()) return "X";
  for (const auto* one : {&a, &b}) {
    const auto found = one->distances().find(one == &a ? b.name() : a.name());
    if (found != one->distances().end()) return found->second;
  }
  return "?";
}

// A square of distances with the devices' own columns to the right.
void print_node(const Output& output, const std::string& node,
                const std::vector<const TopologyDevice*>& devices) {
  std::vector<Column> columns{{node}};
  for (const TopologyDevice* device : devices) columns.push_back({device->name()});
  for (const char* heading : {"CPUS", "NUMA", "RAIL", "NEAREST NICS"})
    columns.push_back({heading, std::string_view(heading) == "NUMA"});
  Rows rows;
  for (const TopologyDevice* device : devices) {
    std::vector<Cell> row{device->name()};
    for (const TopologyDevice* other : devices) row.emplace_back(between(*device, *other));
    row.emplace_back(device->cpus());
    row.emplace_back(device->has_numa_node() ? std::to_string(device->numa_node()) : "-");
    row.emplace_back(device->has_rail() ? std::to_string(device->rail()) : "");
    row.emplace_back(device->nearest_nics());
    rows.push_back(std::move(row));
  }
  output.out << render_table(columns, rows, output.colour);
}

}  // namespace

// Facts of the agent only: nothing is measured.
Result<int> show_topology(Session& session, const Arguments& arguments) {
  const auto nodes = RG_TRY(ask_nodes_with_facts(session, arguments.operand(0)));
  const TopologyReport report = topology_of(nodes);
  const Output& output = session.output;
  if (print_document(output, report, "devices")) return 0;
  bool is_first = true;
  for (const auto& node : nodes.nodes()) {
    const auto devices = devices_of(report, node.name());
    if (devices.empty()) {
      print_notice(output, fmt::format("node {}: no GPU and no NIC on PCIe", node.name()));
      continue;
    }
    if (!is_first) output.out << '\n';
    is_first = false;
    print_node(output, node.name(), devices);
  }
  // The legend once, below all nodes.
  if (!is_first) output.out << kLegend;
  return 0;
}

}  // namespace railgauge::cli
