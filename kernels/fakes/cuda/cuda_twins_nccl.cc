// The device functions of kernels/nccl/verify.cu, compiled from the source itself: one thread that
// does the whole grid's work.
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

struct Index {
  unsigned x;
};
constexpr Index blockIdx{0};   // NOLINT(readability-identifier-naming): CUDA's names
constexpr Index threadIdx{0};  // NOLINT(readability-identifier-naming)
constexpr Index blockDim{1};   // NOLINT(readability-identifier-naming)
constexpr Index gridDim{1};    // NOLINT(readability-identifier-naming)

// NOLINTNEXTLINE(readability-identifier-naming)
inline void atomicMin(unsigned* word, unsigned value) {
  if (value < *word) *word = value;
}

#define __device__  // NOLINT(bugprone-reserved-identifier)
#define __global__  // NOLINT(bugprone-reserved-identifier)
#include "kernels/nccl/verify.cu"
#undef __device__
#undef __global__

std::function<void()> fill(const Launch& launch) {
  const auto memory = launch.argument<unsigned char*>(0);
  const auto count = launch.argument<Word>(1);
  const auto format = launch.argument<unsigned>(2);
  const auto mode = launch.argument<unsigned>(3);
  const auto seed = launch.argument<Word>(4);
  const auto ranks = launch.argument<Word>(5);
  const auto rank = launch.argument<Word>(6);
  const auto first = launch.argument<Word>(7);
  return [=] { railgauge_nccl_fill(memory, count, format, mode, seed, ranks, rank, first); };
}

std::function<void()> check(const Launch& launch) {
  const auto memory = launch.argument<const unsigned char*>(0);
  const auto count = launch.argument<Word>(1);
  const auto format = launch.argument<unsigned>(2);
  const auto mode = launch.argument<unsigned>(3);
  const auto seed = launch.argument<Word>(4);
  const auto ranks = launch.argument<Word>(5);
  const auto source = launch.argument<long long>(6);
  const auto first = launch.argument<Word>(7);
  const auto first_wrong = launch.argument<unsigned*>(8);
  return [=] {
    railgauge_nccl_check(memory, count, format, mode, seed, ranks, source, first, first_wrong);
  };
}

std::function<void()> tell(const Launch& launch) {
  const auto memory = launch.argument<const unsigned char*>(0);
  const auto count = launch.argument<Word>(1);
  const auto format = launch.argument<unsigned>(2);
  const auto mode = launch.argument<unsigned>(3);
  const auto seed = launch.argument<Word>(4);
  const auto ranks = launch.argument<Word>(5);
  const auto source = launch.argument<long long>(6);
  const auto first = launch.argument<Word>(7);
  const auto block = launch.argument<Word>(8);
  const auto found = launch.argument<Word*>(9);
  return [=] {
    railgauge_nccl_tell(memory, count, format, mode, seed, ranks, source, first, block, found);
  };
}

std::array g_functions{cu::FunctionObject{"railgauge_nccl_fill", fill},
                       cu::FunctionObject{"railgauge_nccl_check", check},
                       cu::FunctionObject{"railgauge_nccl_tell", tell}};

}  // namespace

cu::Function nccl_twin_named(std::string_view name) {
  for (cu::FunctionObject& function : g_functions)
    if (name == function.name) return &function;
  return nullptr;
}

}  // namespace railgauge::fake
