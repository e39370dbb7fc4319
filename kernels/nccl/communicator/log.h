// Turns NCCL's debug output of level INFO into facts. The words differ from release to release; a
// fact that is not found is absent. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/kernel.h"

namespace railgauge::nccl {

// NCCL's choice for one call.
struct Choice {
  // "AllReduce"; "" where the release does not say.
  std::string operation;
  std::uint64_t bytes = 0;
  // "RING".
  std::string algorithm;
  // "SIMPLE".
  std::string protocol;
  // "0..15", "" where the release does not say.
  std::string channels;
};

// The values found; an empty text or an absent optional was not found.
struct LogFacts {
  // "2.28.9+cuda13.0".
  std::string version;
  // "IB", "Socket", a plugin's name.
  std::string network;
  std::string plugin;  // of the network, loaded from a file
  // "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE".
  std::string devices;
  // Connections by transport: "P2P/CUMEM" to 32, "NET/IB/0/GDRDMA" to 4.
  std::map<std::string, int> connections;
  // By HCA: whether GPUDirect RDMA is possible there.
  std::map<std::string, bool> gdr;
  // Memory is registered by dma-buf.
  std::optional<bool> dma_buf;
  // Multicast of the NVLink switch is there.
  std::optional<bool> nvls;
  // "16 coll, 0 nvls, 16 p2p, 2 p2p per peer".
  std::string channels;
  std::vector<Choice> choices;  // in order
};

// `text` may end in the middle of a line; that one is left out.
LogFacts parse_log(std::string_view text);

// The facts of a task: nccl_network, nccl_transports, nccl_gdr ...
void report(const LogFacts& seen, Reporter& reporter);

// The kinds of transport, without how many connections of each: "NET/IB/0/GDRDMA".
std::vector<std::string> kinds_of(const LogFacts& seen);
// The fact `path`, by which two runs are compared: the kinds of all ranks.
std::string path_of(const std::set<std::string>& kinds);

// NCCL's reading of NCCL_NET_GDR_LEVEL: "PXB"; the old integers too: "3x" is 3, and a value above 5
// is 5. "" for a value that it ignores.
std::string gdr_level_in_words(const std::string& value);

}  // namespace railgauge::nccl
