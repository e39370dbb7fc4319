// NCCL's collectives, as nccl-tests has them. Busbw follows from how often a byte crosses a link.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// Queues one of NCCL's own calls. All take the same arguments, except for the reduction and the
// root, which come between type and communicator.
template <class Function, class... Own>
nc::Return queue(Function function, const Call& call, Own... own) {
  return function(call.send, call.receive, call.share.count, call.type, own..., call.comm,
                  call.stream);
}

int root_of(const Call& call) { return static_cast<int>(call.share.root); }
bool is_root(const Share& share) { return share.rank == share.root; }

// Every rank has the shares of all ranks, in rank order. Each byte but the own share passes every
// rank once.
constexpr Operation kAllGather{
    .name = "nccl.all_gather",
    .summary = "NCCL all-gather: every rank gets every rank's share",
    .log_name = "AllGather",
    .in_place = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .receive_count = all_shares,
    .own_offset = own_share,
    .result = shares_of_all,
    .enqueue = [](const Nccl& nccl, const Call& call) { return queue(nccl.all_gather, call); },
    .call_name = "ncclAllGather"};

// Every rank has the reduction of all ranks' buffers. In a ring each byte is sent on 2(n - 1)/n
// times, reduce-scatter and all-gather.
constexpr Operation kAllReduce{
    .name = "nccl.all_reduce",
    .summary = "NCCL all-reduce: every rank gets the reduction of all",
    .log_name = "AllReduce",
    .reduces = true,
    .in_place = true,
    .bus_factor = factor_both_ways,
    .result = [](const Share& share) -> std::vector<Segment> { return {{.count = share.count}}; },
    .enqueue = [](const Nccl& nccl,
                  const Call& call) { return queue(nccl.all_reduce, call, call.reduction); },
    .call_name = "ncclAllReduce"};

// Every rank sends another share to each rank: its share is at the same place of every sender's
// buffer. Not in place: no release of NCCL has that.
constexpr Operation kAllToAll{
    .name = "nccl.all_to_all",
    .summary = "NCCL all-to-all: every rank sends another share to each rank",
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = all_shares,
    .receive_count = all_shares,
    .result =
        [](const Share& share) {
          std::vector<Segment> segments = shares_of_all(share);
          for (Segment& segment : segments) segment.first = own_share(share);
          return segments;
        },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return nccl.all_to_all != nullptr
                     ? queue(nccl.all_to_all, call)
                     : exchange(nccl, call, {.to_all = true, .from_all = true});
        },
    .call_name = "ncclAlltoAll",
    .has_call = [](const Nccl& nccl) { return nccl.all_to_all != nullptr; }};

// Every rank has the root's buffer. Each byte passes every link of the ring once.
constexpr Operation kBroadcast{
    .name = "nccl.broadcast",
    .summary = "NCCL broadcast: every rank gets the root's buffer",
    .log_name = "Broadcast",
    .rooted = true,
    .in_place = true,
    .send_count = one_share_of_root,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count, .source = static_cast<int>(share.root)}};
    },
    .enqueue = [](const Nccl& nccl,
                  const Call& call) { return queue(nccl.broadcast, call, root_of(call)); },
    .call_name = "ncclBroadcast"};

// The root has the shares of all ranks, in rank order. ncclGather is there from some release on;
// before, its root receives from all in one group.
constexpr Operation kGather{
    .name = "nccl.gather",
    .summary = "NCCL gather: the root gets every rank's share",
    .rooted = true,
    .in_place = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .receive_count = all_shares_of_root,
    .own_offset = own_share,
    .result =
        [](const Share& share) {
          return is_root(share) ? shares_of_all(share) : std::vector<Segment>{};
        },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          const int root = root_of(call);
          return nccl.gather != nullptr
                     ? queue(nccl.gather, call, root)
                     : exchange(nccl, call, {.from_all = is_root(call.share), .to_one = root});
        },
    .call_name = "ncclGather",
    .has_call = [](const Nccl& nccl) { return nccl.gather != nullptr; }};

// The root has the reduction of all ranks' buffers. Other ranks have no receive buffer: NCCL
// ignores theirs.
constexpr Operation kReduce{.name = "nccl.reduce",
                            .summary = "NCCL reduce: the root gets the reduction of all",
                            .log_name = "Reduce",
                            .reduces = true,
                            .rooted = true,
                            .in_place = true,
                            .receive_count = one_share_of_root,
                            .result = [](const Share& share) -> std::vector<Segment> {
                              return {{.count = one_share_of_root(share)}};
                            },
                            .enqueue =
                                [](const Nccl& nccl, const Call& call) {
                                  return queue(nccl.reduce, call, call.reduction, root_of(call));
                                },
                            .call_name = "ncclReduce"};

// Every rank has its share of the reduction of all ranks' buffers. In place the result is at this
// rank's own share of the send buffer.
constexpr Operation kReduceScatter{
    .name = "nccl.reduce_scatter",
    .summary = "NCCL reduce-scatter: each rank gets its share of the reduction of all",
    .log_name = "ReduceScatter",
    .reduces = true,
    .in_place = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = all_shares,
    .own_offset = own_share,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count, .first = own_share(share)}};
    },
    .enqueue = [](const Nccl& nccl,
                  const Call& call) { return queue(nccl.reduce_scatter, call, call.reduction); },
    .call_name = "ncclReduceScatter"};

// Every rank has its share of the root's buffer. ncclScatter is there from some release on; before,
// its root sends to all in one group.
constexpr Operation kScatter{
    .name = "nccl.scatter",
    .summary = "NCCL scatter: each rank gets its share of the root's buffer",
    .rooted = true,
    .in_place = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = all_shares_of_root,
    .own_offset = own_share,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count,
               .source = static_cast<int>(share.root),
               .first = own_share(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          const int root = root_of(call);
          return nccl.scatter != nullptr
                     ? queue(nccl.scatter, call, root)
                     : exchange(nccl, call, {.to_all = is_root(call.share), .from_one = root});
        },
    .call_name = "ncclScatter",
    .has_call = [](const Nccl& nccl) { return nccl.scatter != nullptr; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclAllGather{nccl::kRowOf<nccl::kAllGather>};
extern const KernelRow kNcclAllReduce{nccl::kRowOf<nccl::kAllReduce>};
extern const KernelRow kNcclAllToAll{nccl::kRowOf<nccl::kAllToAll>};
extern const KernelRow kNcclBroadcast{nccl::kRowOf<nccl::kBroadcast>};
extern const KernelRow kNcclGather{nccl::kRowOf<nccl::kGather>};
extern const KernelRow kNcclReduce{nccl::kRowOf<nccl::kReduce>};
extern const KernelRow kNcclReduceScatter{nccl::kRowOf<nccl::kReduceScatter>};
extern const KernelRow kNcclScatter{nccl::kRowOf<nccl::kScatter>};
}  // namespace railgauge
