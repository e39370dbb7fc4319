#include "kernels/gpu/slice.h"

#include <iterator>

#include <fmt/format.h>

#include "kernels/dl/library.h"

namespace railgauge::gpu {

std::string uuid_text(std::string_view kind, const cu::Uuid& uuid) {
  std::string out(kind);
  for (std::size_t i = 0; i < std::size(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return out;
}

// The driver's first function for a UUID answers with that of the whole GPU.
Result<std::string> slice_uuid(const Gpu& gpu) {
  if (gpu.slice().empty()) return "";
  using Ask = cu::Return (*)(cu::Uuid*, cu::Device);
  const Cuda& cuda = loaded_cuda();
  const Library library = RG_TRY(Library::open(cuda.path));
  cu::Uuid uuid{};
  const Ask ask = library.find<Ask>("cuDeviceGetUuid_v2");
  if (ask == nullptr || ask(&uuid, gpu.device()) != cu::kSuccess)
    return fail(Code::kFailedPrecondition,
                "{}: open: driver {} does not name the slice ({}), whose figures would mix with "
                "those of other slices; CUDA 11.4 and later drivers do",
                gpu.name(), cuda.version, gpu.model());
  return uuid_text("MIG-", uuid);
}

}  // namespace railgauge::gpu
