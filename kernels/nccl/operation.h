// A collective as the bench measures it: buffers, the call, the expected data, and how bandwidth is
// counted. A kernel is one such declaration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/dl/nccl.h"
#include "kernels/nccl/data.h"

namespace railgauge::nccl {

// One rank's part of one call. `count` is the elements of a rank's share: what reduce, broadcast
// and send_recv move, and what one rank gives to another in the others.
struct Share {
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;
  std::uint32_t root = 0;
  std::uint64_t count = 0;
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

// Shares that several operations have.
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
// Receive buffers with a share of each rank's input, in rank order.
std::vector<Segment> shares_of_all(const Share& share);
// The fact `implementation` of operations made of sends and receives.
inline constexpr const char* kGrouped = "grouped send and receive";
// From algorithm to bus bandwidth, as nccl-tests' PERFORMANCE.md derives them.
inline double factor_one(double) { return 1; }
inline double factor_share(double ranks) { return (ranks - 1) / ranks; }
inline double factor_both_ways(double ranks) { return 2 * (ranks - 1) / ranks; }

// One kernel's declaration. The functions are pure and know nothing of the bench; counts are
// elements.
struct Operation {
  // "nccl.all_reduce".
  const char* name;
  const char* summary;        // of the kernel
  const char* log_name = "";  // as NCCL's debug output names it, where it reports its choices
  bool reduces = false;
  bool rooted = false;
  // Whether a task may ask for the result in place of the input.
  bool in_place = false;
  // The size is that of all ranks' shares together (all_gather ...), not of one (all_reduce ...).
  bool shared_out = false;
  // Busbw is algbw times this.
  double (*bus_factor)(double ranks) = factor_one;
  // Elements of this rank's buffers; 0: it has no part of that buffer.
  std::uint64_t (*send_count)(const Share&) = one_share;
  std::uint64_t (*receive_count)(const Share&) = one_share;
  // In place: where the smaller buffer begins in the larger one, in elements.
  std::uint64_t (*own_offset)(const Share&) = at_beginning;
  // The expected content of this rank's receive buffer.
  std::vector<Segment> (*result)(const Share&) = nullptr;
  // Queues one call. `nccl` may lack what is optional: then it is done by grouped sends and
  // receives.
  nc::Return (*enqueue)(const Nccl& nccl, const Call& call) = nullptr;
  // NCCL's own call, "ncclAlltoAll": the fact `implementation` where this NCCL has it.
  const char* call_name = kGrouped;
  bool (*has_call)(const Nccl& nccl) = [](const Nccl&) { return true; };
};

// One rank's sends and receives in one group: a share from each place of its send buffer to each
// rank, or one share to one rank; the same for receiving. Without either the group is empty.
struct Exchange {
  bool to_all = false;
  bool from_all = false;
  int to_one = -1;
  int from_one = -1;
};
// The first error of NCCL. The group is closed on every path.
nc::Return exchange(const Nccl& nccl, const Call& call, const Exchange& parts);

// A kernel of this operation.
KernelInfo info_of(const Operation& operation);
// A fresh object for one task of one rank.
std::unique_ptr<Kernel> make_kernel(const Operation& operation);
// The catalog's row of an operation.
template <const Operation& kOperation>
inline constexpr KernelRow kRowOf{[] { return info_of(kOperation); },
                                  [] { return make_kernel(kOperation); }};

}  // namespace railgauge::nccl
