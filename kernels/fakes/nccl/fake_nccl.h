// NCCL without hardware: libnccl-fake.so, loaded through RAILGAUGE_LIBNCCL, on the fake driver's
// streams and memory. Ranks are threads of one process or, with `processes`, of several on one
// host, which meet in shared memory. It actually moves and reduces the data, so that verification
// is real, and blocks as NCCL does: joining, and a communicator's first call, return when all ranks
// came. libnccl-old-fake.so is the same without the additions of releases after 2.18. Points are
// marked `synthetic`.
//
// Tests link it and control it here; other processes by RAILGAUGE_FAKE_NCCL=NAME=VALUE,... with the
// names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace railgauge::fake {

struct NcclControl {
  // Calls since reset() that could fail: all except releases, error texts, and queries of a
  // communicator's state.
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> fail_call{0};  // this call fails, once; 0: none
  // From this call on all fail, releases and queries of a state too, as with a GPU that is gone; 0:
  // none. A release frees its object nevertheless.
  std::atomic<std::uint64_t> fail_from{0};
  std::atomic<std::uint64_t> fail_error{3};  // with this ncclResult_t

  // Live objects.
  std::atomic<std::int64_t> communicators{0};
  std::atomic<std::int64_t> registrations{0};
  std::atomic<std::int64_t> windows{0};
  std::atomic<std::int64_t> memories{0};
  std::atomic<std::int64_t> device_comms{0};
  [[nodiscard]] std::int64_t live_handles() const {
    return communicators + registrations + windows + memories + device_comms;
  }

  std::atomic<std::uint64_t> async_error{0};  // a communicator's state, once all ranks have joined
  // The rank, counted from 1, in which a call hangs until nccl_release(); 0: none. The call is the
  // join, the first call of a collective, an abort, or the GPU's part of collective number stuck_at
  // (from 1).
  std::atomic<std::uint64_t> hang_join_of{0};
  std::atomic<std::uint64_t> hang_call_of{0};
  std::atomic<std::uint64_t> hang_abort_of{0};
  std::atomic<std::uint64_t> stuck_of{0};
  std::atomic<std::uint64_t> stuck_at{1};
  std::atomic<std::uint64_t> skip_call{0};  // this collective (from 1) moves nothing; 0: none
  std::atomic<std::uint64_t> slow_us{0};    // least duration of each collective
  // One of `fault_every` results of rank fault_of (from 1; 0: none) suffers: 1 a wrong bit, 2
  // it does not arrive, 3 the one before arrives in its place, 4 it and the next one arrive in each
  // other's place.
  std::atomic<std::uint64_t> fault{0};
  std::atomic<std::uint64_t> fault_of{0};
  std::atomic<std::uint64_t> fault_every{1};
  // The connections in the debug output: 0 copies between GPUs, 1 a network with GPUDirect RDMA, 2
  // a network without it.
  std::atomic<std::uint64_t> told_network{0};
  std::atomic<std::uint64_t> no_windows{0};  // not 0: symmetric memory is not possible
  std::atomic<std::uint64_t> version{0};     // 22809 for 2.28.9
  // GPU-initiated networking: 1 no NIC for it, 2 an error of one that names GIN too.
  std::atomic<std::uint64_t> no_gin{0};
  // From this transfer of a GPU on (from 1): 1 a wrong bit, 2 the bytes do not arrive, 3 the signal
  // does not, 4 it does twice.
  std::atomic<std::uint64_t> gin_fault{0};
  std::atomic<std::uint64_t> gin_fault_from{0};
  std::atomic<std::uint64_t> gin_transfers{0};  // since reset()
  // Makes unique ids for ranks in separate processes: NCCL's own calls up to 64 KiB a rank, without
  // sends and receives.
  std::atomic<std::uint64_t> processes{0};
  std::atomic<bool> released{false};          // until reset()
  std::atomic<std::int64_t> waiting{0};       // calls that wait for other ranks, or hang
  std::atomic<std::uint64_t> collectives{0};  // done by all ranks since reset()
  std::atomic<std::uint64_t> messages{0};     // sent and received since reset()
  std::atomic<std::uint64_t> aborts{0};       // since reset()
  std::atomic<std::uint64_t> splits{0};       // since reset(), by all ranks
  std::atomic<std::uint64_t> grouped{0};      // collectives that were queued inside of a group
  std::atomic<int> cta_policy{0};             // of the communicator that was made last

  // Resets to the values in RAILGAUGE_FAKE_NCCL; live objects stay.
  void reset();
};

// Returns the control of the loaded library, one a process.
NcclControl& nccl_control();

// Makes every call that waits or hangs return with an error; false when one has not returned after
// `seconds`.
bool nccl_release(double seconds);

}  // namespace railgauge::fake
