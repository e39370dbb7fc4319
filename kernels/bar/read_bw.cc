// Bandwidth of CPU loads from GPU memory through the BAR, one thread. A sample is the time of one
// copy, or of `repeat` small ones, to host memory. Each load waits for its data to come over PCIe,
// so the figure is a round trip's time shared by as many loads as the CPU keeps in flight. The GPU
// writes the pattern, the CPU compares what the timed copies read.
#include "kernels/bar/copy_kernel.h"

namespace railgauge::bar {
namespace {

// Fewer samples than a write's: a read of 16 MiB takes some 16 ms.
KernelInfo info() {
  return InfoBuilder("bar.read_bw", 1, "CPU reads of GPU memory through the PCIe BAR: bandwidth")
      .endpoint("gpu")
      .metrics({"bandwidth_bytes_per_second"})
      .sizes("4KiB,64KiB,1MiB,16MiB")
      .apply([](InfoBuilder& builder) { add_copy_parameters(builder, 30, 10'000); })
      .build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarReadBw;
const KernelRow kBarReadBw{bar::info, []() -> std::unique_ptr<Kernel> {
                             return bar::make_copy_kernel(bar::CopyDirection::kRead,
                                                          bar::CopyFigure::kBandwidth);
                           }};
}  // namespace railgauge
