// librdmacm's table. It has no status function, since the calls return -1 and set errno.
#include "kernels/dl/rdmacm.h"

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Rdmacm> g_rdmacm;

}  // namespace

// All functions are required: a library without one of them is too old to connect by.
Result<Rdmacm> bind_rdmacm(const std::string& name) {
  const Library library = RG_TRY(Library::open(
      name, "librdmacm", "install librdmacm1 (rdma-core) or the vendor's driver package"));
  Rdmacm table;
  RAILGAUGE_RDMACM_REQUIRED(RAILGAUGE_BIND)
  table.path = library.path();
  table.version = library.version();
  return table;
}

Result<const Rdmacm*> load_rdmacm() {
  return g_rdmacm.load(bind_rdmacm, kRdmacmLibrary, kRdmacmLibraryVariable);
}

const Rdmacm& loaded_rdmacm() { return g_rdmacm.loaded(); }

}  // namespace railgauge
