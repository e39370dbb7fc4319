#include "kernels/fakes/fake_gdrapi.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "kernels/dl/gdrapi.h"
#include "kernels/fakes/settings.h"

namespace railgauge::gdr {
struct SessionObject {};
}  // namespace railgauge::gdr

namespace gdr = railgauge::gdr;

extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, result, parameters) result symbol parameters;
RAILGAUGE_GDRAPI_REQUIRED(RAILGAUGE_DECLARE)
RAILGAUGE_GDRAPI_OPTIONAL(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}

namespace railgauge::fake {

GdrapiControl& gdrapi_control() {
  static GdrapiControl* control = [] {
    auto* made = new GdrapiControl;
    made->reset();
    return made;
  }();
  return *control;
}

void GdrapiControl::reset() {
  const std::array settings{Setting{"fail_call", fail_call, 0},
                            Setting{"fail_error", fail_error, EINVAL},
                            Setting{"no_driver", no_driver, 0},
                            Setting{"dmabuf_mmap", dmabuf_mmap, 0},
                            Setting{"mapping_type", mapping_type, gdr::kMappingWriteCombined},
                            Setting{"map_other", map_other, 0},
                            Setting{"ignores_mapping", ignores_mapping, 0},
                            Setting{"drops_end_of", drops_end_of, 0}};
  apply_settings(settings, "RAILGAUGE_FAKE_GDRAPI");
  calls = 0;
  copies = 0;
  asked_mapping = 0;
}

namespace {

constexpr std::uint64_t kGpuPage = 64U << 10U;

struct Pin {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  bool mapped = false;
  int asked = 0;                   // mapping type
  std::vector<std::byte> other{};  // mapped in its place
};
// NOLINTNEXTLINE(performance-no-int-to-ptr): the handle is a number in this interface
Pin& pin_of(gdr::Pinned handle) { return *reinterpret_cast<Pin*>(handle.handle); }

int enter() {
  GdrapiControl& control = gdrapi_control();
  return ++control.calls == control.fail_call ? static_cast<int>(control.fail_error) : 0;
}

int copy(gdr::Pinned handle, void* to, const void* from, std::size_t bytes) {
  if (handle.handle == 0 || !pin_of(handle).mapped) return EINVAL;
  ++gdrapi_control().copies;
  std::memcpy(to, from, bytes == gdrapi_control().drops_end_of ? bytes - 1 : bytes);
  return 0;
}

int released() {
  --gdrapi_control().live_handles;
  return 0;
}

}  // namespace
}  // namespace railgauge::fake

using railgauge::fake::enter;
using railgauge::fake::gdrapi_control;
namespace fake = railgauge::fake;

extern "C" {

void railgauge_synthetic_gdrapi() {}

gdr::Session gdr_open() {
  if (enter() != 0 || gdrapi_control().no_driver != 0) return nullptr;
  ++gdrapi_control().live_handles;
  return new gdr::SessionObject;
}

int gdr_close(gdr::Session session) {
  delete session;
  return fake::released();
}

int gdr_pin_buffer(gdr::Session, unsigned long address, std::size_t bytes, std::uint64_t,
                   std::uint32_t, gdr::Pinned* out) {
  if (const int failed = enter(); failed != 0) return failed;
  if (bytes == 0 || address % fake::kGpuPage != 0) return EINVAL;
  out->handle = reinterpret_cast<unsigned long>(new fake::Pin{.address = address, .bytes = bytes});
  ++gdrapi_control().live_handles;
  return 0;
}

int gdr_unpin_buffer(gdr::Session, gdr::Pinned handle) {
  delete &fake::pin_of(handle);
  return fake::released();
}

int gdr_map(gdr::Session, gdr::Pinned handle, void** out, std::size_t bytes) {
  if (const int failed = enter(); failed != 0) return failed;
  fake::Pin& pin = fake::pin_of(handle);
  if (pin.mapped) return EAGAIN;
  if (bytes > pin.bytes) return EINVAL;
  pin.mapped = true;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  *out = reinterpret_cast<void*>(pin.address);
  if (gdrapi_control().map_other != 0) {
    pin.other.assign(pin.bytes, std::byte{0x5c});
    *out = pin.other.data();
  }
  ++gdrapi_control().live_handles;
  return 0;
}

int gdr_map_v2(gdr::Session session, gdr::Pinned handle, void** out, std::size_t bytes, int asked) {
  gdrapi_control().asked_mapping = static_cast<std::uint64_t>(asked);
  const int mapped = gdr_map(session, handle, out, bytes);
  if (mapped == 0 && gdrapi_control().ignores_mapping == 0) fake::pin_of(handle).asked = asked;
  return mapped;
}

int gdr_unmap(gdr::Session, gdr::Pinned handle, void*, std::size_t) {
  fake::pin_of(handle).mapped = false;
  return fake::released();
}

int gdr_copy_to_mapping(gdr::Pinned handle, void* to, const void* from, std::size_t bytes) {
  return fake::copy(handle, to, from, bytes);
}

int gdr_copy_from_mapping(gdr::Pinned handle, void* to, const void* from, std::size_t bytes) {
  return fake::copy(handle, to, from, bytes);
}

void gdr_runtime_get_version(int* major, int* minor) {
  *major = 2;
  *minor = 6;
}

int gdr_driver_get_version(gdr::Session, int* major, int* minor) {
  *major = 2;
  *minor = 6;
  return enter();
}

int gdr_get_info_v2(gdr::Session, gdr::Pinned handle, gdr::Info* info) {
  if (const int failed = enter(); failed != 0) return failed;
  const fake::Pin& pin = fake::pin_of(handle);
  const int type = pin.asked != 0 ? pin.asked : static_cast<int>(gdrapi_control().mapping_type);
  *info = {};
  info->gpu_address = pin.address;
  info->mapped_size = (pin.bytes + fake::kGpuPage - 1) / fake::kGpuPage * fake::kGpuPage;
  info->page_size = static_cast<std::uint32_t>(fake::kGpuPage);
  info->mapped = pin.mapped ? 1 : 0;
  info->wc_mapping = type == gdr::kMappingWriteCombined ? 1 : 0;
  info->mapping_type = pin.mapped ? type : gdr::kMappingNone;
  return 0;
}

int gdr_get_attribute(gdr::Session, int which, int* value) {
  if (const int failed = enter(); failed != 0) return failed;
  if (which != gdr::kAttributeUsingDmaBufMmap) return EINVAL;
  *value = static_cast<int>(gdrapi_control().dmabuf_mmap);
  return 0;
}

}  // extern "C"
