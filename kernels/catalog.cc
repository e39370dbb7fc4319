// The one list that a new kernel joins, in the order of the names. catalog_test compares the order
// with the names and the rows with the sources.
#include "kernels/catalog.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace railgauge {

// One row a kernel, sorted by name; each is defined in its own file of its family's folder.
#define RAILGAUGE_KERNELS(ROW) \
  ROW(kBarCrossover)           \
  ROW(kBarMapCost)             \
  ROW(kBarPingPong)            \
  ROW(kBarReadBw)              \
  ROW(kBarReadLat)             \
  ROW(kBarSanity)              \
  ROW(kBarSharedBw)            \
  ROW(kBarWriteBw)             \
  ROW(kBarWriteLat)            \
  ROW(kCudaBroadcastBw)        \
  ROW(kCudaCopyLatency)        \
  ROW(kCudaFanCopyBw)          \
  ROW(kCudaHostCopyBw)         \
  ROW(kCudaHostLatency)        \
  ROW(kCudaLocalCopyBw)        \
  ROW(kCudaPeerCopyBw)         \
  ROW(kCudaPeerLatency)        \
  ROW(kCudaRankCopyBw)         \
  ROW(kCudaRanksCopyBw)        \
  ROW(kMpiAccumulateLat)       \
  ROW(kMpiAllGather)           \
  ROW(kMpiAllGatherV)          \
  ROW(kMpiAllReduce)           \
  ROW(kMpiAllToAll)            \
  ROW(kMpiAllToAllV)           \
  ROW(kMpiAllToAllW)           \
  ROW(kMpiBarrier)             \
  ROW(kMpiBibw)                \
  ROW(kMpiBroadcast)           \
  ROW(kMpiBw)                  \
  ROW(kMpiCompareAndSwapLat)   \
  ROW(kMpiFanInBw)             \
  ROW(kMpiFanOutBw)            \
  ROW(kMpiFetchAndAddLat)      \
  ROW(kMpiGather)              \
  ROW(kMpiGatherV)             \
  ROW(kMpiGetAccumulateLat)    \
  ROW(kMpiGetBw)               \
  ROW(kMpiGetLat)              \
  ROW(kMpiGetMultiBw)          \
  ROW(kMpiGetMultiLat)         \
  ROW(kMpiInit)                \
  ROW(kMpiLat)                 \
  ROW(kMpiMultiLat)            \
  ROW(kMpiNeighborAllGather)   \
  ROW(kMpiNeighborAllGatherV)  \
  ROW(kMpiNeighborAllToAll)    \
  ROW(kMpiNeighborAllToAllV)   \
  ROW(kMpiNeighborAllToAllW)   \
  ROW(kMpiPutBibw)             \
  ROW(kMpiPutBw)               \
  ROW(kMpiPutLat)              \
  ROW(kMpiRate)                \
  ROW(kMpiReduce)              \
  ROW(kMpiReduceScatter)       \
  ROW(kMpiReduceScatterBlock)  \
  ROW(kMpiScatter)             \
  ROW(kMpiScatterV)            \
  ROW(kMpiThreadsLat)          \
  ROW(kNcclAllGather)          \
  ROW(kNcclAllReduce)          \
  ROW(kNcclAllToAll)           \
  ROW(kNcclAllToAllV)          \
  ROW(kNcclBroadcast)          \
  ROW(kNcclGather)             \
  ROW(kNcclGinGetLat)          \
  ROW(kNcclGinPutLat)          \
  ROW(kNcclGinSignalLat)       \
  ROW(kNcclHypercube)          \
  ROW(kNcclInit)               \
  ROW(kNcclPairwise)           \
  ROW(kNcclReduce)             \
  ROW(kNcclReduceScatter)      \
  ROW(kNcclScatter)            \
  ROW(kNcclSendRecv)           \
  ROW(kNetTcpBw)               \
  ROW(kNetTcpLat)              \
  ROW(kVerbsAtomicBw)          \
  ROW(kVerbsAtomicLat)         \
  ROW(kVerbsReadBw)            \
  ROW(kVerbsReadLat)           \
  ROW(kVerbsSendBw)            \
  ROW(kVerbsSendLat)           \
  ROW(kVerbsWriteBw)           \
  ROW(kVerbsWriteImmBw)        \
  ROW(kVerbsWriteImmLat)       \
  ROW(kVerbsWriteLat)          \
  ROW(kVerbsWriteVisibleLat)

#define RAILGAUGE_DECLARED(row) extern const KernelRow row;
RAILGAUGE_KERNELS(RAILGAUGE_DECLARED)
#undef RAILGAUGE_DECLARED

// The array is built on first use and lives as long as the process. The rows' own constants are
// initialised at compile time, so the order of static initialisers does not matter.
std::span<const KernelRow> catalog() {
#define RAILGAUGE_LISTED(row) row,
  static const std::array kRows{RAILGAUGE_KERNELS(RAILGAUGE_LISTED)};
#undef RAILGAUGE_LISTED
  return kRows;
}

namespace {

// Whether the row `id` has the kernel `name`: kVerbsWriteBw has verbs.write_bw. catalog_test
// finds each kernel by its name, so that a row of another name fails there.
bool is_row_of(std::string_view id, std::string_view name) {
  auto letter = id.begin() + 1;  // after the k
  for (const char c : name) {
    if (c == '.' || c == '_') continue;
    if (letter == id.end() || std::tolower(static_cast<unsigned char>(*letter++)) != c)
      return false;
  }
  return letter == id.end();
}

}  // namespace

// A runner starts for each task and needs one row. To build the infos of all would take two thirds
// of its start.
const KernelRow* find_kernel(std::string_view name) {
#define RAILGAUGE_NAMED(row) #row,
  constexpr auto kIds = std::to_array<std::string_view>({RAILGAUGE_KERNELS(RAILGAUGE_NAMED)});
#undef RAILGAUGE_NAMED
  const auto id = std::ranges::find_if(kIds, [&](auto each) { return is_row_of(each, name); });
  if (id == kIds.end()) return nullptr;
  const KernelRow& row = catalog()[static_cast<std::size_t>(id - kIds.begin())];
  return row.info().name() == name ? &row : nullptr;
}

}  // namespace railgauge
