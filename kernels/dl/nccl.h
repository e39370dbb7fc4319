// NCCL, as far as we call it: declared here and loaded at run time. nccl_abi_test.cc compares every
// declaration with the vendor's nccl.h where that is installed.
#pragma once

#include <climits>
#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"

// The library's types and numbers under our own names, so that a test can include both headers.
namespace railgauge::nc {

using Return = int;    // ncclResult_t
using DataType = int;  // ncclDataType_t
using RedOp = int;     // ncclRedOp_t
using Comm = struct CommObject*;

// ncclUniqueId, passed by value: rank 0 makes it, and all ranks join by it.
inline constexpr std::size_t kUniqueIdBytes = 128;
struct UniqueId {
  char internal[kUniqueIdBytes];  // NOLINT(modernize-avoid-c-arrays): the vendor's layout
};

// ncclConfig_t with the members of 2.27. The library accepts a shorter structure than its own, by
// `size` and `version`; config_for() cuts it to what a release knows. kUndefined leaves the choice
// to NCCL.
inline constexpr int kUndefined = INT_MIN;
inline constexpr unsigned kConfigMagic = 0xcafebeef;
struct Config {
  std::size_t size = 0;
  unsigned magic = kConfigMagic;
  unsigned version = 0;
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  int traffic_class = kUndefined;  // of later releases; padding in 2.18
  // From 2.27 on.
  const char* comm_name = nullptr;
  int collnet_enable = kUndefined;
  int cta_policy = kUndefined;
  int shrink_share = kUndefined;
  int nvls_ctas = kUndefined;
};
static_assert(sizeof(Config) == 72);
inline constexpr std::size_t kConfigBytes218 = 48;

// NCCL_CTA_POLICY_*: how many thread blocks a collective may take from the computing ones. Zero is
// from 2.28 on.
inline constexpr int kCtaDefault = 0;
inline constexpr int kCtaEfficiency = 1;
inline constexpr int kCtaZero = 2;

// Memory that all ranks registered together, in the same order: symmetric.
using Window = struct WindowObject*;
inline constexpr int kWindowSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

// ncclDevCommRequirements: what a device communicator, by which code on the GPU communicates, shall
// have. Releases before 2.29.2 take the body alone; later ones take a shorter structure than their
// own, by `size`, with the version of the headers that the device code is made of.
struct DeviceRequirementsBody {
  void* resources = nullptr;
  void* teams = nullptr;
  bool lsa_multimem = false;
  int barriers = 0;
  int lsa_barriers = 0;
  int rail_gin_barriers = 0;
  int lsa_lla2a_blocks = 0;
  int lsa_lla2a_slots = 0;
  bool gin_force = false;
  int gin_contexts = 4;
  int gin_signals = 0;
  int gin_counters = 0;
};
struct DeviceRequirements {
  std::size_t size = sizeof(DeviceRequirements);
  unsigned magic = kConfigMagic;
  unsigned version = 0;
  DeviceRequirementsBody body;
};
// ncclNetDeviceType: who begins the transfers of a device communicator.
inline constexpr unsigned kGinProxy = 2;
inline constexpr unsigned kGinGdaki = 3;
inline constexpr unsigned kGinGpi = 4;

// ncclResult_t. kInProgress is not an error: a non-blocking communicator is still at work.
inline constexpr Return kSuccess = 0;
inline constexpr Return kUnhandledCudaError = 1;
inline constexpr Return kSystemError = 2;
inline constexpr Return kInternalError = 3;
inline constexpr Return kInvalidArgument = 4;
inline constexpr Return kInvalidUsage = 5;
inline constexpr Return kRemoteError = 6;
inline constexpr Return kInProgress = 7;

// ncclDataType_t.
inline constexpr DataType kInt8 = 0;
inline constexpr DataType kUint8 = 1;
inline constexpr DataType kInt32 = 2;
inline constexpr DataType kUint32 = 3;
inline constexpr DataType kInt64 = 4;
inline constexpr DataType kUint64 = 5;
inline constexpr DataType kFloat16 = 6;
inline constexpr DataType kFloat32 = 7;
inline constexpr DataType kFloat64 = 8;
inline constexpr DataType kBfloat16 = 9;
inline constexpr DataType kFloat8e4m3 = 10;  // from 2.24 on
inline constexpr DataType kFloat8e5m2 = 11;

// ncclRedOp_t. kAvg divides the sum by the number of ranks.
inline constexpr RedOp kSum = 0;
inline constexpr RedOp kProd = 1;
inline constexpr RedOp kMax = 2;
inline constexpr RedOp kMin = 3;
inline constexpr RedOp kAvg = 4;

// Returns a release as ncclGetVersion reports it, from 2.9 on: 22809 for 2.28.9.
inline constexpr int version_code(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}
// The oldest release that is accepted, and the first with 8-bit floats, with policies for thread
// blocks, and with the policy of none.
inline constexpr int kOldest = version_code(2, 18, 0);
inline constexpr int kFirstWithFloat8 = version_code(2, 24, 0);
inline constexpr int kFirstWithCtaPolicy = version_code(2, 27, 0);
inline constexpr int kFirstWithCtaZero = version_code(2, 28, 0);
// GPU-initiated networking (GIN); the first release whose requirements have a head; the first whose
// headers later libraries take for GIN; and the first whose headers have get.
inline constexpr int kFirstWithGin = version_code(2, 28, 7);
inline constexpr int kFirstWithHead = version_code(2, 29, 2);
inline constexpr int kFirstFittingLater = version_code(2, 30, 0);
inline constexpr int kFirstWithGet = version_code(2, 30, 3);

// Returns a configuration that the release understands: without the members that it lacks.
inline Config config_for(int version) {
  Config made;
  const bool is_long = version >= kFirstWithCtaPolicy;
  made.size = is_long ? sizeof(Config) : kConfigBytes218;
  made.version = static_cast<unsigned>(is_long ? kFirstWithCtaPolicy : kOldest);
  return made;
}

}  // namespace railgauge::nc

