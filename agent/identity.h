// Who this agent is: a random node id that lives in the state folder, and a random incarnation for
// each start. The folder is locked, so that two agents never share an identity or a spool.
#pragma once

#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

struct Identity {
  std::string node_id;
  std::string incarnation;
  Fd lock;  // held as long as the agent lives
};

// 128 random bits as 32 hex digits.
std::string random_id();

// Makes the folder if needed, locks it, reads the id or makes one. Errors: kAlreadyExists when
// another agent holds the folder, kPermissionDenied when it cannot be made or written, kDataLoss
// when the stored id is no id.
Result<Identity> load_identity(const std::string& state_dir);

}  // namespace railgauge::agent
