// One rank's side of communication that its GPU begins: the code built of NCCL's device headers,
// the device communicator, memory that all ranks see, and launches whose GPU times its own rounds.
// Calls wait for other ranks, so a Worker makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/handles.h"
#include "kernels/gpu/pattern.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/pinned_buffer.h"
#include "kernels/nccl/communicator/team.h"
#include "kernels/nccl/communicator/worker.h"
#include "kernels/nccl/stage.h"

namespace railgauge::nccl {

// The headers that this build's device code is made of. Only code on a GPU knows them: no part of
// the host's program is compiled with them.
struct GinHeaders {
  int release = 0;               // 22809 for 2.28.9
  std::uint64_t comm_bytes = 0;  // of their device communicator
  bool has_get = false;          // from 2.30.3 on
};

// Whether code of these headers may run with this library: of the same release, or the headers are
// of 2.30 or later and the library is newer. Later libraries refuse GIN to headers before 2.30.
// kUnimplemented names both. Pure.
Status check_headers(const GinHeaders& headers, int library_version);
// "GDAKI: the GPU writes the NIC's queues" for a number of ncclNetDeviceType.
std::string gin_kind_words(std::uint64_t kind);

// The rounds of one launch.
struct GinRounds {
  std::uint64_t message_bytes = 0;  // of the put or the get; 0: a signal alone
  std::uint64_t count = 0;          // at most GinSide::kMaxRounds
  bool numbered = false;  // each payload carries its round's number, compared on all ranks
};
// The times of rank 0's GPU, in ns a round; empty on other ranks, whose GPUs only pass the token
// on.
struct GinTimed {
  std::vector<double> rounds_ns;
  double took_ns = 0;  // all rounds, by the GPU's timer
};

// Not thread safe; its GPU's context is current. All references passed in outlive it. Released
// before its communicator ends.
class GinSide {
 public:
  // Loads the code and asks it for its headers. Waives without the headers or nvcc.
  static Result<std::unique_ptr<GinSide>> create(const gpu::Gpu& gpu, const Progress& progress,
                                                 double stall_ns);
  ~GinSide();

  [[nodiscard]] const GinHeaders& headers() const { return headers_; }
  // Allocates memory for messages of up to `bytes` to or from each of `ranks`.
  Status allocate(std::uint64_t bytes, std::uint32_t ranks);
  // On all ranks together, after allocate(): makes the memory a window, and the device
  // communicator. Waives where no NIC of the ranks can be used so, in NCCL's words.
  Status connect(const Communicator& comm);
  // Returns the kind of the connection for a fact. After connect().
  Result<std::string> kind();

  // Fills what this rank gives, and makes the bytes wrong where it receives.
  Status reset(std::uint32_t rank, std::uint64_t bytes, std::uint64_t seed);
  // Passes a token around all ranks. All of them call it with equal rounds, and each returns when
  // its GPU has passed the last one on. kDataLoss when a numbered round came with another's number
  // or more signals came than rounds, kDeadlineExceeded when a signal did not come within the stall
  // limit.
  Result<GinTimed> ring(std::uint32_t rank, const GinRounds& rounds);
  // Gets on this rank, from the others in turn; no other rank takes part. Only with headers that
  // have get. kDataLoss when a get ended before its first and last word had come: that is seen of
  // each get, all bytes by check_gets() alone.
  Result<GinTimed> get(const GinRounds& rounds);
  // kDataLoss when what came since reset() is wrong: of the ring on rank 0 its own bytes, which
  // were on all ranks; of gets those of each other rank that was asked.
  Status check_ring(std::uint64_t bytes, std::uint64_t seed);
  Status check_gets(std::uint64_t bytes, std::uint64_t seed);

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }

  static constexpr std::uint64_t kMaxRounds = 512;

 private:
  GinSide(const gpu::Gpu& gpu, const Progress& progress) : gpu_(&gpu), progress_(&progress) {}
  struct DeviceComm {
    nc::Comm comm = nullptr;
    void* made = nullptr;
    bool operator==(const DeviceComm&) const = default;
  };
  struct DeviceCommTraits {
    using Type = DeviceComm;
    static Type empty() { return {}; }
    static void release(Type one) {
      note_release("destroy the device communicator",
                   loaded_nccl().dev_comm_destroy(one.comm, one.made));
    }
  };

  Status make_device_comm(const Communicator& comm);
  // Launches and waits; the results' words come back.
  Status launch(cu::Function function, void** arguments, std::string_view act);
  Result<GinTimed> timed(const GinRounds& rounds, bool leads, std::string_view act);
  [[nodiscard]] std::byte* stop_word() const { return pinned_.data(); }
  // Places in the window: what is given, and what comes from each rank.
  [[nodiscard]] cu::DevicePtr given() const { return memory_.data(); }
  [[nodiscard]] std::uint64_t received_at(std::uint64_t place) const {
    return stride_ * (1 + place);
  }

  const gpu::Gpu* gpu_;
  const Progress* progress_;
  unsigned long long idle_cycles_ = 0;
  GinHeaders headers_;
  gpu::LoadedCode code_;
  cu::Function about_ = nullptr;
  cu::Function ring_ = nullptr;
  cu::Function get_ = nullptr;  // of headers with get
  std::optional<gpu::Pattern> pattern_;
  PinnedBuffer pinned_;  // the stop word
  gpu::Stream stream_;
  gpu::Event ended_;
  GpuBuffer words_;  // results, then the cycles of each round
  std::vector<unsigned long long> found_;
  Buffer memory_;
  std::uint64_t stride_ = 0;
  std::uint32_t ranks_ = 0;
  std::vector<std::byte> made_;  // NCCL's structure
  Handle<DeviceCommTraits> device_comm_;
  GpuBuffer device_copy_;     // of made_, for the GPU
  std::uint64_t rounds_ = 0;  // that came so far: the signal counts on
  std::uint64_t gets_ = 0;
  double span_ns_ = 0;  // of all launches, by the timer and by the clock: the rate of short ones
  double span_cycles_ = 0;
  std::uint64_t checked_gets_from_ = 0;  // the first since reset()
};

}  // namespace railgauge::nccl
