// Compares our declarations of the CUDA driver API with the vendor's cuda.h, at compile time, where
// a toolkit is installed; without one this program waives. Always compares the table with the fake.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <type_traits>

#include "kernels/dl/cuda.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define RAILGAUGE_HAS_CUDA_H 1
#else
#define RAILGAUGE_HAS_CUDA_H 0
#endif

namespace railgauge {
namespace {

#if RAILGAUGE_HAS_CUDA_H
// Two types that a call passes alike: the same size, and both a pointer, or both an integer (an
// enum is one), or both a floating-point number.
template <class A, class B>
constexpr bool alike() {
  constexpr bool kIntegers =
      (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): sizes of pointers are meant
  return sizeof(A) == sizeof(B) && (kIntegers || (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                                    (std::is_floating_point_v<A> && std::is_floating_point_v<B>));
}
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R1, class... A1, class R2, class... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<alike<R1, R2>() && (alike<A1, A2>() && ...)> {
};

// The header maps a plain name to its versioned symbol: taking the row's symbol as a name gives the
// very function that the loader finds. Only declared here, never called: nothing is linked.
#define RAILGAUGE_SAME(slot, symbol, parameters) \
  static_assert(SameCall<decltype(Cuda::slot), decltype(&::symbol)>::value, #symbol);
RAILGAUGE_CUDA_REQUIRED(RAILGAUGE_SAME)
RAILGAUGE_CUDA_OPTIONAL(RAILGAUGE_SAME)
#undef RAILGAUGE_SAME

static_assert(sizeof(cu::ExternalMemoryHandleDesc) == sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC));
static_assert(offsetof(cu::ExternalMemoryHandleDesc, size) ==
              offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size));
static_assert(offsetof(cu::ExternalMemoryHandleDesc, flags) ==
              offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags));
static_assert(sizeof(cu::ExternalMemoryBufferDesc) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC));
static_assert(offsetof(cu::ExternalMemoryBufferDesc, flags) ==
              offsetof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags));
static_assert(sizeof(cu::Uuid) == sizeof(CUuuid));
static_assert(sizeof(cu::MulticastObjectProp) == sizeof(CUmulticastObjectProp));
static_assert(offsetof(cu::MulticastObjectProp, size) == offsetof(CUmulticastObjectProp, size));
static_assert(offsetof(cu::MulticastObjectProp, handle_types) ==
              offsetof(CUmulticastObjectProp, handleTypes));

