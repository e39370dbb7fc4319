// The choice between machine code and PTX, and the driver that each needs.
#include "kernels/gpu/device_code.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace railgauge::gpu {
namespace {

// A PTX version (32 is 3.2), the first CUDA release whose driver reads it (4010 is 4.1), and that
// release's driver.
struct Release {
  int ptx_version;
  int cuda;
  const char* driver;
};
// PTX ISA manual, release history; CUDA toolkit release notes, drivers for Linux on x86-64.
constexpr std::array kReleases{
    Release{30, 4010, "285.05"},  Release{31, 5000, "304.54"},  Release{32, 5050, "319.37"},
    Release{40, 6000, "331.62"},  Release{41, 6050, "340.29"},  Release{42, 7000, "346.46"},
    Release{43, 7050, "352.31"},  Release{50, 8000, "367.48"},  Release{60, 9000, "384.81"},
    Release{61, 9010, "390.46"},  Release{62, 9020, "396.26"},  Release{63, 10000, "410.48"},
    Release{64, 10010, "418.39"}, Release{65, 10020, "440.33"}, Release{70, 11000, "450.36"},
    Release{71, 11010, "455.23"}, Release{72, 11020, "460.27"}, Release{73, 11030, "465.19"},
    Release{74, 11040, "470.42"}, Release{75, 11050, "495.29"}, Release{76, 11060, "510.39"},
    Release{77, 11070, "515.43"}, Release{78, 11080, "520.61"}, Release{80, 12000, "525.60"},
    Release{81, 12010, "530.30"}, Release{82, 12020, "535.54"}, Release{83, 12030, "545.23"},
    Release{84, 12040, "550.54"}, Release{85, 12050, "555.42"}, Release{86, 12070, "565.57"},
    Release{87, 12080, "570.26"}, Release{88, 12090, "575.51"}, Release{90, 13000, "580.65"}};

// The best machine code for the GPU: same major capability, at most its minor one (CUDA's rule of
// binary compatibility). nullptr where none fits.
const CubinImage* fitting(const Gpu& gpu, const DeviceCode& code) {
  const CubinImage* best = nullptr;
  for (const CubinImage& image : code.cubins) {
    const bool runs =
        image.capability / 10 == gpu.capability() / 10 && image.capability <= gpu.capability();
    if (runs && (best == nullptr || image.capability > best->capability)) best = &image;
  }
  return best;
}

// 90 as "9.0".
std::string dotted(int tens) { return fmt::format("{}.{}", tens / 10, tens % 10); }

// Waives with the reason when the driver cannot read the PTX, or the GPU is older than the code.
Status check_driver(const Gpu& gpu, const DeviceCode& code) {
  const int needed = cuda_release_of_ptx(code.ptx_version);
  if (needed > loaded_cuda().driver_version)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: load device code: driver {} (CUDA {}) cannot read it; driver {} (CUDA "
                    "{}) or later can",
                    gpu.name(), loaded_cuda().version, cuda_release(loaded_cuda().driver_version),
                    first_driver_of(needed), cuda_release(needed)));
  if (gpu.capability() < code.ptx_capability)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: load device code: compute capability {} is below {}, the lowest that "
                    "this build has code for",
                    gpu.name(), dotted(gpu.capability()), dotted(code.ptx_capability)));
  return {};
}

}  // namespace

// Never below kOldestCudaRelease, which the table of functions needs anyway.
int cuda_release_of_ptx(int ptx_version) {
  const auto found = std::ranges::find_if(
      kReleases, [&](const Release& r) { return r.ptx_version >= ptx_version; });
  return found == kReleases.end() ? 0 : std::max(found->cuda, kOldestCudaRelease);
}

std::string first_driver_of(int cuda_release) {
  const auto found =
      std::ranges::find_if(kReleases, [&](const Release& r) { return r.cuda >= cuda_release; });
  return found == kReleases.end() ? "unknown" : found->driver;
}

// The needs of all codes together: the newest release counts.
std::string driver_needed(std::span<const DeviceCode* const> codes) {
  int release = 0;
  for (const DeviceCode* code : codes) {
    if (code->ptx.empty()) return "none, built without nvcc";
    const int needed = cuda_release_of_ptx(code->ptx_version);
    if (needed == 0) return "driver unknown";
    release = std::max(release, needed);
  }
  return fmt::format("driver {} (CUDA {}) or later", first_driver_of(release),
                     cuda_release(release));
}

// Machine code needs a driver at least as new as the compiler; PTX is compiled by the driver.
Result<LoadedCode> LoadedCode::load(const Gpu& gpu, const DeviceCode& code) {
  const Cuda& cuda = loaded_cuda();
  LoadedCode loaded;
  loaded.source_ = fmt::format("{}: device code {}", gpu.name(), code.name);
  if (code.ptx.empty() || cuda.is_hip) {
    // A fake driver takes any image: it runs its own twins of our functions. So a build without
    // nvcc has its kernels tested all the same.
    cu::Module twins = nullptr;
    if (!cuda.synthetic || cuda.module_load_data(&twins, code.name) != cu::kSuccess)
      return fail(
          Code::kUnimplemented,
          cuda.is_hip
              ? fmt::format("{}: load device code: this build has none for AMD's GPUs", gpu.name())
              : fmt::format("{}: load device code: this build has none, {} was not there; {}",
                            gpu.name(), code.lacking,
                            std::string_view(code.lacking) == "nvcc"
                                ? "build with the CUDA toolkit"
                                : "build where nvcc finds it"));
    loaded.module_ = Module(twins);
    loaded.image_ = "twins of the fake driver";
    return loaded;
  }
  const CubinImage* cubin = fitting(gpu, code);
  const void* image = nullptr;
  if (cubin != nullptr && cuda.driver_version >= code.toolkit_version) {
    image = cubin->bytes.data();
    loaded.image_ = fmt::format("sm_{}", cubin->capability);
  } else {
    RG_TRY_OK(check_driver(gpu, code));
    image = code.ptx.data();
    loaded.image_ = fmt::format("ptx {} for {}, compiled by the driver", dotted(code.ptx_version),
                                dotted(code.ptx_capability));
  }
  cu::Module raw = nullptr;
  RG_TRY_OK(gpu_status(gpu, cuda.module_load_data(&raw, image),
                       fmt::format("load device code {} ({})", code.name, loaded.image_)));
  loaded.module_ = Module(raw);
  return loaded;
}

// A missing function is a defect of the build, so it does not waive.
Result<cu::Function> LoadedCode::function(const char* name) const {
  cu::Function function = nullptr;
  const cu::Return returned = loaded_cuda().module_get_function(&function, module_.get(), name);
  if (returned == cu::kSuccess) return function;
  Status found = cuda_status(loaded_cuda(), returned, fmt::format("{}: find {}", source_, name));
  if (returned == cu::kNotFound) found.error().code = Code::kInternal;
  return tl::unexpected(found.error());
}

}  // namespace railgauge::gpu
