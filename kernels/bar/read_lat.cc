// Latency of CPU loads from GPU memory through the BAR: from before the first load until the last
// has its data, which came over PCIe. A sample is one read; one reading of the clock (the fact
// clock_overhead_ns) is inside. The GPU writes the pattern, the CPU compares what it read.
#include "kernels/bar/copy_kernel.h"

namespace railgauge::bar {
namespace {

// The largest size is 64 KiB: beyond it bar.read_bw has the figure.
KernelInfo info() {
  return InfoBuilder("bar.read_lat", 1,
                     "CPU reads of GPU memory through the PCIe BAR: time until the data is there")
      .endpoint("gpu")
      .metrics({"latency_ns"})
      .sizes("4,8,64,256,1KiB,4KiB,16KiB,64KiB")
      .apply([](InfoBuilder& builder) { add_copy_parameters(builder, 1000, 100'000); })
      .build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarReadLat;
const KernelRow kBarReadLat{bar::info, []() -> std::unique_ptr<Kernel> {
                              return bar::make_copy_kernel(bar::CopyDirection::kRead,
                                                           bar::CopyFigure::kLatency);
                            }};
}  // namespace railgauge
