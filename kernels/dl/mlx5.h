// The libmlx5 functions that we call, loaded at run time like libibverbs (verbs.h). Only memory of
// GPUs behind a Data Direct function needs them.
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

}  // namespace railgauge
