// Gives a descriptor from one process of a host to another, by a socket without a file: the giver
// waits at a name that nobody can guess, and gives to one caller of its own user.
#pragma once

#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::cuda {

// The giver's side. Not thread safe.
class DescriptorPost {
 public:
  // Opens the socket at a name of its own; kResourceExhausted.
  static Result<DescriptorPost> open();
  [[nodiscard]] const std::string& name() const { return name_; }
  // Waits for a caller until the time and gives it the descriptor. A caller of another user gets
  // nothing and is no error. kDeadlineExceeded.
  Status give(const Fd& descriptor, double until_monotonic_ns) const;

 private:
  Fd socket_;
  std::string name_;
};

// Fetches the descriptor at a name. kUnavailable where nobody gives one by the time.
Result<Fd> fetch_descriptor(const std::string& name, double until_monotonic_ns);

}  // namespace railgauge::cuda
