// Quality of service of an interface, reported by netlink (DCB) to any user: the vendor's stack has
// files for it, the kernel's own stack has none.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"
#include "agent/inventory/sources/netlink.h"

namespace railgauge::agent {

// Reads these keys of NetDevice::qos; empty if the driver has no DCB. Waits up to 1 s.
//   "dcb/pfc"    priorities with flow control, "3" or "3 4"; "": none
//   "dcb/trust"  "dscp" where marks of the IP header choose a priority, else "pcp"
//   "dcb/dscp_map"  with "dscp" alone: marks whose priority is not their upper three bits, "46:3"
Facts read_dcb(const std::string& interface);

// Parses the kernel's answer, netlink messages of any content. Pure.
Facts dcb_facts_of(NetlinkBytes answer);

}  // namespace railgauge::agent
