// How packets find the other port: GID, partition, service level, traffic class, flow label.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "kernels/core/kernel.h"
#include "kernels/verbs/device.h"
#include "kernels/verbs/gid.h"
#include "kernels/verbs/peer.pb.h"

namespace railgauge::verbs {

struct Addressing {
  GidEntry gid;
  bool is_global = false;  // packets carry a global route
  std::uint16_t pkey_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::int64_t flow_label = 0;  // kEachItsOwn: another one for each lane
  static constexpr std::int64_t kEachItsOwn = -1;

  // Of queue pair `lane`.
  [[nodiscard]] std::uint32_t flow_label_of(std::size_t lane) const;
};

// From the parameters of add_connection, checked against the port. kInvalidArgument names the
// parameter.
Result<Addressing> choose_addressing(const Device& device, const Params& params);

// The path of lane `lane` to the peer.
ibv_ah_attr path_to(const Addressing& addressing, const Device& device, const PeerAddress& peer,
                    std::size_t lane);

void report_addressing(const Addressing& addressing, Reporter& reporter);

}  // namespace railgauge::verbs
