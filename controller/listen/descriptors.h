// The descriptors of this process, and the share of them that TCP connections may use.
#pragma once

#include <sys/resource.h>

#include "kernels/core/base/result.h"

namespace railgauge {

// Accept returns the lowest free descriptor. A connection whose number is N therefore proves that
// all numbers below N are in use, whoever uses them: no count of what gRPC has closed is needed. A
// TCP connection keeps a number below `tcp_end` or is closed, so the numbers from there to `limit`
// are left to the unix socket, to HTTP and to SQLite.
struct DescriptorBudget {
  int limit = 0;        // descriptors that the process may have
  int tcp_crowded = 0;  // from this number on a new TCP connection closes an old one without a call
  int tcp_end = 0;      // a TCP connection has a smaller number
};
// Divides `limit`: a quarter of it, 16 to 256, is kept from TCP. Pure.
DescriptorBudget descriptor_budget(rlim_t limit);
// The budget at the present limit of the process.
DescriptorBudget descriptor_budget();

// Raises RLIMIT_NOFILE to its hard limit. Call it before any thread starts. kPermissionDenied: the
// kernel refuses.
Status raise_descriptor_limit();

}  // namespace railgauge
