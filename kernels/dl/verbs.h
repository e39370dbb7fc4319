// The libibverbs functions that we call, loaded at run time: the host's own library is part of the
// measured stack, so nothing links it. Posting and polling are inline in rdma-core's header (calls
// through the context) and need no slot.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "kernels/core/base/result.h"

// One row a function: slot, exported symbol; the type is the header's.
#define RAILGAUGE_VERBS_REQUIRED(ROW)            \
  ROW(get_device_list, ibv_get_device_list)      \
  ROW(free_device_list, ibv_free_device_list)    \
  ROW(get_device_name, ibv_get_device_name)      \
  ROW(open_device, ibv_open_device)              \
  ROW(close_device, ibv_close_device)            \
  ROW(query_device, ibv_query_device)            \
  ROW(query_port_compat, ibv_query_port)         \
  ROW(query_gid, ibv_query_gid)                  \
  ROW(alloc_pd, ibv_alloc_pd)                    \
  ROW(dealloc_pd, ibv_dealloc_pd)                \
  ROW(reg_mr, ibv_reg_mr)                        \
  ROW(dereg_mr, ibv_dereg_mr)                    \
  ROW(create_cq, ibv_create_cq)                  \
  ROW(destroy_cq, ibv_destroy_cq)                \
  ROW(create_qp, ibv_create_qp)                  \
  ROW(modify_qp, ibv_modify_qp)                  \
  ROW(query_qp, ibv_query_qp)                    \
  ROW(destroy_qp, ibv_destroy_qp)                \
  ROW(create_srq, ibv_create_srq)                \
  ROW(destroy_srq, ibv_destroy_srq)              \
  ROW(create_ah, ibv_create_ah)                  \
  ROW(destroy_ah, ibv_destroy_ah)                \
  ROW(create_channel, ibv_create_comp_channel)   \
  ROW(destroy_channel, ibv_destroy_comp_channel) \
  ROW(get_cq_event, ibv_get_cq_event)            \
  ROW(ack_cq_events, ibv_ack_cq_events)          \
  ROW(get_async_event, ibv_get_async_event)      \
  ROW(ack_async_event, ibv_ack_async_event)      \
  ROW(wc_status_str, ibv_wc_status_str)

// Functions that older releases lack: the slot may be nullptr.
#define RAILGAUGE_VERBS_OPTIONAL(ROW)   \
  ROW(reg_mr_iova2, ibv_reg_mr_iova2)   \
  ROW(reg_dmabuf_mr, ibv_reg_dmabuf_mr) \
  ROW(qp_to_qp_ex, ibv_qp_to_qp_ex)     \
  ROW(query_gid_table, _ibv_query_gid_table)

namespace railgauge {

// The library's functions with the types of its header, and its facts. Read-only once loaded.
struct Verbs {
// NOLINTNEXTLINE(bugprone-macro-parentheses): names cannot stand in parentheses
#define RAILGAUGE_SLOT(slot, symbol) decltype(&::symbol) slot = nullptr;
  RAILGAUGE_VERBS_REQUIRED(RAILGAUGE_SLOT)
  RAILGAUGE_VERBS_OPTIONAL(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT

  std::string path;        // the file that was loaded
  std::string version;     // from its name
  bool synthetic = false;  // a fake: it exports kSyntheticMarker

  // Does what the header's inline ibv_query_port does: calls the context's own query where it has
  // one, else the library's older function. Returns 0 or an errno.
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attributes) const;
};

// The fake's marker, and the name by which the loader finds the library.
inline constexpr const char* kSyntheticMarker = "railgauge_synthetic_verbs";
inline constexpr const char* kVerbsLibrary = "libibverbs.so.1";
// Names another file to load instead: another release, or the fake of kernels/fakes.
inline constexpr const char* kVerbsLibraryVariable = "RAILGAUGE_LIBIBVERBS";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing.
Result<Verbs> bind_verbs(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_verbs(). Thread
// safe.
Result<const Verbs*> load_verbs();

// Returns the loaded table, for releasing handles; CHECKs that load_verbs() succeeded before.
const Verbs& loaded_verbs();

}  // namespace railgauge
