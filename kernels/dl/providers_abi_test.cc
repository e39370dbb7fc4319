// Compares the tables of libmlx5 and libefa with rdma-core's headers (at compile time), with this
// host's libraries and with the fake.
#include <gmock/gmock.h>

#include <cstddef>

#include "kernels/dl/efa.h"
#include "kernels/dl/mlx5.h"

#if __has_include(<infiniband/efadv.h>)
#include <infiniband/efadv.h>
#endif
#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#endif

namespace railgauge {
namespace {

using ::testing::HasSubstr;

#if __has_include(<infiniband/mlx5dv.h>)
static_assert(sizeof(Mlx5QueuePairForm) == sizeof(mlx5dv_qp_init_attr));
static_assert(offsetof(Mlx5QueuePairForm, mask) == offsetof(mlx5dv_qp_init_attr, comp_mask));
static_assert(offsetof(Mlx5ExtendedQueuePair, mask) == offsetof(mlx5dv_qp_ex, comp_mask));
static_assert(offsetof(Mlx5QueuePairForm, create_flags) ==
              offsetof(mlx5dv_qp_init_attr, create_flags));
static_assert(offsetof(Mlx5QueuePairForm, dc_type) ==
              offsetof(mlx5dv_qp_init_attr, dc_init_attr.dc_type));
static_assert(offsetof(Mlx5QueuePairForm, access_key) ==
              offsetof(mlx5dv_qp_init_attr, dc_init_attr.dct_access_key));
static_assert(offsetof(Mlx5QueuePairForm, send_operations) ==
              offsetof(mlx5dv_qp_init_attr, send_ops_flags));
static_assert(offsetof(Mlx5ExtendedQueuePair, set_dc_address) ==
              offsetof(mlx5dv_qp_ex, wr_set_dc_addr));
static_assert(kMlx5MaskCreateFlags == MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS);
static_assert(kMlx5MaskDc == MLX5DV_QP_INIT_ATTR_MASK_DC);
static_assert(kMlx5NoScatterToCqe == MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE);
static_assert(kMlx5DcTarget == MLX5DV_DCTYPE_DCT && kMlx5DcInitiator == MLX5DV_DCTYPE_DCI);
#endif
// As rdma-core 26 has them; later releases add behind them. Its 50 and later have the bit of
// writes.
static_assert(sizeof(EfaDeviceAttributes) == 32 && sizeof(EfaQueuePairForm) == 16);
static_assert(sizeof(Mlx5QueuePairForm) == 40);
static_assert(kEfaReads == 1 && kEfaRetries == 2 && kEfaWrites == 8);

#if __has_include(<infiniband/efadv.h>)
static_assert(sizeof(EfaDeviceAttributes) <= sizeof(efadv_device_attr));
static_assert(sizeof(EfaQueuePairForm) <= sizeof(efadv_qp_init_attr));
static_assert(offsetof(EfaDeviceAttributes, inline_bytes) ==
              offsetof(efadv_device_attr, inline_buf_size));
static_assert(offsetof(EfaDeviceAttributes, capabilities) ==
              offsetof(efadv_device_attr, device_caps));
static_assert(offsetof(EfaDeviceAttributes, max_rdma_bytes) ==
              offsetof(efadv_device_attr, max_rdma_size));
static_assert(offsetof(EfaQueuePairForm, driver_type) ==
              offsetof(efadv_qp_init_attr, driver_qp_type));
static_assert(kEfaReads == EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
static_assert(kEfaRetries == EFADV_DEVICE_ATTR_CAPS_RNR_RETRY);
static_assert(EFADV_QP_DRIVER_TYPE_SRD == 0);
#endif

// An absent library skips; one that lacks a function fails.
TEST(ProviderTables, BindEveryFunctionOfTheHostsLibmlx5) {
  const auto dc = bind_mlx5_dc(kMlx5Library);
  if (!dc && dc.error().code == Code::kNotFound) GTEST_SKIP() << dc.error().message;
  ASSERT_TRUE(dc) << dc.error().message;
  EXPECT_THAT(dc->path, HasSubstr("libmlx5"));
  EXPECT_NE(dc->version, "unknown");
}

TEST(ProviderTables, BindEveryFunctionOfTheHostsLibefa) {
  const auto efa = bind_efa(kEfaLibrary);
  if (!efa && efa.error().code == Code::kNotFound) GTEST_SKIP() << efa.error().message;
  ASSERT_TRUE(efa) << efa.error().message;
  EXPECT_THAT(efa->path, HasSubstr("libefa"));
  EXPECT_NE(efa->version, "unknown");
}

TEST(ProviderTables, BindEveryFunctionOfTheFake) {
  const auto dc = bind_mlx5_dc(RAILGAUGE_FAKE_LIBIBVERBS);
  ASSERT_TRUE(dc) << dc.error().message;
  const auto efa = bind_efa(RAILGAUGE_FAKE_LIBIBVERBS);
  ASSERT_TRUE(efa) << efa.error().message;
}

TEST(ProviderTables, SayWhatToInstallOrWhichFunctionIsMissing) {
  const auto absent = bind_efa("libefa-absent.so.1");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr("install ibverbs-providers"));
  const auto other = bind_mlx5_dc("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kUnimplemented);
  EXPECT_THAT(other.error().message, HasSubstr("mlx5dv_is_supported"));
}

}  // namespace
}  // namespace railgauge
