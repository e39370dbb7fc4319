#include "kernels/gpu/handles.h"

#include <cstdio>

#include <fmt/format.h>

namespace railgauge::gpu {

// Plain stderr: a destructor has no reporter.
void note_release(std::string_view act, cu::Return returned) {
  if (returned == cu::kSuccess) return;
  fmt::print(stderr, "cuda: {}: error {}; the GPU may be gone\n", act, returned);
}

}  // namespace railgauge::gpu
