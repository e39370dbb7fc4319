// The data of a collective: typed elements in GPU memory, filled by a formula of (seed, rank,
// index) and compared with the expected result, both by the GPU (verify.cu).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::nccl {

// Returns the words of the parameter `datatype`: "float32", ...; the first is the default.
std::vector<std::string> datatype_names();
// Look up a type; end the process for an unknown name or type.
nc::DataType datatype_of(std::string_view name);
std::uint64_t bytes_of(nc::DataType type);
bool is_float8(nc::DataType type);

// Return or read the words of the parameter `reduction`: "sum", "prod", "max", "min", "avg".
std::vector<std::string> reduction_names();
nc::RedOp reduction_of(std::string_view name);

// The kind of input: bits that are only moved, or numbers that are reduced.
struct Values {
  nc::DataType type = nc::kFloat32;
  bool reduced = false;
  nc::RedOp reduction = nc::kSum;
  std::uint64_t seed = 0;
  std::uint32_t ranks = 1;
};

// In place of a source rank: the element is the reduction over all ranks.
inline constexpr int kReduced = -1;

// Elements [offset, offset + count) of a buffer are those of the input of rank `source` from index
// `first` on, or (kReduced) of the reduction over all ranks.
struct Segment {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  int source = kReduced;
  std::uint64_t first = 0;
};

// Fills and verifies. Synchronous; the GPU's context must be current. Not thread safe.
class Data {
 public:
  // Loads the code. Waives (kUnimplemented) without device code, or when the driver cannot load it.
  static Result<Data> create(const gpu::Gpu& gpu);

  // Writes the input of `rank`, elements from index 0 on.
  Status fill(cu::DevicePtr memory, std::uint64_t count, const Values& values, std::uint32_t rank);
  // Compares the segments; kDataLoss at the first with a wrong element: "`what`: element 17 is 3,
  // expected 5 (...)".
  Status verify(cu::DevicePtr memory, std::span<const Segment> segments, const Values& values,
                const std::string& what);

  // The same work put onto a stream, without a wait. A check writes into `first_wrong`, a 32-bit
  // word of GPU memory that is kNothingWrong before: the number of the first block of kBlock
  // elements with a wrong one.
  Status queue_fill(cu::Stream stream, cu::DevicePtr memory, std::uint64_t count,
                    const Values& values, std::uint32_t rank);
  Status queue_check(cu::Stream stream, cu::DevicePtr memory, const Segment& segment,
                     const Values& values, cu::DevicePtr first_wrong);
  static constexpr std::uint32_t kNothingWrong = 0xffffffff;  // as in verify.cu
  static constexpr std::uint64_t kBlock = 256;

  // Returns whether the segment's elements are those of `values`.
  Result<bool> holds(cu::DevicePtr memory, const Segment& segment, const Values& values);
  // Describes the first wrong element of a block: "element 17 is 3, expected 5 (from rank 1)".
  Result<std::string> difference(cu::DevicePtr memory, const Segment& segment, const Values& values,
                                 std::uint64_t block);

  // Returns the place of execution for a fact: "sm_90".
  [[nodiscard]] const std::string& runs_on() const { return code_.image(); }

 private:
  explicit Data(const gpu::Gpu& gpu) : gpu_(&gpu) {}
  // Puts one function of verify.cu onto a stream; `memory` is a buffer's begin.
  Status queue(cu::Stream stream, cu::Function function, unsigned blocks, cu::DevicePtr memory,
               const Segment& segment, const Values& values, std::initializer_list<void*> more);
  // Runs one on the default stream and waits for its end.
  Status launch(cu::Function function, unsigned blocks, cu::DevicePtr memory,
                const Segment& segment, const Values& values, std::initializer_list<void*> more);
  [[nodiscard]] unsigned blocks_for(std::uint64_t count) const;
  // Returns the first block with a wrong element, or kNothingWrong.
  Result<std::uint32_t> first_wrong_block(cu::DevicePtr memory, const Segment& segment,
                                          const Values& values);

  // Outlives this object.
  const gpu::Gpu* gpu_;
  gpu::LoadedCode code_;
  cu::Function fill_ = nullptr;
  cu::Function check_ = nullptr;
  cu::Function describe_ = nullptr;
  // Blocks of threads that keep the GPU busy.
  unsigned most_blocks_ = 1;
  // The first wrong block, or what difference() found.
  GpuBuffer scratch_;
};

}  // namespace railgauge::nccl
