// One RDMA port, opened by name, and its facts.
#pragma once

#include <string>

#include "kernels/core/base/result.h"
#include "kernels/verbs/transport/gid.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

// Movable, not copyable. Facts are read at open(), unless a function reads sysfs.
class Device {
 public:
  // Opens `endpoint`: "DEV:PORT", "DEV" (its first active port) or "" (this host's first active
  // port). kNotFound, with the devices or ports that exist. kFailedPrecondition: the port is not
  // active. kPermissionDenied: the device file. kInvalidArgument: not an endpoint.
  static Result<Device> open(const std::string& endpoint);

  [[nodiscard]] ibv_context* context() const { return context_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint8_t port() const { return port_; }
  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] const ibv_port_attr& port_attributes() const { return port_attributes_; }
  [[nodiscard]] const ibv_device_attr& attributes() const { return attributes_; }
  // "mlx5_core", "rdma_rxe", "siw", "fake" or "unknown".
  [[nodiscard]] const std::string& driver() const { return driver_; }
  // Returns the upper bound of the port's figures; 0 without a bound, with the reason in
  // no_bound().
  [[nodiscard]] double line_rate_bits_per_second() const;
  [[nodiscard]] std::string no_bound() const;
  // Returns the port's rate by verbs or by sysfs, whichever is higher: only sysfs has speeds newer
  // than the library. 0 when neither reports one.
  [[nodiscard]] double port_rate_bits_per_second() const;
  // Returns the bond of the port's netdev, or "". The RDMA device of a bond reports one member's
  // rate but uses all members.
  [[nodiscard]] std::string bond() const;
  // Reports whether hardware limits the port's rate: a software device merely reports one.
  [[nodiscard]] bool rate_is_physical() const;
  [[nodiscard]] bool is_ethernet() const;
  [[nodiscard]] bool is_iwarp() const;
  // Returns the device's folder in sysfs: /sys/class/infiniband/DEV.
  [[nodiscard]] const std::string& sysfs_folder() const { return sysfs_; }
  // Returns the port's folder in sysfs: /sys/class/infiniband/DEV/ports/N.
  [[nodiscard]] std::string sysfs_port() const;
  // Returns the NUMA node of its slot, or -1 where the machine does not report it.
  [[nodiscard]] int numa_node() const;
  // Returns entry `index`, or the choice by rule when it is negative.
  [[nodiscard]] Result<GidEntry> gid(std::int64_t index) const;

 private:
  static Result<Device> open_named(ibv_device* device);
  Status choose_port(std::int64_t wanted);

  ContextHandle context_;
  std::string name_;
  std::string sysfs_;
  std::string driver_;
  std::uint8_t port_ = 0;
  ibv_port_attr port_attributes_{};
  ibv_device_attr attributes_{};
};

}  // namespace railgauge::verbs
