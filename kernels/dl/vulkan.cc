// The Vulkan loader's table, and the meaning of its results.
#include "kernels/dl/vulkan.h"

#include <fmt/format.h>

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Vulkan> g_vulkan;

// One result, its name in the API, and its remedy where it is known.
struct ResultWords {
  vk::Return result;
  const char* name;
  const char* help;
};
// Results that mean a lack of the machine or driver: these waive.
// NOLINTNEXTLINE(modernize-avoid-c-arrays)
constexpr ResultWords kResultWords[] = {
    {vk::kOutOfHostMemory, "VK_ERROR_OUT_OF_HOST_MEMORY", ""},
    {vk::kOutOfDeviceMemory, "VK_ERROR_OUT_OF_DEVICE_MEMORY", ""},
    {vk::kInitializationFailed, "VK_ERROR_INITIALIZATION_FAILED", ""},
    {vk::kMemoryMapFailed, "VK_ERROR_MEMORY_MAP_FAILED", ""},
    {vk::kLayerNotPresent, "VK_ERROR_LAYER_NOT_PRESENT", ""},
    {vk::kFeatureNotPresent, "VK_ERROR_FEATURE_NOT_PRESENT", ""},
    {vk::kExtensionNotPresent, "VK_ERROR_EXTENSION_NOT_PRESENT", ""},
    {vk::kIncompatibleDriver, "VK_ERROR_INCOMPATIBLE_DRIVER",
     "; the loader finds no driver: install the NVIDIA driver's Vulkan part (nvidia_icd.json and "
     "libGLX_nvidia), in a container ask for the capability graphics"},
};

}  // namespace

// Binds the loader's own exports; functions of extensions come from vkGetDeviceProcAddr.
Result<Vulkan> bind_vulkan(const std::string& name) {
  const Library library = RG_TRY(Library::open(name, "Vulkan loader", "install libvulkan1"));
  Vulkan table;
  RAILGAUGE_VULKAN_ROWS(RAILGAUGE_BIND)
  describe_library(library, kSyntheticVulkanMarker, table);
  return table;
}

Result<const Vulkan*> load_vulkan() {
  return g_vulkan.load(bind_vulkan, kVulkanLibrary, kVulkanLibraryVariable);
}

const Vulkan& loaded_vulkan() { return g_vulkan.loaded(); }

// Vulkan has no function that names a result, so the names are here.
Status vulkan_status(vk::Return returned, std::string_view act) {
  if (returned == vk::kSuccess) return {};
  for (const ResultWords& meaning : kResultWords)
    if (meaning.result == returned)
      return fail(Code::kFailedPrecondition,
                  fmt::format("{}: {} ({}){}", act, meaning.name, returned, meaning.help));
  const char* name = returned == vk::kDeviceLost ? "VK_ERROR_DEVICE_LOST" : "Vulkan error";
  return fail(Code::kInternal, fmt::format("{}: {} ({})", act, name, returned));
}

}  // namespace railgauge
