// nodes, nodes show, nodes diff, nodes rename, nodes pause, nodes resume
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/fact_diff.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/pci_distance.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/labels.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

// On a terminal, so that the page of a node fits it.
constexpr std::size_t kLinesOfFacts = 24;
constexpr std::size_t kLinesOfStack = 14;

// Facts are large, so lists leave them out.
Result<NodeList> ask(Session& session, const std::string& node_set, bool with_facts) {
  auto request = request_for<ListNodesRequest>(node_set);
  request.set_with_facts(with_facts);
  return call(session, rpc::kListNodes, request);
}

// "" for a port whose rate is unknown.
std::string rate_text(const Nic& nic) {
  return nic.rate_bits_per_second() > 0 ? format_rate_bits(nic.rate_bits_per_second() / 8) : "";
}

// "mlx5_[0-7]:1": a state is named only where it is not active.
std::string nic_names(const NodeInfo& node) {
  std::map<std::string, std::vector<std::string>> by_state{{"active", {}}};
  for (const auto& nic : node.nics())
    by_state[nic.state()].push_back(fmt::format("{}:{}", nic.device(), nic.port()));
  std::string names;
  for (const auto& [state, ports] : by_state)
    if (!ports.empty())
      names += fmt::format("{}{}{}", names.empty() ? "" : " ", fold_names(ports),
                           state == "active" ? "" : "(" + state + ")");
  return names;
}

// "8 NVIDIA H200", or by state where not all can be used.
std::string gpu_names(const NodeInfo& node) {
  std::map<std::string, int> counts;
  for (const auto& gpu : node.gpus()) {
    const std::string model = gpu.model().empty() ? "GPU" : gpu.model();
    ++counts[gpu.state() == "active" ? model : fmt::format("{}({})", model, gpu.state())];
  }
  std::string names;
  for (const auto& [name, count] : counts)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", count, name);
  return names;
}

// The reasons why the node cannot be measured now; "" where it does not report them.
std::string busy_cell(const NodeInfo& node) {
  if (!node.has_busy()) return "";
  return node.busy() ? fmt::format("{}", fmt::join(node.busy_reasons(), "; ")) : "no";
}

// "paused until 2026-11-28T08:00:00Z by ann: DIMM"; "" where it is not paused.
std::string pause_cell(const NodeInfo& node) {
  if (!node.has_pause()) return "";
  return fmt::format("paused until {} by {}: {}", node.pause().until_at(), node.pause().who(),
                     node.pause().reason());
}

std::string labels_text(const NodeInfo& node) {
  return label_text({node.labels().begin(), node.labels().end()});
}

// The contract sends the node plus one; 0 is unknown.
std::string numa_text(std::uint32_t plus_one) {
  return plus_one == 0 ? "-" : std::to_string(plus_one - 1);
}

// "PIX mlx5_0 mlx5_1, SYS mlx5_2": the nearest first.
std::string distances_text(const Gpu& gpu) {
  std::map<std::pair<std::size_t, std::string>, std::set<std::string>> devices;
  for (const auto& [device, distance] : gpu.distances())
    devices[{pci_distance_rank(distance), distance}].insert(device);
  std::string text;
  for (const auto& [distance, names] : devices)
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", distance.second, fmt::join(names, " "));
  return text;
}

// "-" where it is unknown.
std::string mtu_text(const Nic& nic) {
  return nic.has_active_mtu_bytes() ? fmt::format("{:.0f}", nic.active_mtu_bytes()) : "-";
}

// Good is active alone.
Cell device_state(const std::string& state) {
  return {state, state == "active" ? Tone::kGood : Tone::kBad};
}

// "00:10..00:17 (8)" for a row of several devices.
template <class Devices, class Field>
std::string folded_field(const Devices& devices, Field field) {
  std::vector<std::string> texts;
  for (const auto* device : devices) texts.push_back((device->*field)());
  return fold_briefly(texts);
}

