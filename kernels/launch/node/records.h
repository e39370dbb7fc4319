// The records of an MPI task's rank 0, from the socket that its process connects to. A passive
// object; the owner polls.
#pragma once

#include <vector>

#include <poll.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge {

// The reader of one connection, the first of this user. Not thread safe.
class MpiRecords {
 public:
  explicit MpiRecords(Fd listener) : listener_(std::move(listener)) {}

  // Returns the records that have arrived, without waiting.
  std::vector<Record> read();
  // Adds no descriptor once rank 0 has closed its end, which would be readable for ever.
  void add_to(std::vector<pollfd>& set) const;

 private:
  Fd listener_;
  Fd connection_;
  FrameReader frames_;
};

}  // namespace railgauge
