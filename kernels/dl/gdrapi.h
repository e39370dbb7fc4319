// GDRCopy's library, as far as we call it: declared here and loaded at run time. It maps GPU memory
// for the CPU through the kernel module gdrdrv. gdrapi_abi_test.cc compares every declaration with
// the vendor's header where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

// The library's types and numbers under our own names, so that a test can include both headers.
namespace railgauge::gdr {

// gdr_t: an open session with the module.
using Session = struct SessionObject*;

// gdr_mh_t, passed by value: a handle of pinned pages.
struct Pinned {
  unsigned long handle = 0;
};

// gdr_info_v2_t. Sizes are bytes. Releases before 2.5 do not write mapping_type.
struct Info {
  std::uint64_t gpu_address = 0;  // of the first page that is mapped
  std::uint64_t mapped_size = 0;
  std::uint32_t page_size = 0;
  std::uint64_t tm_cycles = 0;
  std::uint32_t cycles_per_ms = 0;
  unsigned mapped : 1 = 0;
  unsigned wc_mapping : 1 = 0;
  int mapping_type = 0;
};

// gdr_mapping_type_t
inline constexpr int kMappingNone = 0;
inline constexpr int kMappingWriteCombined = 1;
inline constexpr int kMappingCached = 2;
inline constexpr int kMappingDevice = 3;

// gdr_map_flags_t: the caching that gdr_map_v2 asks for; 0 leaves it to the module. Their numbers
// are those of gdr_mapping_type_t.
inline constexpr int kMapDefault = 0;

// gdr_attr_t
inline constexpr int kAttributeUsingDmaBufMmap = 3;

}  // namespace railgauge::gdr

// One row a function: slot, exported symbol, result, parameters. An `int` result is 0 or an errno.
// The oldest release with all required functions is 2.0.
#define RAILGAUGE_GDRAPI_REQUIRED(ROW)                                                        \
  ROW(open, gdr_open, gdr::Session, ())                                                       \
  ROW(close, gdr_close, int, (gdr::Session))                                                  \
  ROW(pin_buffer, gdr_pin_buffer, int,                                                        \
      (gdr::Session, unsigned long, std::size_t, std::uint64_t, std::uint32_t, gdr::Pinned*)) \
  ROW(unpin_buffer, gdr_unpin_buffer, int, (gdr::Session, gdr::Pinned))                       \
  ROW(map, gdr_map, int, (gdr::Session, gdr::Pinned, void**, std::size_t))                    \
  ROW(unmap, gdr_unmap, int, (gdr::Session, gdr::Pinned, void*, std::size_t))                 \
  ROW(copy_to, gdr_copy_to_mapping, int, (gdr::Pinned, void*, const void*, std::size_t))      \
  ROW(copy_from, gdr_copy_from_mapping, int, (gdr::Pinned, void*, const void*, std::size_t))  \
  ROW(runtime_get_version, gdr_runtime_get_version, void, (int*, int*))                       \
  ROW(driver_get_version, gdr_driver_get_version, int, (gdr::Session, int*, int*))

// Functions that older releases lack: the slot may be nullptr.
#define RAILGAUGE_GDRAPI_OPTIONAL(ROW)                                                \
  ROW(map_v2, gdr_map_v2, int, (gdr::Session, gdr::Pinned, void**, std::size_t, int)) \
  ROW(get_info, gdr_get_info_v2, int, (gdr::Session, gdr::Pinned, gdr::Info*))        \
  ROW(get_attribute, gdr_get_attribute, int, (gdr::Session, int, int*))

namespace railgauge {

// The library's functions and facts. Read-only once loaded.
struct Gdrapi {
#define RAILGAUGE_SLOT(slot, symbol, result, parameters) \
  result(*slot) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses)
  RAILGAUGE_GDRAPI_REQUIRED(RAILGAUGE_SLOT)
  RAILGAUGE_GDRAPI_OPTIONAL(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT

  std::string path;        // the file that was loaded
  std::string version;     // of the library: "2.6"
  bool synthetic = false;  // a fake: it exports kSyntheticGdrapiMarker
};

// The fake's marker, and the name by which the loader finds the library.
inline constexpr const char* kSyntheticGdrapiMarker = "railgauge_synthetic_gdrapi";
inline constexpr const char* kGdrapiLibrary = "libgdrapi.so.2";
// Names another file to load instead, such as the fake of kernels/fakes.
inline constexpr const char* kGdrapiLibraryVariable = "RAILGAUGE_LIBGDRAPI";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing.
Result<Gdrapi> bind_gdrapi(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_gdrapi(). Thread
// safe.
Result<const Gdrapi*> load_gdrapi();

// Returns the loaded table, for releasing handles; CHECKs that load_gdrapi() succeeded before.
const Gdrapi& loaded_gdrapi();

// Converts a call's result to a Status: "`act`: Invalid argument (errno 22)". ENODEV, ENOTSUP,
// ENOMEM (kFailedPrecondition) and EPERM, EACCES (kPermissionDenied) waive as a lack of this
// machine; everything else, such as EIO, is kInternal.
Status gdrapi_status(int returned, std::string_view act);

}  // namespace railgauge