// The rows of devices that are alike but for what belongs to each of them: names, addresses, ids.
std::string alike_gpus(const NodeInfo& node, bool colour) {
  const auto kind = [](const Gpu& gpu) {
    return fmt::format("{}|{}|{}|{}", gpu.state(), gpu.model(), gpu.driver(), gpu.vbios());
  };
  const Rows rows = rows_of(grouped(node.gpus(), kind), [](const auto& gpus) {
    const Gpu& first = *gpus.front();
    return Row({folded_field(gpus, &Gpu::name), gpus.size(), device_state(first.state()),
                first.model(), first.driver(), first.vbios(),
                folded_field(gpus, &Gpu::pci_address)});
  });
  return render_section("GPUS|COUNT>|STATE|MODEL|DRIVER|VBIOS|PCI", rows, colour);
}
// Likewise: a port that is down is a row of its own.
std::string alike_nics(const NodeInfo& node, bool colour) {
  const auto kind = [](const Nic& nic) {
    return fmt::format("{}|{}|{}|{}|{}|{}", nic.state(), nic.rate_bits_per_second(),
                       nic.active_mtu_bytes(), nic.link_layer(), nic.driver(), nic.firmware());
  };
  const Rows rows = rows_of(grouped(node.nics(), kind), [](const auto& nics) {
    const Nic& first = *nics.front();
    std::vector<std::string> names;
    for (const Nic* nic : nics) names.push_back(fmt::format("{}:{}", nic->device(), nic->port()));
    return Row({fold_names(names), nics.size(), device_state(first.state()), rate_text(first),
                mtu_text(first), first.link_layer(), first.driver(), first.firmware(),
                folded_field(nics, &Nic::pci_address)});
  });
  return render_section("NICS|COUNT>|STATE|RATE>|MTU>|LINK|DRIVER|FIRMWARE|PCI", rows, colour);
}

std::string gpu_table(const NodeInfo& node, bool colour) {
  if (tables_are_cut()) return alike_gpus(node, colour);
  const Rows rows = rows_of(node.gpus(), [](const Gpu& gpu) {
    return Row({gpu.name(), device_state(gpu.state()), gpu.model(), gpu.pci_address(),
                numa_text(gpu.numa_node_plus_one()), gpu.driver(), gpu.vbios(), gpu.uuid(),
                distances_text(gpu)});
  });
  return render_section("GPU|STATE|MODEL|PCI|NUMA>|DRIVER|VBIOS|UUID|NICS", rows, colour);
}

std::string nic_table(const NodeInfo& node, bool colour) {
  if (tables_are_cut()) return alike_nics(node, colour);
  const Rows rows = rows_of(node.nics(), [](const Nic& nic) {
    return Row({fmt::format("{}:{}", nic.device(), nic.port()), device_state(nic.state()),
                rate_text(nic), mtu_text(nic), nic.netdev(), nic.pci_address(), nic.link_layer(),
                nic.driver(), nic.firmware(), nic.guid()});
  });
  return render_section("NIC|STATE|RATE>|MTU>|NETDEV|PCI|LINK|DRIVER|FIRMWARE|GUID", rows, colour);
}

// Versions, then settings, each sorted by name.
std::string stack_table(const NodeInfo& node, bool colour) {
  Rows rows;
  const auto add = [&](const char* part, const auto& words) {
    const std::map<std::string, std::string> sorted(words.begin(), words.end());
    for (const auto& [name, value] : sorted) rows.push_back({part, name, value});
  };
  add("version", node.stack_versions());
  add("setting", node.stack_settings());
  return render_short_table("STACK|NAME|VALUE", rows, colour, {.lines = kLinesOfStack});
}

// Facts without a dot only: those of single devices have one.
void print_node(const Output& output, const NodeInfo& node) {
  Rows rows{{"node", {node.name(), Tone::kHeading}},
            {"state", state_cell(node.state())},
            {"id", node.node_id()},
            {"version", node.version()},
            {"address", node.address()},
            {"attached", node.attached_at().empty() ? "never" : node.attached_at()},
            {"last seen", node.last_seen_at().empty() ? "never" : node.last_seen_at()},
            {"task", node.busy_task_id().empty() ? "none" : node.busy_task_id()},
            {"busy", busy_cell(node).empty() ? "unknown" : busy_cell(node)},
            {"labels", node.labels().empty() ? "none" : labels_text(node)},
            {"maintenance", node.has_pause() ? pause_cell(node) : "no"},
            {"spooled records",
             node.has_spool_records() ? fmt::format("{:.0f}", node.spool_records()) : "unknown"}};
  if (!node.stack_hash().empty()) rows.push_back({"stack", node.stack_hash()});
  // Those of single devices and modules are many: the machine formats have them.
  const std::map<std::string, std::string> facts(node.facts().begin(), node.facts().end());
  for (const auto& [name, value] : facts)
    if (name.find('.') == std::string::npos) rows.push_back({name, value});
  output.out << screenful(render_list(rows, output.colour), {.lines = kLinesOfFacts});
  output.out << nic_table(node, output.colour) << gpu_table(node, output.colour);
  if (node.stack_versions().empty()) return;
  output.out << '\n' << stack_table(node, output.colour);
}

}  // namespace

