// librdmacm's table. Its calls return -1 and set errno, so there is no status function here.
#include "kernels/dl/rdmacm.h"

#include "kernels/dl/library.h"
#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Rdmacm> g_rdmacm;

}  // namespace

// All functions are required: a library without one of them is too old to connect by.
Result<Rdmacm> bind_rdmacm(const std::string& name) {
  auto library = Library::open(name);
  if (!library)
    return fail(library.error().code,
                "librdmacm: " + library.error().message +
                    "; install librdmacm1 (rdma-core) or the vendor's driver package");
  Rdmacm rdmacm;
#define RAILGAUGE_BIND(slot, symbol) \
  rdmacm.slot = RG_TRY(library->bind<decltype(&::symbol)>(#symbol));
  RAILGAUGE_RDMACM_REQUIRED(RAILGAUGE_BIND)
#undef RAILGAUGE_BIND
  rdmacm.path = library->path();
  rdmacm.version = library->version();
  return rdmacm;
}

Result<const Rdmacm*> load_rdmacm() {
  return g_rdmacm.load(bind_rdmacm, kRdmacmLibrary, kRdmacmLibraryVariable);
}

const Rdmacm& loaded_rdmacm() { return g_rdmacm.loaded(); }

}  // namespace railgauge
