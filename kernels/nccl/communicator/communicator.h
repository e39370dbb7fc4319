// One rank's NCCL communicator, blocking: its calls return when the work is queued, and those that
// meet other ranks (joining, the first call of a kind, the end) when these have come. So they are
// made by a Worker. Whatever does not end in order is aborted, which also ends kernels that wait
// for a rank that is gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/nccl/communicator/worker.h"

namespace railgauge::nccl {

// The id that all ranks join with, as bytes; one rank makes it.
Result<std::string> make_unique_id();

class Communicator {
 public:
  // Joins `ranks` ranks as number `rank` with the GPU whose context is current; returns when all
  // have. Errors are NCCL's words. `gpu` and `progress` outlive it.
  static Result<Communicator> join(const gpu::Gpu& gpu, const Progress& progress,
                                   std::uint32_t ranks, std::uint32_t rank,
                                   const std::string& unique_id);

  Communicator() = default;  // of no ranks

  [[nodiscard]] nc::Comm get() const { return comm_.get(); }
  explicit operator bool() const { return static_cast<bool>(comm_); }

  // Converts the result of a call on this communicator. Where the site sets NCCL_COMM_BLOCKING=0,
  // calls continue in the background; this waits for them until `progress` is stopped.
  Status done(nc::Return returned, std::string_view act) const;
  // Returns a background error, such as a lost connection, in NCCL's words; ok without ranks. Any
  // thread may call it while the communicator lives.
  [[nodiscard]] Status health() const;

  // The orderly end, all ranks together. Without it the destructor aborts.
  Status finish();

 private:
  struct Traits {
    using Type = nc::Comm;
    static Type empty() { return nullptr; }
    static void release(Type comm) { static_cast<void>(loaded_nccl().comm_abort(comm)); }
  };

  const gpu::Gpu* gpu_ = nullptr;
  const Progress* progress_ = nullptr;
  Handle<Traits> comm_;
};

}  // namespace railgauge::nccl
