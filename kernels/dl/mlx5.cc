#include "kernels/dl/mlx5.h"

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Mlx5> g_mlx5;
TableLoader<Mlx5Dc> g_mlx5_dc;

Result<Library> open_library(const std::string& name) {
  return Library::open(name, "libmlx5",
                       "install ibverbs-providers (rdma-core) or the vendor's driver package");
}

}  // namespace

Result<Mlx5> bind_mlx5(const std::string& name) {
  const Library library = RG_TRY(open_library(name));
  Mlx5 table;
  RAILGAUGE_BIND(get_data_direct_sysfs_path, mlx5dv_get_data_direct_sysfs_path)
  RAILGAUGE_BIND(reg_dmabuf_mr, mlx5dv_reg_dmabuf_mr)
  table.path = library.path();
  table.version = library.version();
  return table;
}

Result<const Mlx5*> load_mlx5() {
  return g_mlx5.load(bind_mlx5, kMlx5Library, kMlx5LibraryVariable);
}

Result<Mlx5Dc> bind_mlx5_dc(const std::string& name) {
  const Library library = RG_TRY(open_library(name));
  Mlx5Dc table;
  RAILGAUGE_BIND(is_supported, mlx5dv_is_supported)
  RAILGAUGE_BIND(create_qp, mlx5dv_create_qp)
  RAILGAUGE_BIND(extended_of, mlx5dv_qp_ex_from_ibv_qp_ex)
  table.path = library.path();
  table.version = library.version();
  return table;
}

Result<const Mlx5Dc*> load_mlx5_dc() {
  return g_mlx5_dc.load(bind_mlx5_dc, kMlx5Library, kMlx5LibraryVariable);
}

}  // namespace railgauge
