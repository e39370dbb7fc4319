// GDRCopy's table. Its calls return an errno, or nullptr for gdr_open.
#include "kernels/dl/gdrapi.h"

#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Gdrapi> g_gdrapi;

// ENOMEM means that the GPU's BAR1 window is full, which is a lack of the machine.
Code code_of(int error) {
  switch (error) {
    case ENODEV:
    case ENOTSUP:
    case ENOMEM:
      return Code::kFailedPrecondition;
    case EPERM:
    case EACCES:
      return Code::kPermissionDenied;
    default:
      return Code::kInternal;
  }
}

}  // namespace

// The version comes from the library itself: its file name has only the first number.
Result<Gdrapi> bind_gdrapi(const std::string& name) {
  const Library library =
      RG_TRY(Library::open(name, "GDRCopy", "install libgdrapi and load gdrdrv"));
  Gdrapi table;
  RAILGAUGE_GDRAPI_REQUIRED(RAILGAUGE_BIND)
  RAILGAUGE_GDRAPI_OPTIONAL(RAILGAUGE_FIND)
  describe_library(library, kSyntheticGdrapiMarker, table);
  int major = 0;
  int minor = 0;
  table.runtime_get_version(&major, &minor);
  table.version = fmt::format("{}.{}", major, minor);
  return table;
}

Result<const Gdrapi*> load_gdrapi() {
  return g_gdrapi.load(bind_gdrapi, kGdrapiLibrary, kGdrapiLibraryVariable);
}

const Gdrapi& loaded_gdrapi() { return g_gdrapi.loaded(); }

Status gdrapi_status(int returned, std::string_view act) {
  if (returned == 0) return {};
  return fail(code_of(returned), fmt::format("{}: {}", act, errno_words(returned)));
}

}  // namespace railgauge
