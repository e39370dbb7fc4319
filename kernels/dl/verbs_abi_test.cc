// Compares the table with rdma-core's header (at compile time) and with this host's libraries.
#include <gmock/gmock.h>

#include <type_traits>

#include "kernels/dl/verbs.h"

namespace railgauge {
namespace {

// Functions that the header hides behind macros: the slots have the plain functions' types.
static_assert(std::is_same_v<decltype(Verbs::reg_mr), ibv_mr* (*)(ibv_pd*, void*, size_t, int)>);
static_assert(std::is_same_v<decltype(Verbs::query_port_compat),
                             int (*)(ibv_context*, uint8_t, _compat_ibv_port_attr*)>);
static_assert(std::is_same_v<decltype(Verbs::reg_mr_iova2),
                             ibv_mr* (*)(ibv_pd*, void*, size_t, uint64_t, unsigned int)>);
static_assert(std::is_same_v<decltype(Verbs::reg_dmabuf_mr),
                             ibv_mr* (*)(ibv_pd*, uint64_t, size_t, uint64_t, int, int)>);
static_assert(std::is_same_v<decltype(Verbs::create_qp), ibv_qp* (*)(ibv_pd*, ibv_qp_init_attr*)>);
static_assert(std::is_same_v<decltype(Verbs::modify_qp), int (*)(ibv_qp*, ibv_qp_attr*, int)>);
static_assert(std::is_same_v<decltype(Verbs::query_gid_table),
                             ssize_t (*)(ibv_context*, ibv_gid_entry*, size_t, uint32_t, size_t)>);

void expect_all_slots(const Verbs& verbs) {
#define RAILGAUGE_EXPECT(slot, symbol) EXPECT_NE(verbs.slot, nullptr) << #symbol;
  RAILGAUGE_VERBS_REQUIRED(RAILGAUGE_EXPECT)
  RAILGAUGE_VERBS_OPTIONAL(RAILGAUGE_EXPECT)
#undef RAILGAUGE_EXPECT
}

TEST(VerbsTable, BindsEveryFunctionOfTheHostsLibrary) {
  const auto verbs = bind_verbs(kVerbsLibrary);
  if (!verbs) GTEST_SKIP() << verbs.error().message;
  expect_all_slots(*verbs);
  EXPECT_FALSE(verbs->synthetic);
  EXPECT_THAT(verbs->path, ::testing::HasSubstr("libibverbs.so"));
  EXPECT_NE(verbs->version, "unknown");
}

TEST(VerbsTable, BindsEveryFunctionOfTheFakeAndKnowsThatItIsOne) {
  const auto verbs = bind_verbs(RAILGAUGE_FAKE_LIBIBVERBS);
  ASSERT_TRUE(verbs) << verbs.error().message;
  expect_all_slots(*verbs);
  EXPECT_TRUE(verbs->synthetic);
}

TEST(VerbsTable, SaysWhatToInstallWhenTheLibraryIsAbsent) {
  const auto verbs = bind_verbs("libibverbs-absent.so.1");
  ASSERT_FALSE(verbs);
  EXPECT_EQ(verbs.error().code, Code::kNotFound);
  EXPECT_THAT(verbs.error().message, ::testing::HasSubstr("install libibverbs1"));
}

TEST(VerbsTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto verbs = bind_verbs("libm.so.6");
  ASSERT_FALSE(verbs);
  EXPECT_EQ(verbs.error().code, Code::kUnimplemented);
  EXPECT_THAT(verbs.error().message, ::testing::HasSubstr("ibv_get_device_list"));
}

}  // namespace
}  // namespace railgauge
