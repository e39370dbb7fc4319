// An all-gather in log2(ranks) exchanges with one partner each, as nccl-tests' hypercube_perf has
// it: in step k a rank gives all that it has to the rank whose number differs in bit k.
#include <chrono>
#include <thread>

#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// The tool counts what a rank receives: all shares but its own. A single rank copies its own.
std::uint64_t received_shares(const Share& share) {
  return share.count * std::max<std::uint64_t>(1, share.ranks - 1);
}

// One exchange with the partner of bit `mask`: both give `mask` shares, from the lowest that the
// group of each has.
nc::Return exchange_half(const Nccl& nccl, const Call& call, std::uint32_t mask) {
  const std::uint32_t mine = call.share.rank & ~(mask - 1);
  const std::uint64_t bytes = call.share.count * call.element_bytes;
  auto* memory = static_cast<char*>(call.receive);
  const int partner = static_cast<int>(call.share.rank ^ mask);
  if (const nc::Return opened = nccl.group_start(); opened != nc::kSuccess) return opened;
  nc::Return queued = nccl.send(memory + mine * bytes, call.share.count * mask, call.type, partner,
                                call.comm, call.stream);
  if (queued == nc::kSuccess || queued == nc::kInProgress)
    queued = nccl.recv(memory + (mine ^ mask) * bytes, call.share.count * mask, call.type, partner,
                       call.comm, call.stream);
  const nc::Return ended = nccl.group_end();  // also after an error
  return queued == nc::kSuccess || queued == nc::kInProgress ? ended : queued;
}

// Waits for a call that continues in the background, where the site's communicators do not block:
// the next step needs it. The worker's limits end a wait that is too long from outside.
nc::Return ended(const Nccl& nccl, const Call& call, nc::Return returned) {
  constexpr int kMostLooks = 600'000;  // a minute
  for (int look = 0; returned == nc::kInProgress && look < kMostLooks; ++look) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (const nc::Return asked = nccl.comm_get_async_error(call.comm, &returned);
        asked != nc::kSuccess)
      return asked;
  }
  return returned;
}

// The own share goes to its place first, on the same stream.
nc::Return queue_exchanges(const Nccl& nccl, const Call& call) {
  const std::uint64_t bytes = call.share.count * call.element_bytes;
  char* own = static_cast<char*>(call.receive) + call.share.rank * bytes;
  if (own != call.send && loaded_cuda().memcpy_async(reinterpret_cast<cu::DevicePtr>(own),
                                                     reinterpret_cast<cu::DevicePtr>(call.send),
                                                     bytes, call.stream) != cu::kSuccess)
    return nc::kUnhandledCudaError;
  nc::Return returned = nc::kSuccess;
  for (std::uint32_t mask = 1; mask < call.share.ranks; mask <<= 1U) {
    returned = ended(nccl, call, exchange_half(nccl, call, mask));
    if (returned != nc::kSuccess) return returned;
  }
  return returned;
}

constexpr Operation kHypercube{
    .name = "nccl.hypercube",
    .summary = "NCCL send and receive as an all-gather along the edges of a hypercube",
    .in_place = true,
    .shared_out = true,
    .in_steps = true,
    .moved_count = received_shares,
    .refuses =
        [](std::uint32_t ranks) {
          return (ranks & (ranks - 1)) == 0 ? "" : "a hypercube has 2, 4, 8, 16 ... ranks";
        },
    .receive_count = all_shares,
    .own_offset = own_share,
    .result = shares_of_all,
    .enqueue = queue_exchanges};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclHypercube{nccl::kRowOf<nccl::kHypercube>};
}  // namespace railgauge
