// NVML's table. Its results are few; most of them mean that this GPU or driver lacks a figure.
#include "kernels/dl/nvml.h"

#include <fmt/format.h>

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Nvml> g_nvml;

// kGpuIsLost and all unknown results are kInternal.
Code code_of_result(ml::Return returned) {
  switch (returned) {
    case ml::kNotSupported:
      return Code::kUnimplemented;
    case ml::kNoPermission:
      return Code::kPermissionDenied;
    case ml::kNotFound:
      return Code::kNotFound;
    case ml::kDriverNotLoaded:
    case ml::kVersionMismatch:
      return Code::kFailedPrecondition;
    default:
      return Code::kInternal;
  }
}

}  // namespace

// nvmlErrorString is bound apart: it returns no nvmlReturn_t, as the rows of the table do.
Result<Nvml> bind_nvml(const std::string& name) {
  const Library library = RG_TRY(Library::open(name, "NVML", "it comes with the NVIDIA driver"));
  Nvml table;
  RAILGAUGE_NVML_REQUIRED(RAILGAUGE_BIND)
  RAILGAUGE_NVML_OPTIONAL(RAILGAUGE_FIND)
  RAILGAUGE_BIND(error_string, nvmlErrorString)
  describe_library(library, kSyntheticNvmlMarker, table);
  return table;
}

Result<const Nvml*> load_nvml() {
  return g_nvml.load(bind_nvml, kNvmlLibrary, kNvmlLibraryVariable);
}

const Nvml& loaded_nvml() { return g_nvml.loaded(); }

Status nvml_status(const Nvml& nvml, ml::Return returned, std::string_view act) {
  if (returned == ml::kSuccess) return {};
  const char* words = nvml.error_string(returned);
  return fail(code_of_result(returned),
              fmt::format("{}: {} (NVML error {})", act,
                          words != nullptr ? words : "no description", returned));
}

// nvmlInit_v2 counts its callers, so each use calls it again.
Result<NvmlUse> use_nvml() {
  const Nvml& nvml = *RG_TRY(load_nvml());
  RG_TRY_OK(nvml_status(nvml, nvml.init(), "NVML: initialise"));
  return NvmlUse(true);
}

}  // namespace railgauge
