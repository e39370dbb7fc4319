// The one list that a new kernel joins: declare its row here and add it to kRows in the order of
// the names. catalog_test compares the order with the names and the rows with the sources.
#include "kernels/catalog.h"

#include <array>
#include <functional>
#include <map>
#include <string>

namespace railgauge {

// One row a kernel, sorted by name; each is defined in its own file of its family's folder.
extern const KernelRow kBarCrossover;
extern const KernelRow kBarMapCost;
extern const KernelRow kBarPingPong;
extern const KernelRow kBarReadBw;
extern const KernelRow kBarReadLat;
extern const KernelRow kBarSanity;
extern const KernelRow kBarWriteBw;
extern const KernelRow kBarWriteLat;
extern const KernelRow kCudaCopyLatency;
extern const KernelRow kCudaFanCopyBw;
extern const KernelRow kCudaHostCopyBw;
extern const KernelRow kCudaHostLatency;
extern const KernelRow kCudaLocalCopyBw;
extern const KernelRow kCudaPeerCopyBw;
extern const KernelRow kCudaPeerLatency;
extern const KernelRow kMpiAllGather;
extern const KernelRow kMpiAllReduce;
extern const KernelRow kMpiAllToAll;
extern const KernelRow kMpiBarrier;
extern const KernelRow kMpiBibw;
extern const KernelRow kMpiBroadcast;
extern const KernelRow kMpiBw;
extern const KernelRow kMpiGetBw;
extern const KernelRow kMpiGetLat;
extern const KernelRow kMpiLat;
extern const KernelRow kMpiPutBw;
extern const KernelRow kMpiPutLat;
extern const KernelRow kMpiRate;
extern const KernelRow kMpiReduce;
extern const KernelRow kMpiReduceScatter;
extern const KernelRow kNcclAllGather;
extern const KernelRow kNcclAllReduce;
extern const KernelRow kNcclAllToAll;
extern const KernelRow kNcclBroadcast;
extern const KernelRow kNcclGather;
extern const KernelRow kNcclPairwise;
extern const KernelRow kNcclReduce;
extern const KernelRow kNcclReduceScatter;
extern const KernelRow kNcclScatter;
extern const KernelRow kNcclSendRecv;
extern const KernelRow kNetTcpBw;
extern const KernelRow kNetTcpLat;
extern const KernelRow kVerbsAtomicBw;
extern const KernelRow kVerbsAtomicLat;
extern const KernelRow kVerbsReadBw;
extern const KernelRow kVerbsReadLat;
extern const KernelRow kVerbsSendBw;
extern const KernelRow kVerbsSendLat;
extern const KernelRow kVerbsWriteBw;
extern const KernelRow kVerbsWriteImmBw;
extern const KernelRow kVerbsWriteImmLat;
extern const KernelRow kVerbsWriteLat;
extern const KernelRow kVerbsWriteVisibleLat;

// The array is built on first use and lives as long as the process. The rows' own constants are
// initialised at compile time, so the order of static initialisers does not matter.
std::span<const KernelRow> catalog() {
  static const std::array kRows{kBarCrossover,
                                kBarMapCost,
                                kBarPingPong,
                                kBarReadBw,
                                kBarReadLat,
                                kBarSanity,
                                kBarWriteBw,
                                kBarWriteLat,
                                kCudaCopyLatency,
                                kCudaFanCopyBw,
                                kCudaHostCopyBw,
                                kCudaHostLatency,
                                kCudaLocalCopyBw,
                                kCudaPeerCopyBw,
                                kCudaPeerLatency,
                                kMpiAllGather,
                                kMpiAllReduce,
                                kMpiAllToAll,
                                kMpiBarrier,
                                kMpiBibw,
                                kMpiBroadcast,
                                kMpiBw,
                                kMpiGetBw,
                                kMpiGetLat,
                                kMpiLat,
                                kMpiPutBw,
                                kMpiPutLat,
                                kMpiRate,
                                kMpiReduce,
                                kMpiReduceScatter,
                                kNcclAllGather,
                                kNcclAllReduce,
                                kNcclAllToAll,
                                kNcclBroadcast,
                                kNcclGather,
                                kNcclPairwise,
                                kNcclReduce,
                                kNcclReduceScatter,
                                kNcclScatter,
                                kNcclSendRecv,
                                kNetTcpBw,
                                kNetTcpLat,
                                kVerbsAtomicBw,
                                kVerbsAtomicLat,
                                kVerbsReadBw,
                                kVerbsReadLat,
                                kVerbsSendBw,
                                kVerbsSendLat,
                                kVerbsWriteBw,
                                kVerbsWriteImmBw,
                                kVerbsWriteImmLat,
                                kVerbsWriteLat,
                                kVerbsWriteVisibleLat};
  return kRows;
}

// A row's info is built anew by each call, so the names are read once.
const KernelRow* find_kernel(std::string_view name) {
  static const auto* const kByName = [] {
    auto* rows = new std::map<std::string, const KernelRow*, std::less<>>;
    for (const KernelRow& row : catalog()) rows->emplace(row.info().name(), &row);
    return rows;
  }();
  const auto row = kByName->find(name);
  return row == kByName->end() ? nullptr : row->second;
}

}  // namespace railgauge
