// A rank's memory as MPI gets it: host, device or managed; or staged, where MPI sees a host buffer
// and each message is copied to or from the GPU around it, as with GPUDirect off.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::mpi {

enum class Memory : std::uint8_t { kHost, kDevice, kManaged };
Memory memory_of(std::string_view word);

class Area {
 public:
  Area() = default;
  // Holds at least `bytes`. For GPU memory its context must be current; waives where memory is
  // lacking.
  static Result<Area> allocate(Memory memory, bool staged, std::string_view gpu, std::size_t bytes);

  // The memory that MPI receives as an argument.
  [[nodiscard]] std::byte* data() const { return data_; }
  // The host's view of the contents, whole after pull() and brought to the memory by push().
  [[nodiscard]] std::span<std::byte> view() const { return host_.span(); }
  void push(std::size_t offset, std::size_t bytes);
  void pull(std::size_t offset, std::size_t bytes);
  // Around a measured message: nothing but where messages are staged.
  void stage_out(std::size_t offset, std::size_t bytes) {
    if (staged_) pull(offset, bytes);
  }
  void stage_in(std::size_t offset, std::size_t bytes) {
    if (staged_) push(offset, bytes);
  }
  [[nodiscard]] bool staged() const { return staged_; }
  // Where messages are staged: the host's copy made wrong, so that a message which was not brought
  // from the GPU shows.
  void forget_host_copy() {
    if (staged_) std::ranges::fill(host_.span(), std::byte{0x5a});
  }
  // The first copy that failed.
  [[nodiscard]] const Status& status() const { return status_; }
  // The kind of memory that the driver reports for MPI's argument: "host", "device", "managed".
  [[nodiscard]] std::string observed() const;

 private:
  struct ManagedTraits {
    using Type = cu::DevicePtr;
    static Type empty() { return 0; }
    static void release(Type memory) { static_cast<void>(loaded_cuda().mem_free(memory)); }
  };

  HostBuffer host_;
  GpuBuffer device_;
  Handle<ManagedTraits> managed_;
  cu::DevicePtr gpu_ = 0;  // 0: host memory
  std::byte* data_ = nullptr;
  bool staged_ = false;
  Status status_;
};

}  // namespace railgauge::mpi
