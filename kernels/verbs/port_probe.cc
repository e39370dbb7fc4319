#include "kernels/verbs/port_probe.h"

#include "kernels/core/text.h"
#include "kernels/verbs/device.h"
#include "kernels/verbs/words.h"

namespace railgauge::verbs {

PortProbe probe_port(const std::string& endpoint) {
  PortProbe probe;
  probe.set_endpoint(valid_utf8(endpoint));
  const auto device = Device::open(endpoint);
  if (!device) {
    probe.set_text(valid_utf8(device.error().message));
    return probe;
  }
  probe.set_active_mtu_bytes(mtu_bytes(device->port_attributes().active_mtu));
  probe.set_max_mtu_bytes(mtu_bytes(device->port_attributes().max_mtu));
  probe.set_synthetic(device->driver() == "fake");
  return probe;
}

}  // namespace railgauge::verbs
