// One rank's NCCL communicator, non-blocking: no call of it waits beyond a deadline. Whatever does
// not end in order is aborted, which also ends kernels that wait for a rank that is gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/handle.h"
#include "kernels/core/result.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"

namespace railgauge::nccl {

// The id that all ranks join with, as bytes; one rank makes it.
Result<std::string> make_unique_id();

class Communicator {
 public:
  // Joins `ranks` ranks as number `rank` with the GPU whose context is current; all ranks must
  // call. kDeadlineExceeded when they have not by then, kInternal and others with NCCL's words.
  static Result<Communicator> join(const gpu::Gpu& gpu, std::uint32_t ranks, std::uint32_t rank,
                                   const std::string& unique_id, double deadline_monotonic_ns);

  Communicator() = default;  // of no ranks

  [[nodiscard]] nc::Comm get() const { return comm_.get(); }

  // What a call on this communicator returned, as a Status; one that goes on in the background (as
  // the first of its kind does, which connects) is waited for.
  Status done(nc::Return returned, std::string_view act, double deadline_monotonic_ns) const;
  // What went wrong in the background, as a lost connection: in NCCL's words.
  [[nodiscard]] Status health(std::string_view act) const;
  // Returns when the event was reached; kDeadlineExceeded at the deadline; health() before.
  Status wait(const gpu::Event& event, double deadline_monotonic_ns, std::string_view act) const;

  // The orderly end, all ranks together. Without it the destructor aborts.
  Status finish(double deadline_monotonic_ns);

 private:
  struct Traits {
    using Type = nc::Comm;
    static Type empty() { return nullptr; }
    static void release(Type comm) { static_cast<void>(loaded_nccl().comm_abort(comm)); }
  };

  const gpu::Gpu* gpu_ = nullptr;  // outlives this
  Handle<Traits> comm_;
};

}  // namespace railgauge::nccl
