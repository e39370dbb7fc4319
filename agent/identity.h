// The identity of this agent: a random node id that is stored in the state folder, and a random
// incarnation for each start. The folder is locked, so that two agents never share an identity or a
// spool.
#pragma once

#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// The identity and the lock that protects it.
struct Identity {
  std::string node_id;
  std::string incarnation;
  Fd lock;  // held until the agent ends
};

// 128 random bits as 32 hex digits.
std::string random_id();

// Creates the folder if needed, locks it, and reads or creates the id. kAlreadyExists: another
// agent holds the folder. kPermissionDenied: the folder cannot be created or written. kDataLoss:
// the stored id does not parse.
Result<Identity> load_identity(const std::string& state_dir);

}  // namespace railgauge::agent
