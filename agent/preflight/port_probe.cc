#include "agent/preflight/port_probe.h"

#include <sstream>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "agent/preflight/probe.h"
#include "kernels/core/probe.pb.h"
#include "kernels/core/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kSource = "ibv_query_port, by railgauge-runner";
constexpr std::size_t kMaxOutputBytes = 1U << 20U;
using Mtu = Fact<std::uint32_t>;

std::string endpoint_of(const RdmaDevice& device, const RdmaPort& port) {
  return fmt::format("{}:{}", device.name, port.port);
}

// Those of InfiniBand that are up: of Ethernet the interface's MTU says it, and a runner that is
// started in vain would cost a slow node more than all the rest.
template <class Each>
void for_each_open_port(Inventory& node, Each each) {
  for (RdmaDevice& device : node.rdma)
    for (RdmaPort& port : device.ports)
      if (port.state.is("active") && port.link_layer.is("infiniband"))
        each(endpoint_of(device, port), port);
}

void take(const PortProbe& probe, RdmaPort& port) {
  if (probe.active_mtu_bytes() == 0) {
    port.active_mtu_bytes = port.max_mtu_bytes = Mtu::unknown(kSource, valid_utf8(probe.text()));
    return;
  }
  const std::string source = std::string(kSource) + (probe.synthetic() ? " (synthetic)" : "");
  port.active_mtu_bytes = Mtu::known(probe.active_mtu_bytes(), source);
  port.max_mtu_bytes = Mtu::known(probe.max_mtu_bytes(), source);
}

}  // namespace

void take_port_lines(const std::string& text, Inventory& node) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    PortProbe probe;
    if (!google::protobuf::util::JsonStringToMessage(line, &probe, options).ok()) continue;
    for_each_open_port(node, [&](const std::string& endpoint, RdmaPort& port) {
      if (endpoint == probe.endpoint()) take(probe, port);
    });
  }
}

void ask_ports(const std::string& runner, Inventory& node, double seconds) {
  std::string list;
  for_each_open_port(node, [&](const std::string& endpoint, RdmaPort&) {
    list += (list.empty() ? "" : ",") + endpoint;
  });
  if (list.empty()) return;
  const auto output = run_command({runner, "--probe-ports", list}, seconds, kMaxOutputBytes);
  if (output) take_port_lines(output->out, node);
  for_each_open_port(node, [&](const std::string&, RdmaPort& port) {
    if (!port.active_mtu_bytes.is_known() && port.active_mtu_bytes.reason.empty())
      port.active_mtu_bytes = port.max_mtu_bytes = Mtu::unknown(kSource, why_silent(output));
  });
}

}  // namespace railgauge::agent
