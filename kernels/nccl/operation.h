// A collective as the bench measures it: buffers, the call, the expected data, and the bandwidth
// formula. A kernel is one such declaration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/dl/nccl.h"
#include "kernels/nccl/data.h"
#include "kernels/nccl/traffic.h"

namespace railgauge::nccl {

// One rank's part of one call. `count` is the elements of a rank's share: the whole message of
// reduce, broadcast and send_recv; in other operations the part that one rank gives to another.
struct Share {
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;
  std::uint32_t root = 0;
  std::uint64_t count = 0;
  // The parts of an operation with `has_traffic`; nullptr in all others. Not owned.
  const Traffic* traffic = nullptr;
};

// The arguments of one call. Pointers are to GPU memory.
struct Call {
  Share share;
  const void* send = nullptr;
  void* receive = nullptr;
  nc::DataType type = nc::kFloat32;
  nc::RedOp reduction = nc::kSum;
  nc::Comm comm = nullptr;
  cu::Stream stream = nullptr;
  std::uint64_t element_bytes = 4;
};

// Buffer lengths and offsets that several operations share, in elements.
inline std::uint64_t one_share(const Share& share) { return share.count; }
inline std::uint64_t all_shares(const Share& share) { return share.count * share.ranks; }
inline std::uint64_t own_share(const Share& share) { return share.count * share.rank; }
inline std::uint64_t at_beginning(const Share&) { return 0; }
inline std::uint64_t one_share_of_root(const Share& share) {
  return share.rank == share.root ? share.count : 0;
}
inline std::uint64_t all_shares_of_root(const Share& share) {
  return share.rank == share.root ? share.count * share.ranks : 0;
}
// Returns a receive buffer with a share of each rank's input, in rank order.
std::vector<Segment> shares_of_all(const Share& share);
// The fact `implementation` of operations made of sends and receives.
inline constexpr const char* kGrouped = "grouped send and receive";
// Factors from algorithm to bus bandwidth, as derived in nccl-tests' PERFORMANCE.md.
inline double factor_one(double) { return 1; }
inline double factor_share(double ranks) { return (ranks - 1) / ranks; }
inline double factor_both_ways(double ranks) { return 2 * (ranks - 1) / ranks; }

// One kernel's declaration. The functions are pure and independent of the bench; counts are
// elements.
struct Operation {
  // "nccl.all_reduce".
  const char* name;
  const char* summary;        // of the kernel
  const char* log_name = "";  // its name in NCCL's debug output, if choices are reported
  bool reduces = false;
  bool rooted = false;
  // True when a task may request the result in place of the input.
  bool in_place = false;
  // The size covers all ranks' shares together (all_gather ...), not one share (all_reduce ...).
  bool shared_out = false;
  // Declares the traffic's parameters; a share has its parts.
  bool has_traffic = false;
  // A call is several groups, each of which needs the one before.
  bool in_steps = false;
  // Returns the S of algbw = S/t, in elements; nullptr: all that the size covers.
  std::uint64_t (*moved_count)(const Share&) = nullptr;
  // Returns the elements that rank 0 must send or receive at least; nullptr: as the bus factor says
  // (ceiling.h).
  std::uint64_t (*least_count)(const Share&) = nullptr;
  // Returns why it cannot have so many ranks, or "".
  const char* (*refuses)(std::uint32_t ranks) = [](std::uint32_t) { return ""; };
  // Busbw is algbw times this.
  double (*bus_factor)(double ranks) = factor_one;
  // Elements of this rank's buffers; 0: this rank does not use the buffer.
  std::uint64_t (*send_count)(const Share&) = one_share;
  std::uint64_t (*receive_count)(const Share&) = one_share;
  // In place: the begin of the smaller buffer in the larger one, in elements.
  std::uint64_t (*own_offset)(const Share&) = at_beginning;
  // The expected content of this rank's receive buffer.
  std::vector<Segment> (*result)(const Share&) = nullptr;
  // Queues one call. Where `nccl` lacks an optional function, grouped sends and receives replace
  // it.
  nc::Return (*enqueue)(const Nccl& nccl, const Call& call) = nullptr;
  // NCCL's own call, "ncclAlltoAll": the fact `implementation` when this NCCL has it.
  const char* call_name = kGrouped;
  bool (*has_call)(const Nccl& nccl) = [](const Nccl&) { return true; };
};

// One rank's sends and receives in one group. Sends go from each place of its send buffer to each
// rank, or one share to one rank; receives likewise. Without either the group is empty.
struct Exchange {
  bool to_all = false;
  bool from_all = false;
  int to_one = -1;
  int from_one = -1;
};
// Performs the exchange; returns NCCL's first error. Closes the group on every path.
nc::Return exchange(const Nccl& nccl, const Call& call, const Exchange& parts);

// The metric of how equally the NIC ports carried a collective between hosts; see ports.h.
inline constexpr const char* kPortMetric = "busiest_port_share";

// Returns the declaration of this operation's kernel.
KernelInfo info_of(const Operation& operation);
// Makes a kernel for one task of one rank.
std::unique_ptr<Kernel> make_kernel(const Operation& operation);
// The catalog's row of an operation.
template <const Operation& kOperation>
inline constexpr KernelRow kRowOf{[] { return info_of(kOperation); },
                                  [] { return make_kernel(kOperation); }};

}  // namespace railgauge::nccl
