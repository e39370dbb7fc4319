// libibverbs' table, and the one call that its header implements inline.
#include "kernels/dl/verbs.h"

#include <cstring>

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Verbs> g_verbs;

}  // namespace

// ibv_query_port of the header, which is a macro there and cannot be bound. The attributes are
// cleared first: an older library does not write the newest fields.
int Verbs::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attributes) const {
  std::memset(&attributes, 0, sizeof attributes);
  if (verbs_context* extended = verbs_get_ctx_op(context, query_port))
    return extended->query_port(context, port, &attributes, sizeof attributes);
  return query_port_compat(context, port, reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
}

// Symbol versions are left to the loader: dlsym returns the default version.
Result<Verbs> bind_verbs(const std::string& name) {
  const Library library = RG_TRY(Library::open(
      name, "libibverbs", "install libibverbs1 (rdma-core) or the vendor's driver package"));
  Verbs table;
  RAILGAUGE_VERBS_REQUIRED(RAILGAUGE_BIND)
  RAILGAUGE_VERBS_OPTIONAL(RAILGAUGE_FIND)
  describe_library(library, kSyntheticMarker, table);
  return table;
}

Result<const Verbs*> load_verbs() {
  return g_verbs.load(bind_verbs, kVerbsLibrary, kVerbsLibraryVariable);
}

const Verbs& loaded_verbs() { return g_verbs.loaded(); }

}  // namespace railgauge
