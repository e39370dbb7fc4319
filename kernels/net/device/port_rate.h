// The rate of an RDMA port in sysfs.
#pragma once

#include <filesystem>

namespace railgauge::net {

// Reads one direction of a port, in bytes per second, from its file `rate`; `device` is
// /sys/class/infiniband/NAME. 0 where the file is no bound: software RDMA has no hardware, a bond's
// member shows its own rate alone, and EFA's driver may report a constant. Never fails.
double port_rate(const std::filesystem::path& device, const std::filesystem::path& port);

}  // namespace railgauge::net