// One row a function: slot, exported symbol, result, parameters. The oldest accepted release, 2.18,
// has all required functions.
#define RAILGAUGE_NCCL_REQUIRED(ROW)                                                             \
  ROW(get_version, ncclGetVersion, nc::Return, (int*))                                           \
  ROW(get_unique_id, ncclGetUniqueId, nc::Return, (nc::UniqueId*))                               \
  ROW(comm_init_rank_config, ncclCommInitRankConfig, nc::Return,                                 \
      (nc::Comm*, int, nc::UniqueId, int, nc::Config*))                                          \
  ROW(comm_split, ncclCommSplit, nc::Return, (nc::Comm, int, int, nc::Comm*, nc::Config*))       \
  ROW(comm_finalize, ncclCommFinalize, nc::Return, (nc::Comm))                                   \
  ROW(comm_destroy, ncclCommDestroy, nc::Return, (nc::Comm))                                     \
  ROW(comm_abort, ncclCommAbort, nc::Return, (nc::Comm))                                         \
  ROW(comm_get_async_error, ncclCommGetAsyncError, nc::Return, (nc::Comm, nc::Return*))          \
  ROW(get_error_string, ncclGetErrorString, const char*, (nc::Return))                           \
  ROW(all_reduce, ncclAllReduce, nc::Return,                                                     \
      (const void*, void*, std::size_t, nc::DataType, nc::RedOp, nc::Comm, cu::Stream))          \
  ROW(all_gather, ncclAllGather, nc::Return,                                                     \
      (const void*, void*, std::size_t, nc::DataType, nc::Comm, cu::Stream))                     \
  ROW(reduce_scatter, ncclReduceScatter, nc::Return,                                             \
      (const void*, void*, std::size_t, nc::DataType, nc::RedOp, nc::Comm, cu::Stream))          \
  ROW(broadcast, ncclBroadcast, nc::Return,                                                      \
      (const void*, void*, std::size_t, nc::DataType, int, nc::Comm, cu::Stream))                \
  ROW(reduce, ncclReduce, nc::Return,                                                            \
      (const void*, void*, std::size_t, nc::DataType, nc::RedOp, int, nc::Comm, cu::Stream))     \
  ROW(send, ncclSend, nc::Return,                                                                \
      (const void*, std::size_t, nc::DataType, int, nc::Comm, cu::Stream))                       \
  ROW(recv, ncclRecv, nc::Return, (void*, std::size_t, nc::DataType, int, nc::Comm, cu::Stream)) \
  ROW(group_start, ncclGroupStart, nc::Return, ())                                               \
  ROW(group_end, ncclGroupEnd, nc::Return, ())

