// Facts from NCCL's debug output of level INFO. The wording differs between releases; a fact that
// is not found is absent. Pure.
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
  // "AllReduce"; "" when the release does not report it.
  std::string operation;
  std::uint64_t bytes = 0;
  // "RING".
  std::string algorithm;
  // "SIMPLE".
  std::string protocol;
  // "0..15"; "" when the release does not report them.
  std::string channels;
};

// The values found; an empty text or an absent optional means not found.
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
  // By HCA: true when GPUDirect RDMA is possible there.
  std::map<std::string, bool> gdr;
  // True when memory is registered by dma-buf.
  std::optional<bool> dma_buf;
  // True when the NVLink switch offers multicast.
  std::optional<bool> nvls;
  // "16 coll, 0 nvls, 16 p2p, 2 p2p per peer".
  std::string channels;
  std::vector<Choice> choices;  // in order
};

// Reads the output; an incomplete last line is ignored.
LogFacts parse_log(std::string_view text);

// Reports the facts of a task: nccl_network, nccl_transports, nccl_gdr ...
void report(const LogFacts& seen, Reporter& reporter);

// Returns the kinds of transport without their number of connections: "NET/IB/0/GDRDMA".
std::vector<std::string> kinds_of(const LogFacts& seen);
// Returns the ports of its connections over the network, as sysfs names them: "mlx5_0:1", "eth0".
std::vector<std::string> ports_of(const LogFacts& seen);
// Returns the fact `path`, by which two runs are compared: the kinds of all ranks.
std::string path_of(const std::set<std::string>& kinds);

// Returns NCCL's reading of NCCL_NET_GDR_LEVEL: "PXB". Accepts the old integers: "3x" is 3, and a
// value above 5 is 5. "" for a value that NCCL ignores.
std::string gdr_level_in_words(const std::string& value);

}  // namespace railgauge::nccl
