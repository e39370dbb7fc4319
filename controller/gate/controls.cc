#include "controller/gate/controls.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/gate/gate_service.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kEpochsOfControl = 50;  // of a node, newest first

// The devices of a node as a text that only compares equal: nodes are comparable where they have
// the same devices.
std::string hardware_of(const api::NodeInfo& node) {
  std::string text;
  for (const api::Nic& nic : node.nics())
    text += fmt::format("nic {} {:.0f};", nic.driver(), nic.rate_bits_per_second());
  return text + fmt::format("{} GPUs", node.gpus_size());
}

}  // namespace

std::string pause_of(const api::NodeInfo& node) {
  return fmt::format("node {} is paused until {} by {}: {}; railgauge nodes resume {}", node.name(),
                     node.pause().until_at(), node.pause().who(), node.pause().reason(),
                     node.name());
}

Status all_attached(const std::vector<std::string>& nodes, const NodeInfos& infos) {
  for (const std::string& node : nodes) {
    const auto info = infos.find(node);  // one that came since the list was made is not in it
    if (info == infos.end() || info->second.state() != kAttached)
      return fail(Code::kFailedPrecondition,
                  fmt::format("node {} is {}; start its agent first", node,
                              info == infos.end() ? "not there yet" : info->second.state()));
    if (info->second.has_pause()) return fail(Code::kFailedPrecondition, pause_of(info->second));
  }
  return {};
}

Result<NodeInfos> node_infos(Control& control, store::Store& store) {
  api::ListNodesRequest request;
  request.set_with_facts(true);
  NodeInfos infos;
  const api::NodeList list = RG_TRY(control.list_nodes(request));
  for (const api::NodeInfo& node : list.nodes()) infos[node.name()] = node;
  RG_TRY_OK(store.flush());
  return infos;
}

Result<std::vector<std::string>> selected(Control& control, const std::string& node_set) {
  if (node_set.empty())
    return fail(Code::kInvalidArgument, "which nodes are upgraded? name them with --nodes SET");
  api::ListNodesRequest request;
  request.set_node_set(node_set);
  std::vector<std::string> names;
  const api::NodeList list = RG_TRY(control.list_nodes(request));
  for (const api::NodeInfo& node : list.nodes()) names.push_back(node.name());
  return names;
}

Result<std::vector<std::string>> choose_controls(Control& control, store::Store& store,
                                                 const std::vector<std::string>& nodes,
                                                 const std::string& control_set,
                                                 const NodeInfos& infos,
                                                 const std::optional<Stay>& before) {
  if (control_set == "none") return std::vector<std::string>{};
  std::vector<std::string> chosen;
  const auto is_ours = [&](const std::string& name) {
    return std::ranges::find(nodes, name) != nodes.end();
  };
  if (!control_set.empty()) {
    for (const std::string& name : RG_TRY(selected(control, control_set))) {
      if (is_ours(name))
        return fail(Code::kInvalidArgument,
                    fmt::format("node {} cannot be upgraded and be a control", name));
      chosen.push_back(name);
    }
    RG_TRY_OK(all_attached(chosen, infos));
    return chosen;
  }
  const api::NodeInfo& like = infos.at(nodes.front());
  const std::size_t wanted = std::clamp<std::size_t>(nodes.size(), GateService::kLeastControls,
                                                     GateService::kMostControls);
  std::vector<std::string> others;  // with another stack
  store::StackParts had;
  if (before) had = RG_TRY(store.read(store::read_stack_parts, before->stack));
  for (const auto& [name, info] : infos) {
    if (is_ours(name) || info.state() != kAttached || info.busy() || info.has_pause() ||
        hardware_of(info) != hardware_of(like) || chosen.size() == wanted)
      continue;
    bool is_like = info.stack_hash() == like.stack_hash();
    if (before) {
      const auto epochs = RG_TRY(store.read(store::read_epochs, info.node_id(), kEpochsOfControl));
      if (epochs.empty() || unchanged_since(epochs) > before->from) continue;
      is_like = moved_to(had, epochs.front().parts).empty();
    }
    (is_like ? chosen : others).push_back(name);
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  if (chosen.size() > wanted) chosen.resize(wanted);
  return chosen;
}

}  // namespace railgauge
