// The libefa functions that we call, loaded at run time like libibverbs (verbs.h): for scalable
// reliable datagrams (SRD).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge {

// efadv_device_attr, as rdma-core 26 and later begin it.
struct EfaDeviceAttributes {
  std::uint64_t mask = 0;
  std::uint32_t max_sends = 0;
  std::uint32_t max_receives = 0;
  std::uint16_t max_send_pieces = 0;
  std::uint16_t max_receive_pieces = 0;
  std::uint16_t inline_bytes = 0;
  std::uint16_t reserved = 0;
  std::uint32_t capabilities = 0;
  std::uint32_t max_rdma_bytes = 0;
};
inline constexpr std::uint32_t kEfaReads = 1U << 0U;  // EFADV_DEVICE_ATTR_CAPS_*
inline constexpr std::uint32_t kEfaRetries = 1U << 1U;
inline constexpr std::uint32_t kEfaWrites = 1U << 3U;

// The beginning of efadv_qp_init_attr; a library that knows more takes it by its size.
struct EfaQueuePairForm {
  std::uint64_t mask = 0;
  std::uint32_t driver_type = 0;  // EFADV_QP_DRIVER_TYPE_SRD is 0
  std::uint32_t reserved = 0;
};

// The library's functions, and its facts. Read-only once loaded.
struct Efa {
  // efadv_query_device: EOPNOTSUPP for a device of another provider.
  int (*query_device)(ibv_context* context, EfaDeviceAttributes* attributes,
                      std::uint32_t size) = nullptr;
  ibv_qp* (*create_qp_ex)(ibv_context* context, ibv_qp_init_attr_ex* wanted, EfaQueuePairForm* form,
                          std::uint32_t size) = nullptr;

  std::string path;
  std::string version;
};

// The name by which the loader finds the library.
inline constexpr const char* kEfaLibrary = "libefa.so.1";
// Names another file to load instead, such as the fake of kernels/fakes, a part of its libibverbs.
inline constexpr const char* kEfaLibraryVariable = "RAILGAUGE_LIBEFA";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing.
Result<Efa> bind_efa(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_efa(). Thread
// safe.
Result<const Efa*> load_efa();

}  // namespace railgauge
