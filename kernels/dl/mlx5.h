// The libmlx5 functions that we call, loaded at run time like libibverbs (verbs.h): for memory of
// GPUs behind a Data Direct function, and for dynamically connected queue pairs (DC).
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge {

// The library's functions with the types of <infiniband/mlx5dv.h>, which is newer than the header
// of most distributions: rdma-core 54 has both. Read-only once loaded.
struct Mlx5 {
  // mlx5dv_get_data_direct_sysfs_path: the function's folder, without "/sys"; returns 0, else an
  // errno, such as ENODEV for a NIC without one.
  int (*get_data_direct_sysfs_path)(ibv_context* context, char* folder, std::size_t size) = nullptr;
  // mlx5dv_reg_dmabuf_mr: as ibv_reg_dmabuf_mr, with flags of mlx5.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* domain, std::uint64_t offset, std::size_t length,
                           std::uint64_t iova, int fd, int access, int mlx5_access) = nullptr;

  std::string path;     // the file that was loaded
  std::string version;  // from its name
};

// mlx5dv_qp_init_attr, as rdma-core 24 and later have it.
struct Mlx5QueuePairForm {
  std::uint64_t mask = 0;
  std::uint32_t create_flags = 0;
  alignas(8) std::uint32_t dc_type = 0;
  std::uint64_t access_key = 0;  // of a target
  std::uint64_t send_operations = 0;
};
inline constexpr std::uint64_t kMlx5MaskCreateFlags = 1;  // MLX5DV_QP_INIT_ATTR_MASK_*
inline constexpr std::uint64_t kMlx5MaskDc = 2;
inline constexpr std::uint32_t kMlx5NoScatterToCqe = 1U << 3U;  // MLX5DV_QP_CREATE_*
inline constexpr std::uint32_t kMlx5DcTarget = 1;               // MLX5DV_DCTYPE_*
inline constexpr std::uint32_t kMlx5DcInitiator = 2;

// The beginning of mlx5dv_qp_ex: what an initiator adds to each request.
struct Mlx5ExtendedQueuePair {
  std::uint64_t mask = 0;
  void (*set_dc_address)(Mlx5ExtendedQueuePair* queue_pair, ibv_ah* address, std::uint32_t target,
                         std::uint64_t access_key) = nullptr;
};

// The functions of DC. Read-only once loaded.
struct Mlx5Dc {
  bool (*is_supported)(ibv_device* device) = nullptr;
  ibv_qp* (*create_qp)(ibv_context* context, ibv_qp_init_attr_ex* wanted,
                       Mlx5QueuePairForm* form) = nullptr;
  Mlx5ExtendedQueuePair* (*extended_of)(ibv_qp_ex* queue_pair) = nullptr;

  std::string path;
  std::string version;
};

// MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT.
inline constexpr int kMlx5DataDirect = 1;

// The name by which the loader finds the library.
inline constexpr const char* kMlx5Library = "libmlx5.so.1";
// Names another file to load instead, such as the fake of kernels/fakes, a part of its libibverbs.
inline constexpr const char* kMlx5LibraryVariable = "RAILGAUGE_LIBMLX5";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing.
Result<Mlx5> bind_mlx5(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_mlx5(). Thread
// safe.
Result<const Mlx5*> load_mlx5();

// The same for DC's functions, which older libraries have too.
Result<Mlx5Dc> bind_mlx5_dc(const std::string& name);
Result<const Mlx5Dc*> load_mlx5_dc();

}  // namespace railgauge
