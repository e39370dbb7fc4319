// The fake NCCL's device communicator as the twins of kernels/nccl/gin/gin.cu read it: functions of
// libnccl-fake.so, which this library does not link.
#pragma once

#include <cstdint>

namespace railgauge::fake {

inline constexpr std::uint64_t kGinMagic = 0x7261696c67696e00;

struct GinComm {
  std::uint64_t magic = kGinMagic;
  int rank = 0;
  int ranks = 0;
  std::uint64_t kind = 0;  // of ncclNetDeviceType
  void* world = nullptr;
  // Copies to the same window of `to`, unless `bytes` is 0, and then signals it.
  void (*put)(void* world, int from, int to, std::uint64_t target, std::uint64_t source,
              std::uint64_t bytes) = nullptr;
  void (*get)(void* world, int to, int from, std::uint64_t source, std::uint64_t target,
              std::uint64_t bytes) = nullptr;
  std::uint64_t (*signals)(void* world, int rank) = nullptr;
};

}  // namespace railgauge::fake