Result<NodeList> ask_nodes_with_facts(Session& session, const std::string& node_set) {
  NodeList list = RG_TRY(ask(session, node_set, true));
  if (list.nodes().empty())
    return fail(Code::kNotFound, fmt::format("node {}: the controller does not know it; railgauge "
                                             "nodes lists those it knows",
                                             node_set));
  return list;
}

namespace {

// Nodes that differ in their names alone are a row; what is absent comes first.
Rows node_rows(const NodeList& list) {
  using Key = std::tuple<bool, std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, std::vector<const NodeInfo*>> alike;
  for (const NodeInfo& node : list.nodes()) {
    const std::string busy = busy_cell(node);
    const std::string held = node.busy() ? "busy" : busy;
    alike[{node.state() == "attached", node.state(), node.version(), nic_names(node),
           gpu_names(node), node.has_pause() ? pause_cell(node) : held}]
        .push_back(&node);
  }
  Rows rows;
  for (const auto& [key, nodes] : alike) {
    std::vector<std::string> names;
    std::vector<std::string> reasons;
    std::vector<std::string> tasks;
    std::string seen = nodes.front()->last_seen_at();
    for (const NodeInfo* node : nodes) {
      names.push_back(node->name());
      if (node->busy() && !node->has_pause()) reasons.push_back(busy_cell(*node));
      if (!node->busy_task_id().empty()) tasks.push_back(node->busy_task_id());
      seen = std::min(seen, node->last_seen_at());
    }
    std::string busy = std::get<5>(key);
    const bool is_held = !reasons.empty() || nodes.front()->has_pause();
    for (const TextGroup& group : group_texts(reasons, names)) {
      if (busy == "busy")
        busy.clear();
      else
        busy += "; ";
      busy += group.text;
    }
    rows.push_back({fold_names(names), nodes.size(), state_cell(nodes.front()->state()),
                    nodes.front()->version(), nic_names(*nodes.front()), gpu_names(*nodes.front()),
                    seen, fold_briefly(tasks), Cell(busy, is_held ? Tone::kBad : Tone::kPlain)});
  }
  return rows;
}

// "5 nodes".
std::string counted_nodes(int nodes) { return counted(static_cast<std::size_t>(nodes), "node"); }

// "512 nodes: 507 attached, 5 lost".
std::string counts_line(const NodeList& list) {
  std::map<std::string, int> counts;
  int busy = 0;
  int paused = 0;
  for (const NodeInfo& node : list.nodes()) {
    ++counts[node.state()];
    busy += node.busy() ? 1 : 0;
    paused += node.has_pause() ? 1 : 0;
  }
  std::string text;
  for (const auto& [state, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  return counted_nodes(list.nodes_size()) + ": " + text +
         (busy > 0 ? fmt::format("; {} busy", busy) : "") +
         (paused > 0 ? fmt::format("; {} paused", paused) : "");
}

}  // namespace

// An empty list explains how an agent attaches.
Result<int> list_nodes(Session& session, const Arguments& arguments) {
  const std::string node_set = RG_TRY(node_set_of(arguments, 0));
  const NodeList list = RG_TRY(ask(session, node_set, false));
  const Output& output = session.output;
  if (print_document(output, list, "nodes")) return 0;
  if (list.nodes().empty()) {
    print_notice(output,
                 "no node has attached; an agent does with railgauge-agent --controller "
                 "ADDRESS");
    return 0;
  }
  output.out << line_of(counts_line(list), Tone::kHeading, output.colour)
             << render_short_table("NODES|COUNT>|STATE|VERSION|NICS|GPUS|SEEN SINCE|TASKS|BUSY",
                                   node_rows(list), output.colour,
                                   {.remedy = "a node set chooses; --full shows them"});
  return 0;
}

// Ctrl-C does not end it.
Result<int> rename_node(Session& session, const Arguments& arguments) {
  RenameNodeRequest request;
  request.set_name(arguments.operand(0));
  request.set_new_name(arguments.operand(1));
  const NodeList list = RG_TRY(call_through(session, rpc::kRenameNode, request));
  if (print_document(session.output, list, "nodes")) return 0;
  session.output.out << line_of(
      fmt::format("node {} is {} from now on; restart its agent under that name", request.name(),
                  request.new_name()));
  return 0;
}

namespace {

// One line for nodes that were paused or resumed alike.
int print_changed(const Output& output, const NodeList& list, const char* what) {
  if (print_document(output, list, "nodes")) return 0;
  std::map<std::string, std::vector<std::string>> alike;
  for (const NodeInfo& node : list.nodes())
    alike[node.has_pause() ? pause_cell(node) : what].push_back(node.name());
  for (const auto& [text, names] : alike)
    output.out << line_of(fmt::format("{}: {}", fold_names(names), text));
  return 0;
}

}  // namespace

// Ctrl-C does not end it.
Result<int> pause_nodes(Session& session, const Arguments& arguments) {
  PauseNodesRequest request;
  request.set_node_set(RG_TRY(node_set_of(arguments, 0)));
  request.set_reason(arguments.value("reason"));
  if (arguments.has("for")) request.set_for_seconds(RG_TRY(seconds_of(arguments, "for", 0)));
  if (arguments.has("until")) {
    const auto until = parse_calendar(arguments.value("until"));
    if (!until)
      return fail(Code::kInvalidArgument,
                  fmt::format("--until: {}: must be a time as 2026-11-28T08:00:00Z; --for takes a "
                              "duration",
                              in_quotes(arguments.value("until"))));
    request.set_until_unix_seconds(*until);
  }
  return print_changed(session.output, RG_TRY(call_through(session, rpc::kPauseNodes, request)),
                       "paused");
}

Result<int> resume_nodes(Session& session, const Arguments& arguments) {
  const auto request = request_for<ResumeNodesRequest>(RG_TRY(node_set_of(arguments, 0)));
  return print_changed(session.output, RG_TRY(call_through(session, rpc::kResumeNodes, request)),
                       "resumed");
}

// The operand may be a node set: one page for each of its nodes, on a terminal that of the first.
Result<int> show_node(Session& session, const Arguments& arguments) {
  const NodeList list = RG_TRY(ask_nodes_with_facts(session, arguments.operand(0)));
  if (print_document(session.output, list, "nodes")) return 0;
  const int shown = tables_are_cut() ? 1 : list.nodes_size();
  for (int i = 0; i < shown; ++i) {
    if (i > 0) session.output.out << '\n';
    print_node(session.output, list.nodes(i));
  }
  if (list.nodes_size() > shown)
    session.output.out << '\n'
                       << wrapped_line(
                              fmt::format("and {} more; --full shows them, railgauge nodes "
                                          "diff A B says what differs",
                                          counted_nodes(list.nodes_size() - shown)));
  return 0;
}

namespace {

constexpr int kMostValues = 3;

// As a heading of a table, where '|' separates the headings.
std::string without_bars(std::string text) {
  std::ranges::replace(text, '|', '/');
  return text;
}

// "512 x3, 4096 x1", without counts for a set of one node.
std::string values_text(const google::protobuf::RepeatedPtrField<ValueCount>& values,
                        std::uint32_t unknown, int nodes) {
  std::string text;
  for (int i = 0; i < values.size() && i < kMostValues; ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        values[i].has_value() ? values[i].value() : "none");
    if (nodes > 1) text += fmt::format(" x{}", values[i].nodes());
  }
  if (values.size() > kMostValues) text += fmt::format(", {} more", values.size() - kMostValues);
  if (unknown > 0) text += fmt::format(", unknown x{}", unknown);
  return text;
}

}  // namespace

// The table's headings are the two sets as they were typed.
Result<int> diff_node_sets(Session& session, const Arguments& arguments) {
  const auto a = RG_TRY(ask_nodes_with_facts(session, arguments.operand(0)));
  const auto b = RG_TRY(ask_nodes_with_facts(session, arguments.operand(1)));
  const NodesDiff diff = diff_nodes(a, b);
  const Output& output = session.output;
  if (print_document(output, diff, "differences")) return 0;
  if (diff.differences().empty()) {
    print_notice(output, fmt::format("no fact of {} differs from {}", arguments.operand(0),
                                     arguments.operand(1)));
    return 0;
  }
  Rows rows;
  for (const FactDifference& row : diff.differences())
    rows.push_back({row.part(), row.name(),
                    values_text(row.a_values(), row.a_unknown(), diff.a_size()),
                    values_text(row.b_values(), row.b_unknown(), diff.b_size())});
  output.out << render_short_table(
      fmt::format("PART|NAME|{}|{}", without_bars(arguments.operand(0)),
                  without_bars(arguments.operand(1))),
      rows, output.colour);
  return 0;
}

}  // namespace railgauge::cli
