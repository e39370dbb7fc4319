// GPU memory as a dma-buf: a file descriptor by which another driver, a NIC's, reaches it.
#pragma once

#include <string_view>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge {

// Exports the whole buffer, whose first byte is the export's. The owner may close it once it is
// registered. Errors name the call and its result; kUnimplemented where the driver has no such
// call. `gpu` ("gpu0") appears in messages. The GPU's context must be current.
Result<Fd> export_dmabuf(std::string_view gpu, const GpuBuffer& buffer);

}  // namespace railgauge
