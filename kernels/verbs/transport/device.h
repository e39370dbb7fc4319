// One RDMA port: opened by name, with what is known about it.
#pragma once

#include <string>

#include "kernels/core/base/result.h"
#include "kernels/verbs/transport/gid.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

// Movable, not copyable; facts are read at open() except where a function reads sysfs.
class Device {
 public:
  // `endpoint` is "DEV:PORT", "DEV" (its first active port) or "" (the first active port here).
  // kNotFound: no such device or port, the message lists what is there. kFailedPrecondition: the
  // port is not active. kPermissionDenied: the device file. kInvalidArgument: not an endpoint.
  static Result<Device> open(const std::string& endpoint);

  [[nodiscard]] ibv_context* context() const { return context_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint8_t port() const { return port_; }
  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] const ibv_port_attr& port_attributes() const { return port_attributes_; }
  [[nodiscard]] const ibv_device_attr& attributes() const { return attributes_; }
  // "mlx5_core", "rdma_rxe", "siw", "fake" or "unknown".
  [[nodiscard]] const std::string& driver() const { return driver_; }
  // The bound of a figure of the port: 0 where nothing bounds it, with the reason in no_bound().
  [[nodiscard]] double line_rate_bits_per_second() const;
  [[nodiscard]] std::string no_bound() const;
  // The rate that the port reports, by the verbs or by sysfs, whichever is higher: sysfs alone has
  // a speed that is newer than the library's words. 0: neither reports one.
  [[nodiscard]] double port_rate_bits_per_second() const;
  // The bond that the port's netdev is a member of, or "". The RDMA device of a bond says one
  // member's rate and uses all of them.
  [[nodiscard]] std::string bond() const;
  // Whether the port's rate is a limit of hardware: a software device only names one.
  [[nodiscard]] bool rate_is_physical() const;
  [[nodiscard]] bool is_ethernet() const;
  [[nodiscard]] bool is_iwarp() const;
  // Where the kernel shows the port: /sys/class/infiniband/DEV/ports/N.
  [[nodiscard]] std::string sysfs_port() const;
  // The NUMA node of its slot, or -1 where the machine does not say.
  [[nodiscard]] int numa_node() const;
  // By rule when index is negative.
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
