#include "kernels/dl/efa.h"

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Efa> g_efa;

}  // namespace

Result<Efa> bind_efa(const std::string& name) {
  const Library library = RG_TRY(Library::open(
      name, "libefa", "install ibverbs-providers (rdma-core) or the vendor's driver package"));
  Efa table;
  RAILGAUGE_BIND(query_device, efadv_query_device)
  RAILGAUGE_BIND(create_qp_ex, efadv_create_qp_ex)
  table.path = library.path();
  table.version = library.version();
  return table;
}

Result<const Efa*> load_efa() { return g_efa.load(bind_efa, kEfaLibrary, kEfaLibraryVariable); }

}  // namespace railgauge
