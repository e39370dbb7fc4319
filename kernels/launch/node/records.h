// The records of rank 0 of an MPI task, from the socket that its process connects to. A passive
// object; the owner polls.
#pragma once

#include <vector>

#include <poll.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge {

// Not thread safe. The first connection of this user counts.
class MpiRecords {
 public:
  explicit MpiRecords(Fd listener) : listener_(std::move(listener)) {}

  // Whatever is there, without waiting.
  std::vector<Record> read();
  // Nothing more is polled for once rank 0 has closed its end: it would be readable for ever.
  void add_to(std::vector<pollfd>& set) const;

 private:
  Fd listener_;
  Fd connection_;
  FrameReader frames_;
};

}  // namespace railgauge
