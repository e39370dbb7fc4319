// topo
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/topology_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/text/fold.h"

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

// A square of distances with the devices' own columns to the right, without its first heading.
std::pair<std::vector<Column>, Rows> square_of(const std::vector<const TopologyDevice*>& devices) {
  std::vector<Column> columns{{""}};
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
  return {std::move(columns), std::move(rows)};
}

// Nodes whose devices lie alike share a square.
struct Square {
  std::vector<std::string> nodes{};
  std::vector<Column> columns{};
  Rows rows{};
};

// In the order of the nodes. A node without devices is named on stderr.
std::vector<Square> squares_of(const Output& output, const api::NodeList& nodes,
                               const TopologyReport& report) {
  std::vector<Square> squares;
  std::map<std::string, std::size_t> places;  // by the square's text
  for (const auto& node : nodes.nodes()) {
    const auto devices = devices_of(report, node.name());
    if (devices.empty()) {
      print_notice(output, fmt::format("node {}: no GPU and no NIC on PCIe", node.name()));
      continue;
    }
    auto [columns, rows] = square_of(devices);
    const auto [place, is_new] =
        places.try_emplace(render_table(columns, rows, false), squares.size());
    if (is_new) squares.push_back({.columns = std::move(columns), .rows = std::move(rows)});
    squares[place->second].nodes.push_back(node.name());
  }
  return squares;
}

}  // namespace

// Facts of the agent only: nothing is measured.
Result<int> show_topology(Session& session, const Arguments& arguments) {
  const auto nodes = RG_TRY(ask_nodes_with_facts(session, arguments.operand(0)));
  const TopologyReport report = topology_of(nodes);
  const Output& output = session.output;
  if (print_document(output, report, "devices")) return 0;
  std::string text;
  for (Square& square : squares_of(output, nodes, report)) {
    square.columns.front().heading = fold_briefly(square.nodes);
    text += (text.empty() ? "" : "\n") + render_table(square.columns, square.rows, output.colour);
  }
  // The legend once, below all nodes.
  if (!text.empty()) output.out << page_with_end(std::move(text), std::string(kLegend));
  return 0;
}

}  // namespace railgauge::cli
