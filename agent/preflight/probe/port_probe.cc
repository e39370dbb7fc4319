#include "agent/preflight/probe/port_probe.h"

#include <fmt/format.h>

#include "agent/preflight/probe/probe.h"
#include "kernels/core/base/probe.pb.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kPortSource = "ibv_query_port, by railgauge-runner";
constexpr std::size_t kMaxAnswerBytes = 1U << 20U;
using Mtu = Fact<std::uint32_t>;

std::string endpoint_of(const RdmaDevice& device, const RdmaPort& port) {
  return fmt::format("{}:{}", device.name, port.port);
}

bool tells_mtu(const RdmaPort& port) { return port.link_layer.is("infiniband"); }

// Calls `each` for active ports of InfiniBand and, on nodes with GPUs, of all hardware. Other
// Ethernet ports are left out, since the interface shows their MTU, and a needless runner would
// take a slow node longer than all other reads.
template <class Each>
void for_each_open_port(Inventory& node, Each each) {
  for (RdmaDevice& device : node.rdma)
    for (RdmaPort& port : device.ports)
      if (port.state.is("active") &&
          (tells_mtu(port) || (!node.gpus.empty() && !device.pci_address.empty())))
        each(endpoint_of(device, port), device, port);
}

void take(const PortProbe& probe, RdmaDevice& device, RdmaPort& port) {
  constexpr const char* kAsked = "ibv_reg_dmabuf_mr of descriptor -1, by railgauge-runner";
  if (probe.dmabuf() == "yes" || probe.dmabuf() == "no")
    device.registers_dmabuf = Fact<bool>::known(
        probe.dmabuf() == "yes", std::string(kAsked) + (probe.synthetic() ? " (synthetic)" : ""));
  if (!tells_mtu(port)) return;
  if (probe.active_mtu_bytes() == 0) {
    port.active_mtu_bytes = port.max_mtu_bytes =
        Mtu::unknown(kPortSource, valid_utf8(probe.text()));
    return;
  }
  const std::string source = std::string(kPortSource) + (probe.synthetic() ? " (synthetic)" : "");
  port.active_mtu_bytes = Mtu::known(probe.active_mtu_bytes(), source);
  port.max_mtu_bytes = Mtu::known(probe.max_mtu_bytes(), source);
}

}  // namespace

void take_port_lines(const std::string& text, Inventory& node) {
  for_each_message_line<PortProbe>(text, [&](const PortProbe& probe) {
    for_each_open_port(node, [&](const std::string& endpoint, RdmaDevice& device, RdmaPort& port) {
      if (endpoint == probe.endpoint()) take(probe, device, port);
    });
  });
}

void ask_ports(const std::string& runner, Inventory& node, double seconds,
               const Confinement* confinement) {
  std::string list;
  for_each_open_port(node, [&](const std::string& endpoint, RdmaDevice&, RdmaPort&) {
    list += (list.empty() ? "" : ",") + endpoint;
  });
  if (list.empty()) return;
  const auto output =
      run_command({runner, "--probe-ports", list}, seconds, kMaxAnswerBytes, nullptr, confinement);
  if (output) take_port_lines(output->out, node);
  for_each_open_port(node, [&](const std::string&, RdmaDevice&, RdmaPort& port) {
    if (tells_mtu(port) && !port.active_mtu_bytes.is_known() &&
        port.active_mtu_bytes.reason.empty())
      port.active_mtu_bytes = port.max_mtu_bytes = Mtu::unknown(kPortSource, why_silent(output));
  });
}

}  // namespace railgauge::agent
