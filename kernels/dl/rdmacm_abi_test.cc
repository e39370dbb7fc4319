// Compares the table with rdma-core's header (at compile time) and with this host's libraries.
#include <gmock/gmock.h>

#include <type_traits>

#include "kernels/dl/rdmacm.h"

namespace railgauge {
namespace {

static_assert(std::is_same_v<decltype(Rdmacm::connect), int (*)(rdma_cm_id*, rdma_conn_param*)>);
static_assert(
    std::is_same_v<decltype(Rdmacm::init_qp_attr), int (*)(rdma_cm_id*, ibv_qp_attr*, int*)>);
static_assert(
    std::is_same_v<decltype(Rdmacm::get_cm_event), int (*)(rdma_event_channel*, rdma_cm_event**)>);
static_assert(std::is_same_v<decltype(Rdmacm::resolve_addr),
                             int (*)(rdma_cm_id*, sockaddr*, sockaddr*, int)>);

void expect_all_slots(const Rdmacm& rdmacm) {
#define RAILGAUGE_EXPECT(slot, symbol) EXPECT_NE(rdmacm.slot, nullptr) << #symbol;
  RAILGAUGE_RDMACM_REQUIRED(RAILGAUGE_EXPECT)
#undef RAILGAUGE_EXPECT
}

TEST(RdmacmTable, BindsEveryFunctionOfTheHostsLibrary) {
  const auto rdmacm = bind_rdmacm(kRdmacmLibrary);
  if (!rdmacm) GTEST_SKIP() << rdmacm.error().message;
  expect_all_slots(*rdmacm);
  EXPECT_THAT(rdmacm->path, ::testing::HasSubstr("librdmacm.so"));
  EXPECT_NE(rdmacm->version, "unknown");
}

TEST(RdmacmTable, BindsEveryFunctionOfTheFake) {
  const auto rdmacm = bind_rdmacm(RAILGAUGE_FAKE_LIBIBVERBS);
  ASSERT_TRUE(rdmacm) << rdmacm.error().message;
  expect_all_slots(*rdmacm);
}

TEST(RdmacmTable, SaysWhatToInstallWhenTheLibraryIsAbsent) {
  const auto rdmacm = bind_rdmacm("librdmacm-absent.so.1");
  ASSERT_FALSE(rdmacm);
  EXPECT_EQ(rdmacm.error().code, Code::kNotFound);
  EXPECT_THAT(rdmacm.error().message, ::testing::HasSubstr("install librdmacm1"));
}

TEST(RdmacmTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto rdmacm = bind_rdmacm("libm.so.6");
  ASSERT_FALSE(rdmacm);
  EXPECT_EQ(rdmacm.error().code, Code::kUnimplemented);
  EXPECT_THAT(rdmacm.error().message, ::testing::HasSubstr("rdma_create_event_channel"));
}

}  // namespace
}  // namespace railgauge
