// Compares our declarations of GDRCopy's library with the vendor's gdrapi.h, at compile time, where
// it is installed; without it the first test waives.
#include "kernels/dl/gdrapi.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cstddef>
#include <type_traits>

#if __has_include(<gdrapi.h>)
#include <gdrapi.h>
#define RAILGAUGE_HAS_GDRAPI_H 1
#else
#define RAILGAUGE_HAS_GDRAPI_H 0
#endif

namespace railgauge {
namespace {

#if RAILGAUGE_HAS_GDRAPI_H
// Two types that a call passes alike; a struct by value has the same size.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> && std::is_void_v<B>;
  } else {
    constexpr bool kIntegers =
        (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
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
  static_assert(SameCall<decltype(Gdrapi::slot), decltype(&::symbol)>::value, #symbol);
RAILGAUGE_GDRAPI_REQUIRED(RAILGAUGE_SAME)
RAILGAUGE_GDRAPI_OPTIONAL(RAILGAUGE_SAME)
#undef RAILGAUGE_SAME

static_assert(sizeof(gdr::Info) == sizeof(gdr_info_v2_t));
static_assert(offsetof(gdr::Info, gpu_address) == offsetof(gdr_info_v2_t, va));
static_assert(offsetof(gdr::Info, mapped_size) == offsetof(gdr_info_v2_t, mapped_size));
static_assert(offsetof(gdr::Info, page_size) == offsetof(gdr_info_v2_t, page_size));
static_assert(offsetof(gdr::Info, cycles_per_ms) == offsetof(gdr_info_v2_t, cycles_per_ms));
static_assert(offsetof(gdr::Info, mapping_type) == offsetof(gdr_info_v2_t, mapping_type));
static_assert(gdr::kMappingNone == int{GDR_MAPPING_TYPE_NONE});
static_assert(gdr::kMappingWriteCombined == int{GDR_MAPPING_TYPE_WC});
static_assert(gdr::kMappingCached == int{GDR_MAPPING_TYPE_CACHING});
static_assert(gdr::kMappingDevice == int{GDR_MAPPING_TYPE_DEVICE});
static_assert(gdr::kMapDefault == int{GDR_MAP_FLAG_DEFAULT});
static_assert(gdr::kMappingWriteCombined == int{GDR_MAP_FLAG_REQ_WC_MAPPING});
static_assert(gdr::kMappingCached == int{GDR_MAP_FLAG_REQ_CACHE_MAPPING});
static_assert(gdr::kMappingDevice == int{GDR_MAP_FLAG_REQ_DEVICE_MAPPING});
static_assert(gdr::kAttributeUsingDmaBufMmap == int{GDR_ATTR_USING_DMA_BUF_MMAP});
#endif

TEST(GdrapiTable, DeclarationsAreThoseOfTheHeader) {
  if (!RAILGAUGE_HAS_GDRAPI_H) GTEST_SKIP() << "no gdrapi.h here: nothing to hold them against";
  SUCCEED() << "checked when this was compiled";
}

TEST(GdrapiTable, SaysWhatToInstallWhenTheLibraryIsAbsent) {
  const auto gdrapi = bind_gdrapi("libgdrapi-absent.so.2");
  ASSERT_FALSE(gdrapi);
  EXPECT_EQ(gdrapi.error().code, Code::kNotFound);
  EXPECT_THAT(gdrapi.error().message, ::testing::HasSubstr("install libgdrapi and load gdrdrv"));
}

TEST(GdrapiTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto gdrapi = bind_gdrapi("libm.so.6");
  ASSERT_FALSE(gdrapi);
  EXPECT_EQ(gdrapi.error().code, Code::kUnimplemented);
  EXPECT_THAT(gdrapi.error().message, ::testing::HasSubstr("gdr_open"));
}

TEST(GdrapiTable, GivesTheErrnoInWords) {
  EXPECT_TRUE(gdrapi_status(0, "pin"));
  const Status status = gdrapi_status(22, "gdrdrv: gdr_pin_buffer of 65536 bytes");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInternal);
  EXPECT_EQ(status.error().message,
            "gdrdrv: gdr_pin_buffer of 65536 bytes: Invalid argument (errno 22)");
}

TEST(GdrapiTable, WaivesOnlyWhatTheMachineLacks) {
  for (const int lacks : {ENODEV, ENOTSUP, ENOMEM})
    EXPECT_EQ(gdrapi_status(lacks, "act").error().code, Code::kFailedPrecondition) << lacks;
  for (const int denied : {EPERM, EACCES})
    EXPECT_EQ(gdrapi_status(denied, "act").error().code, Code::kPermissionDenied) << denied;
  for (const int broken : {EIO, EFAULT, EINVAL, -1})
    EXPECT_EQ(gdrapi_status(broken, "act").error().code, Code::kInternal) << broken;
}

}  // namespace
}  // namespace railgauge
