// Latency of CPU stores to GPU memory through the BAR: from before the first store until the store
// fence after the last has retired. Its meaning is `posted`: the stores have left the CPU; the
// moment when the GPU sees them is unknown (bar.ping_pong measures it). A sample is one write; one
// reading of the clock (the fact clock_overhead_ns) is inside. The GPU compares the written bytes.
#include "kernels/bar/copy_kernel.h"

namespace railgauge::bar {
namespace {

// The sizes of bar.read_lat, so that both directions can be compared.
KernelInfo info() {
  return InfoBuilder("bar.write_lat", 1,
                     "CPU writes to GPU memory through the PCIe BAR: time until they left the CPU")
      .endpoint("gpu")
      .metrics({"latency_ns"})
      .sizes("4,8,64,256,1KiB,4KiB,16KiB,64KiB")
      .apply([](InfoBuilder& builder) { add_copy_parameters(builder, 1000, 100'000); })
      .build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarWriteLat;
const KernelRow kBarWriteLat{bar::info, []() -> std::unique_ptr<Kernel> {
                               return bar::make_copy_kernel(bar::CopyDirection::kWrite,
                                                            bar::CopyFigure::kLatency);
                             }};
}  // namespace railgauge
