// Bandwidth of CPU stores to GPU memory through the BAR, one thread. A sample is the time of one
// copy, or of `repeat` small ones, from host memory that is warm in the CPU's caches, to one place
// of GPU memory. Each copy ends in a store fence inside the sample, so that no store of it waits in
// the CPU when the clock is read; PCIe writes are posted, so the GPU may see the last of them
// later. The GPU compares the bytes of the timed copies.
#include "kernels/bar/copy_kernel.h"

namespace railgauge::bar {
namespace {

// More samples than a read's: a write takes about a twentieth of its time.
KernelInfo info() {
  return InfoBuilder("bar.write_bw", 1, "CPU writes to GPU memory through the PCIe BAR: bandwidth")
      .endpoint("gpu")
      .metrics({"bandwidth_bytes_per_second"})
      .sizes("4KiB,64KiB,1MiB,16MiB")
      .apply([](InfoBuilder& builder) { add_copy_parameters(builder, 100, 10'000); })
      .build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarWriteBw;
const KernelRow kBarWriteBw{bar::info, []() -> std::unique_ptr<Kernel> {
                              return bar::make_copy_kernel(bar::CopyDirection::kWrite,
                                                           bar::CopyFigure::kBandwidth);
                            }};
}  // namespace railgauge
