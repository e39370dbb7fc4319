// The librdmacm functions that we call, loaded at run time like libibverbs (verbs.h). Only
// connecting by the RDMA connection manager needs them.
#pragma once

#include <rdma/rdma_cma.h>

#include <string>

#include "kernels/core/base/result.h"

// One row a function: slot, exported symbol; the type is the header's. The oldest release with all
// functions is rdma-core 23, the first to accept the caller's own queue pairs.
#define RAILGAUGE_RDMACM_REQUIRED(ROW)                   \
  ROW(create_event_channel, rdma_create_event_channel)   \
  ROW(destroy_event_channel, rdma_destroy_event_channel) \
  ROW(create_id, rdma_create_id)                         \
  ROW(destroy_id, rdma_destroy_id)                       \
  ROW(bind_addr, rdma_bind_addr)                         \
  ROW(listen, rdma_listen)                               \
  ROW(get_src_port, rdma_get_src_port)                   \
  ROW(resolve_addr, rdma_resolve_addr)                   \
  ROW(resolve_route, rdma_resolve_route)                 \
  ROW(init_qp_attr, rdma_init_qp_attr)                   \
  ROW(connect, rdma_connect)                             \
  ROW(accept, rdma_accept)                               \
  ROW(reject, rdma_reject)                               \
  ROW(establish, rdma_establish)                         \
  ROW(get_cm_event, rdma_get_cm_event)                   \
  ROW(ack_cm_event, rdma_ack_cm_event)                   \
  ROW(event_str, rdma_event_str)

namespace railgauge {

// The library's functions with the types of its header, and its facts. Read-only once loaded.
struct Rdmacm {
// NOLINTNEXTLINE(bugprone-macro-parentheses): names cannot stand in parentheses
#define RAILGAUGE_SLOT(slot, symbol) decltype(&::symbol) slot = nullptr;
  RAILGAUGE_RDMACM_REQUIRED(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT

  std::string path;     // the file that was loaded
  std::string version;  // from its name
};

// The name by which the loader finds the library.
inline constexpr const char* kRdmacmLibrary = "librdmacm.so.1";
// Names another file to load instead, such as the fake of kernels/fakes, a part of its libibverbs.
inline constexpr const char* kRdmacmLibraryVariable = "RAILGAUGE_LIBRDMACM";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing.
Result<Rdmacm> bind_rdmacm(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_rdmacm(). Thread
// safe.
Result<const Rdmacm*> load_rdmacm();

// Returns the loaded table, for releasing handles; CHECKs that load_rdmacm() succeeded before.
const Rdmacm& loaded_rdmacm();

}  // namespace railgauge
