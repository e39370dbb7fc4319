#include "kernels/gpudirect_probe.h"

#include "kernels/verbs/memory/registration_probe.h"
#include "kernels/verbs/transport/port_probe.h"

namespace railgauge {

GpuDirectProbe probe_gpudirect(std::string_view pair) {
  if (const auto parsed = verbs::parse_probe_pair(pair)) return verbs::probe_registration(*parsed);
  GpuDirectProbe wrong;
  wrong.set_state("error");
  wrong.set_text("the pair is not GPU@PCI_ADDRESS+NIC");
  return wrong;
}

PortProbe probe_port(std::string_view endpoint) { return verbs::probe_port(std::string(endpoint)); }

}  // namespace railgauge
