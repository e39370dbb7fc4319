// The address of packets to the other port: GID, partition, service level, traffic class, flow
// label.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/gid.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

struct Addressing {
  GidEntry gid;
  // Packets carry a global route (GRH).
  bool is_global = false;
  std::uint16_t pkey_index = 0;
  // The entry's value; absent where the kernel does not report it.
  std::optional<std::uint16_t> pkey;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  // Flow label of the global route; kEachItsOwn gives each lane a different one.
  std::int64_t flow_label = 0;
  static constexpr std::int64_t kEachItsOwn = -1;

  // Returns the flow label of queue pair `lane`.
  [[nodiscard]] std::uint32_t flow_label_of(std::size_t lane) const;
};

// Reads the first `length` entries of the partition table below a port's folder
// (/sys/class/infiniband/DEV/ports/N); empty where the kernel does not report it.
std::vector<std::uint16_t> read_pkeys_from_sysfs(const std::string& sysfs_port, int length);
// Finds the entry with the key of parameter pkey ("0x8001"). kInvalidArgument: not a key;
// kFailedPrecondition, with the table's keys: not in the table. Pure.
Result<std::uint16_t> find_pkey(std::span<const std::uint16_t> table, const std::string& wanted);

// Reads the parameters of add_connection and checks them against the port. kInvalidArgument names
// the parameter.
Result<Addressing> choose_addressing(const Device& device, const Params& params);

// Returns the path of lane `lane` to the peer.
ibv_ah_attr path_to(const Addressing& addressing, const Device& device, const PeerAddress& peer,
                    std::size_t lane);

void report_addressing(const Addressing& addressing, Reporter& reporter);

}  // namespace railgauge::verbs