#define RAILGAUGE_NUMBER(ours, theirs) \
  static_assert(static_cast<long long>(cu::ours) == static_cast<long long>(theirs), #theirs)
RAILGAUGE_NUMBER(kSuccess, CUDA_SUCCESS);
RAILGAUGE_NUMBER(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
RAILGAUGE_NUMBER(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
RAILGAUGE_NUMBER(kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
RAILGAUGE_NUMBER(kNewerDriverNeeded, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
RAILGAUGE_NUMBER(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
RAILGAUGE_NUMBER(kNoDevice, CUDA_ERROR_NO_DEVICE);
RAILGAUGE_NUMBER(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
RAILGAUGE_NUMBER(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
RAILGAUGE_NUMBER(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
RAILGAUGE_NUMBER(kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
RAILGAUGE_NUMBER(kInvalidPtx, CUDA_ERROR_INVALID_PTX);
RAILGAUGE_NUMBER(kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
RAILGAUGE_NUMBER(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
RAILGAUGE_NUMBER(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
RAILGAUGE_NUMBER(kNotFound, CUDA_ERROR_NOT_FOUND);
RAILGAUGE_NUMBER(kNotReady, CUDA_ERROR_NOT_READY);
RAILGAUGE_NUMBER(kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
RAILGAUGE_NUMBER(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
RAILGAUGE_NUMBER(kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
RAILGAUGE_NUMBER(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
RAILGAUGE_NUMBER(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
RAILGAUGE_NUMBER(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
RAILGAUGE_NUMBER(kCompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
RAILGAUGE_NUMBER(kUnknown, CUDA_ERROR_UNKNOWN);
RAILGAUGE_NUMBER(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
RAILGAUGE_NUMBER(kL2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
RAILGAUGE_NUMBER(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
RAILGAUGE_NUMBER(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
RAILGAUGE_NUMBER(kManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
RAILGAUGE_NUMBER(kUsesHostPageTables,
                 CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
RAILGAUGE_NUMBER(kGpuDirectRdmaWritesOrdering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
RAILGAUGE_NUMBER(kMulticastSupported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
RAILGAUGE_NUMBER(kMulticastUnitRecommended, CU_MULTICAST_GRANULARITY_RECOMMENDED);
RAILGAUGE_NUMBER(kDmaBufSupported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
RAILGAUGE_NUMBER(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
RAILGAUGE_NUMBER(kPointerSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
RAILGAUGE_NUMBER(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
RAILGAUGE_NUMBER(kMemoryTypeHost, CU_MEMORYTYPE_HOST);
RAILGAUGE_NUMBER(kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE);
RAILGAUGE_NUMBER(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
RAILGAUGE_NUMBER(kEventDefault, CU_EVENT_DEFAULT);
RAILGAUGE_NUMBER(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
RAILGAUGE_NUMBER(kWaitValueGeq, CU_STREAM_WAIT_VALUE_GEQ);
RAILGAUGE_NUMBER(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
RAILGAUGE_NUMBER(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
RAILGAUGE_NUMBER(kHostAllocWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED);
RAILGAUGE_NUMBER(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
RAILGAUGE_NUMBER(kAttachGlobal, CU_MEM_ATTACH_GLOBAL);
RAILGAUGE_NUMBER(kExternalMemoryOpaqueFd, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
RAILGAUGE_NUMBER(kRangeHandleDmaBufFd, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
RAILGAUGE_NUMBER(kRangeMappingPcie, CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
#undef RAILGAUGE_NUMBER
#endif

TEST(CudaTable, DeclarationsAreThoseOfTheToolkit) {
  if (!RAILGAUGE_HAS_CUDA_H) GTEST_SKIP() << "no cuda.h here: nothing to hold them against";
  SUCCEED() << "checked when this was compiled";
}

TEST(CudaTable, SaysWhatToInstallWhenTheDriverIsAbsent) {
  const auto cuda = bind_cuda("libcuda-absent.so.1");
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, Code::kNotFound);
  EXPECT_THAT(cuda.error().message, ::testing::HasSubstr("install the NVIDIA driver"));
}

TEST(CudaTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto cuda = bind_cuda("libm.so.6");
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, Code::kUnimplemented);
  EXPECT_THAT(cuda.error().message, ::testing::HasSubstr("cuInit"));
  EXPECT_THAT(cuda.error().message,
              ::testing::EndsWith("; driver 346.46 (CUDA 7.0) and later have it"));
}

// The release in which the driver got `symbol`, by the names of the vendor's function types, as
// PFN_cuMemAlloc_v3020: the second of them is the _v2 of the symbol. 0: not found.
int release_of(std::string symbol, const std::string& typedefs) {
  const bool second = symbol.ends_with("_v2");
  if (second) symbol.resize(symbol.size() - 3);
  std::set<int> releases;
  const std::regex name("\\bPFN_" + symbol + "_v([0-9]+)\\b");
  for (std::sregex_iterator at(typedefs.begin(), typedefs.end(), name), end; at != end; ++at)
    releases.insert(std::stoi((*at)[1]));
  if (releases.size() < (second ? 2 : 1)) return 0;
  return *std::next(releases.begin(), second ? 1 : 0);
}

TEST(CudaTable, LoadsFromTheOldestReleaseThatHasAllRequiredFunctions) {
  std::ifstream file(RAILGAUGE_CUDA_TYPEDEFS);
  if (!file) GTEST_SKIP() << "no cudaTypedefs.h here: nothing to hold it against";
  const std::string typedefs{std::istreambuf_iterator<char>(file), {}};
  std::map<std::string, int> releases;
#define RAILGAUGE_RELEASE(slot, symbol, parameters) \
  releases[#symbol] = release_of(#symbol, typedefs);
  RAILGAUGE_CUDA_REQUIRED(RAILGAUGE_RELEASE)
#undef RAILGAUGE_RELEASE
  int newest = 0;
  for (const auto& [symbol, release] : releases) {
    EXPECT_GT(release, 0) << symbol;
    newest = std::max(newest, release);
  }
  EXPECT_EQ(newest, kOldestCudaRelease);
  EXPECT_EQ(release_of("cuMemHostRegister_v2", typedefs), 6050);
  EXPECT_EQ(release_of("cuStreamWaitValue32", typedefs), 8000);
  EXPECT_EQ(release_of("cuStreamWaitValue32_v2", typedefs), 11070);
}

}  // namespace
}  // namespace railgauge
