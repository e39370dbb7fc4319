// The rate of an RDMA port in sysfs.
#pragma once

#include <filesystem>

namespace railgauge::net {

// Reads one direction of a port, in bytes per second, from its file `rate`; `device` is
// /sys/class/infiniband/NAME. An interface of the device that is faster says more. 0 where neither
// is a bound: of software RDMA, of a bond's member or a virtual function, of EFA, whose driver may
// report a constant, where the interfaces are not seen, and of a speed without a name. Never fails.
double port_rate(const std::filesystem::path& device, const std::filesystem::path& port);

}  // namespace railgauge::net
