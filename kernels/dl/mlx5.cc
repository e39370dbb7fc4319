#include "kernels/dl/mlx5.h"

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Mlx5> g_mlx5;

}  // namespace

Result<Mlx5> bind_mlx5(const std::string& name) {
  const Library library = RG_TRY(Library::open(
      name, "libmlx5", "install ibverbs-providers (rdma-core) or the vendor's driver package"));
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

}  // namespace railgauge
