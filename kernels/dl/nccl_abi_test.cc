// Compares our declarations of NCCL with the vendor's nccl.h, at compile time, where it is
// installed; without it the first test waives.
#include "kernels/dl/nccl.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdlib>
#include <type_traits>

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#define RAILGAUGE_HAS_NCCL_H 1
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7) && __has_include(<nccl_device/core.h>)
#include <nccl_device/core.h>
#include <nccl_device/net_device.h>
#define RAILGAUGE_HAS_NCCL_DEVICE_H 1
#else
#define RAILGAUGE_HAS_NCCL_DEVICE_H 0
#endif
#else
#define RAILGAUGE_HAS_NCCL_H 0
#endif

namespace railgauge {
namespace {

#if RAILGAUGE_HAS_NCCL_H
// Two types that a call passes alike; a struct by value has the same size.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> && std::is_void_v<B>;
  } else {
    constexpr bool kIntegers =
        (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
    // NOLINTNEXTLINE(bugprone-sizeof-expression): sizes of pointers are meant
    return sizeof(A) == sizeof(B) && (kIntegers || (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                                      (std::is_class_v<A> && std::is_class_v<B>));
  }
}
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R1, class... A1, class R2, class... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<alike<R1, R2>() && (alike<A1, A2>() && ...)> {
};

#define RAILGAUGE_SAME(slot, symbol, result, parameters) \
  static_assert(SameCall<decltype(Nccl::slot), decltype(&::symbol)>::value, #symbol);
RAILGAUGE_NCCL_REQUIRED(RAILGAUGE_SAME)
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
// ncclResetDebugInit may go: we ask whether it is there.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
RAILGAUGE_NCCL_OPTIONAL(RAILGAUGE_SAME)
static_assert(nc::kFloat8e4m3 == int{ncclFloat8e4m3});
static_assert(nc::kFloat8e5m2 == int{ncclFloat8e5m2});
#endif
#if RAILGAUGE_HAS_NCCL_DEVICE_H
RAILGAUGE_NCCL_DEVICE(RAILGAUGE_SAME)
// Where the structure has a head, the body follows it.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 2)
constexpr std::size_t kHead = offsetof(nc::DeviceRequirements, body);
static_assert(offsetof(nc::DeviceRequirements, version) ==
              offsetof(ncclDevCommRequirements, version));
#else
constexpr std::size_t kHead = 0;
#endif
static_assert(kHead + offsetof(nc::DeviceRequirementsBody, lsa_multimem) ==
              offsetof(ncclDevCommRequirements, lsaMultimem));
static_assert(kHead + offsetof(nc::DeviceRequirementsBody, gin_force) ==
              offsetof(ncclDevCommRequirements, ginForceEnable));
static_assert(kHead + offsetof(nc::DeviceRequirementsBody, gin_signals) ==
              offsetof(ncclDevCommRequirements, ginSignalCount));
static_assert(kHead + offsetof(nc::DeviceRequirementsBody, gin_contexts) ==
              offsetof(ncclDevCommRequirements, ginContextCount));
static_assert(kHead + offsetof(nc::DeviceRequirementsBody, gin_counters) ==
              offsetof(ncclDevCommRequirements, ginCounterCount));
static_assert(kHead + sizeof(nc::DeviceRequirementsBody) <= sizeof(ncclDevCommRequirements));
static_assert(nc::kGinProxy == unsigned{NCCL_NET_DEVICE_GIN_PROXY});
static_assert(nc::kGinGdaki == unsigned{NCCL_NET_DEVICE_GIN_GDAKI});
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 7)
static_assert(nc::kGinGpi == unsigned{NCCL_GIN_TYPE_GPI});
#endif
#endif
#undef RAILGAUGE_SAME

static_assert(nc::kUniqueIdBytes == NCCL_UNIQUE_ID_BYTES);
static_assert(sizeof(nc::Config) <= sizeof(ncclConfig_t));
static_assert(offsetof(nc::Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(nc::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(nc::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(nc::Config, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(nc::Config, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(nc::Config, split_share) == offsetof(ncclConfig_t, splitShare));
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
static_assert(offsetof(nc::Config, traffic_class) == offsetof(ncclConfig_t, trafficClass));
static_assert(offsetof(nc::Config, comm_name) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(nc::Config, cta_policy) == offsetof(ncclConfig_t, CTAPolicy));
static_assert(offsetof(nc::Config, nvls_ctas) == offsetof(ncclConfig_t, nvlsCTAs));
static_assert(nc::kCtaEfficiency == NCCL_CTA_POLICY_EFFICIENCY);
static_assert(nc::kCtaZero == NCCL_CTA_POLICY_ZERO);
static_assert(nc::kWindowSymmetric == NCCL_WIN_COLL_SYMMETRIC);
#endif
static_assert(nc::kUndefined == NCCL_CONFIG_UNDEF_INT);
static_assert(nc::version_code(2, 28, 9) == NCCL_VERSION(2, 28, 9));
static_assert(nc::kInProgress == int{ncclInProgress});
static_assert(nc::kRemoteError == int{ncclRemoteError});
static_assert(nc::kInvalidUsage == int{ncclInvalidUsage});
static_assert(nc::kInt8 == int{ncclInt8} && nc::kUint8 == int{ncclUint8});
static_assert(nc::kInt32 == int{ncclInt32} && nc::kUint32 == int{ncclUint32});
static_assert(nc::kInt64 == int{ncclInt64} && nc::kUint64 == int{ncclUint64});
static_assert(nc::kFloat16 == int{ncclFloat16} && nc::kFloat32 == int{ncclFloat32});
static_assert(nc::kFloat64 == int{ncclFloat64} && nc::kBfloat16 == int{ncclBfloat16});
static_assert(nc::kSum == int{ncclSum} && nc::kProd == int{ncclProd} && nc::kMax == int{ncclMax});
static_assert(nc::kMin == int{ncclMin} && nc::kAvg == int{ncclAvg});
#endif

TEST(NcclTable, DeclarationsAreThoseOfTheHeader) {
  if (!RAILGAUGE_HAS_NCCL_H) GTEST_SKIP() << "no nccl.h here: nothing to hold them against";
  SUCCEED() << "checked when this was compiled";
}

TEST(NcclConfig, HasOnlyWhatTheReleaseKnows) {
  EXPECT_EQ(nc::config_for(22105).size, nc::kConfigBytes218);
  EXPECT_EQ(nc::config_for(22105).version, 21800U);
  EXPECT_EQ(nc::config_for(22809).size, sizeof(nc::Config));
  EXPECT_EQ(nc::config_for(22809).version, 22700U);
}

TEST(NcclTable, SaysWhatToInstallWhenTheLibraryIsAbsent) {
  const auto nccl = bind_nccl("libnccl-absent.so.2");
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().code, Code::kNotFound);
  EXPECT_THAT(nccl.error().message, ::testing::HasSubstr("install libnccl2"));
}

TEST(NcclTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto nccl = bind_nccl("libm.so.6");
  ASSERT_FALSE(nccl);
  EXPECT_EQ(nccl.error().code, Code::kUnimplemented);
  EXPECT_THAT(nccl.error().message, ::testing::HasSubstr("ncclGetVersion"));
}

// Where one is installed, or named by RAILGAUGE_LIBNCCL.
TEST(NcclTable, HasAllOfTheInstalledLibrary) {
  const char* named = std::getenv(kNcclLibraryVariable);
  const auto nccl = bind_nccl(named != nullptr ? named : kNcclLibrary);
  if (!nccl && nccl.error().code == Code::kNotFound) GTEST_SKIP() << nccl.error().message;
  ASSERT_TRUE(nccl) << nccl.error().message;
  EXPECT_GE(nccl->version_code, nc::kOldest);
  EXPECT_FALSE(nccl->synthetic);
  EXPECT_NE(nccl->get_error_string(nc::kSystemError), nullptr);
}

TEST(NcclTable, GivesAReleaseAsPeopleWriteIt) {
  EXPECT_EQ(nccl_release(22809), "2.28.9");
  EXPECT_EQ(nccl_release(21803), "2.18.3");
}

class NcclWords : public ::testing::Test {
 protected:
  void SetUp() override {
    nccl_.get_error_string = [](nc::Return) { return "unhandled system error"; };
    nccl_.get_last_error = [](nc::Comm) { return "\nsocket: Connection refused.\n"; };
  }
  Nccl nccl_;
};

TEST_F(NcclWords, AreOneLineWithTheLibrarysLastError) {
  EXPECT_TRUE(nccl_status(nccl_, nc::kSuccess, "init"));
  const Status status = nccl_status(nccl_, nc::kSystemError, "gpu0: join 2 ranks");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInternal);
  EXPECT_EQ(
      status.error().message,
      "gpu0: join 2 ranks: unhandled system error (NCCL error 2): socket: Connection refused");
}

TEST_F(NcclWords, TellAGonePeerAndAWrongUseApart) {
  EXPECT_EQ(nccl_status(nccl_, nc::kRemoteError, "act").error().code, Code::kUnavailable);
  EXPECT_EQ(nccl_status(nccl_, nc::kInvalidUsage, "act").error().code, Code::kInvalidArgument);
}

// Older releases have no last error.
TEST_F(NcclWords, NeedNoLastError) {
  nccl_.get_last_error = nullptr;
  EXPECT_EQ(nccl_status(nccl_, nc::kSystemError, "act").error().message,
            "act: unhandled system error (NCCL error 2)");
}

}  // namespace
}  // namespace railgauge