// Functions that older releases lack: the slot may be nullptr.
#define RAILGAUGE_NCCL_OPTIONAL(ROW)                                                       \
  ROW(get_last_error, ncclGetLastError, const char*, (nc::Comm))                           \
  ROW(reset_debug_init, ncclResetDebugInit, void, ())                                      \
  ROW(comm_register, ncclCommRegister, nc::Return, (nc::Comm, void*, std::size_t, void**)) \
  ROW(comm_deregister, ncclCommDeregister, nc::Return, (nc::Comm, void*))                  \
  ROW(window_register, ncclCommWindowRegister, nc::Return,                                 \
      (nc::Comm, void*, std::size_t, nc::Window*, int))                                    \
  ROW(window_deregister, ncclCommWindowDeregister, nc::Return, (nc::Comm, nc::Window))     \
  ROW(mem_alloc, ncclMemAlloc, nc::Return, (void**, std::size_t))                          \
  ROW(mem_free, ncclMemFree, nc::Return, (void*))                                          \
  ROW(all_to_all, ncclAlltoAll, nc::Return,                                                \
      (const void*, void*, std::size_t, nc::DataType, nc::Comm, cu::Stream))               \
  ROW(gather, ncclGather, nc::Return,                                                      \
      (const void*, void*, std::size_t, nc::DataType, int, nc::Comm, cu::Stream))          \
  ROW(scatter, ncclScatter, nc::Return,                                                    \
      (const void*, void*, std::size_t, nc::DataType, int, nc::Comm, cu::Stream))

// Functions of nccl_device.h, optional too: communicators for code on the GPU.
#define RAILGAUGE_NCCL_DEVICE(ROW)                                                    \
  ROW(dev_comm_create, ncclDevCommCreate, nc::Return, (nc::Comm, const void*, void*)) \
  ROW(dev_comm_destroy, ncclDevCommDestroy, nc::Return, (nc::Comm, const void*))

namespace railgauge {

// The library's functions and facts. Read-only once loaded.
struct Nccl {
#define RAILGAUGE_SLOT(slot, symbol, result, parameters) \
  result(*slot) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses)
  RAILGAUGE_NCCL_REQUIRED(RAILGAUGE_SLOT)
  RAILGAUGE_NCCL_OPTIONAL(RAILGAUGE_SLOT)
  RAILGAUGE_NCCL_DEVICE(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT

  std::string path;  // the file that was loaded
  // The release, from the library itself: "2.28.9", and 22809 as a number.
  std::string version;
  int version_code = 0;
  bool synthetic = false;  // a fake: it exports kSyntheticNcclMarker
};

// The fake's marker, and the name by which the loader finds the library.
inline constexpr const char* kSyntheticNcclMarker = "railgauge_synthetic_nccl";
// RCCL has the same functions for AMD's GPUs, and NCCL's release as its version.
inline constexpr const char* kRcclLibrary = "librccl.so.1";
inline constexpr const char* kNcclLibrary = "libnccl.so.2";
// Names another file to load instead: the fake of kernels/fakes, or a library outside the loader's
// path.
inline constexpr const char* kNcclLibraryVariable = "RAILGAUGE_LIBNCCL";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing,
// or the release is older than 2.18.
Result<Nccl> bind_nccl(const std::string& name);

// Returns the process's table. The library reads its environment at first use, so set variables
// before. Thread safe.
Result<const Nccl*> load_nccl();

// Returns the loaded table, for releasing handles; CHECKs that load_nccl() succeeded before.
const Nccl& loaded_nccl();

// Formats 22809 as "2.28.9".
std::string nccl_release(int code);

// Converts a call's result to a Status: "`act`: unhandled system error (NCCL 2): its last words".
// The last error that `comm` (or the process, for nullptr) logged follows on the same line. A lost
// peer is kUnavailable. NCCL's invalid argument or usage is kInvalidArgument: settings that make
// the call impossible (an algorithm that cannot do the operation), or our own mistake; neither may
// waive as a lack of the machine. Everything else is kInternal.
Status nccl_status(const Nccl& nccl, nc::Return returned, std::string_view act,
                   nc::Comm comm = nullptr);

}  // namespace railgauge
