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
  std::string operation;  // "AllReduce"; "" where the release does not say
  std::uint64_t bytes = 0;
  std::string algorithm;  // "RING"
  std::string protocol;   // "SIMPLE"
  std::string channels;   // "0..15", "" where the release does not say
};

struct LogFacts {
  std::string version;  // "2.28.9+cuda13.0"
  std::string network;  // "IB", "Socket", a plugin's name
  std::string plugin;   // of the network, loaded from a file
  std::string devices;  // "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE"
  std::map<std::string, int>
      connections;                  // by transport: "P2P/CUMEM" to 32, "NET/IB/0/GDRDMA" to 4
  std::map<std::string, bool> gdr;  // by HCA: whether GPUDirect RDMA is possible there
  std::optional<bool> dma_buf;      // memory is registered by dma-buf
  std::optional<bool> nvls;         // multicast of the NVLink switch is there
  std::string channels;             // "16 coll, 0 nvls, 16 p2p, 2 p2p per peer"
  std::vector<Choice> choices;      // in order
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
