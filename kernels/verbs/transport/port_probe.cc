#include "kernels/verbs/transport/port_probe.h"

#include <cerrno>

#include "kernels/core/text/text.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Tries to register an invalid descriptor: a device with dma-buf support rejects the descriptor,
// any other device or its driver rejects the call.
std::string registers_dmabuf(const Device& device) {
  constexpr std::size_t kBytes = 4096;
  const Verbs& verbs = loaded_verbs();
  if (verbs.reg_dmabuf_mr == nullptr) return "no";
  const ProtectionDomainHandle domain(verbs.alloc_pd(device.context()));
  if (!domain) return "";
  errno = 0;
  const MemoryRegionHandle none(
      verbs.reg_dmabuf_mr(domain.get(), 0, kBytes, kBytes, -1, IBV_ACCESS_LOCAL_WRITE));
  // The call reached the code that resolves the descriptor.
  if (errno == EBADF) return "yes";
  return errno == EOPNOTSUPP || errno == EPROTONOSUPPORT ? "no" : "";
}

}  // namespace

// Opens the device and asks; changes nothing on it.
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
  probe.set_dmabuf(registers_dmabuf(*device));
  probe.set_synthetic(device->driver() == "fake");
  return probe;
}

}  // namespace railgauge::verbs
