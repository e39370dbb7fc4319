// The rows of the kernels over one link, and the parameters that they declare.
//
// Bandwidth: the initiator keeps `depth` messages in flight on each queue pair and asks for a
// completion on every `signal_every`-th; the target's CPU stays idle, so it cannot bend the number.
// Bytes count once, at the initiator, when their completion is polled. A sample is the bandwidth of
// a window: the messages retired between two polls that found completions, at least `window_writes`
// of them (a fact of the point, chosen so that a window lasts about a millisecond). The headline is
// `rate`: all bytes of the kept windows over all their time, which is what perftest calls average,
// pauses included; the median window and the low slots are beside it. With `iterations` the first
// window begins before the first post and the last ends at the last completion, so that `rate` has
// perftest's meaning exactly.
//
// The latencies are described in ping_pong.cc and completion_latency.cc.
#include "kernels/verbs/kernels.h"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/host_cost/host_cost.h"
#include "kernels/verbs/link/parameters.h"
#include "kernels/verbs/rails/rails.h"
#include "kernels/verbs/staged/by_memory.h"
#include "kernels/verbs/stream/bandwidth_points.h"

namespace railgauge::verbs {
namespace {

// Bounds of the parameters. The adapter's own limits are lower or higher and are checked at run
// time.
constexpr double kMaxDepth = 16'384;
constexpr double kMaxQueuePairs = 1024;
constexpr double kHourNs = 3600e9;
constexpr double kMaxThreads = 16;
constexpr double kMaxGigabits = 10'000;

// The operation's messages, as summaries name them.
const char* plural_of(const Operation& does) {
  if (does.is_atomic()) return "atomics";
  if (does.verb == Verb::kSend) return "sends";
  return does.fetches ? "reads" : "writes";
}

// The shape of the stream: depth, completions, queue pairs, chains.
void add_stream(InfoBuilder& builder, const char* plural) {
  builder
      .integer("depth", fmt::format("{} in flight on each queue pair", plural), 128, 1, kMaxDepth)
      .identity()
      .integer("signal_every",
               fmt::format("{} of a queue pair from one completion to the next, at most depth; "
                           "fewer where they would be more than 8 MiB",
                           plural),
               32, 1, kMaxDepth)
      .identity()
      .integer("qps", "queue pairs, which share one completion queue", 1, 1, kMaxQueuePairs)
      .identity()
      .integer("post_list", fmt::format("{} handed over by one call, as a chain", plural), 1, 1,
               1024)
      .identity();
}

// How requests are handed over, and how fast they may leave.
void add_posting(InfoBuilder& builder) {
  builder
      .choice("post", "",
              "how work requests are handed over: request, ibv_post_send; extended, built in place "
              "by ibv_wr_*, where the provider has them",
              {"request", "extended"})
      .identity()
      .number(
          "rate_limit",
          "the most that may leave, in Gb/s: of the whole stream where the CPU keeps it, of each "
          "queue pair where the adapter does; 0: no limit",
          "0", 0, kMaxGigabits)
      .identity()
      .choice("rate_limit_by", "",
              "who keeps rate_limit: software, the posting CPU; hardware, the adapter's packet "
              "pacing, where the provider has it",
              {"software", "hardware"})
      .identity()
      .integer("rate_burst", "messages that leave together under a rate_limit, at most depth", 1, 1,
               kMaxDepth)
      .identity()
      .integer(
          "threads",
          "threads of each side that drive a port, each with queue pairs and a completion queue "
          "of its own, for rates beyond one core",
          1, 1, kMaxThreads)
      .identity();
}

void add_immediate(InfoBuilder& builder) {
  builder
      .boolean(
          "immediate",
          "each send carries 4 bytes of immediate data, which the proof looks for at the other "
          "side's completions",
          false)
      .identity();
}

// Not for atomics, whose memory nobody registers so.
void add_ordering(InfoBuilder& builder) {
  builder
      .choice("relaxed_ordering", "",
              "register the memory for PCIe relaxed ordering. auto: where libibverbs can, as "
              "NCCL, UCX and perftest do, but not beside a staged twin",
              {"auto", "on", "off"})
      .identity();
}

// Direction and length of the measurement.
void add_manner(InfoBuilder& builder) {
  builder
      .choice("direction", "",
              "one_way: rank 0 is the initiator; both: both are, and what counts is the sum in an "
              "interval that their clocks agree on",
              {"one_way", "both"})
      .identity()
      .duration(
          "duration",
          "measures for this long in slots of 10 ms (longer where 10 completions take longer), "
          "without a stop rule; 0 measures until "
          "the estimate is precise, and 2 s in direction both",
          "0s", 0, kHourNs);
}

// Adds the parameters of streams, and of receives when messages use some.
void add_bandwidth(InfoBuilder& builder, const Operation& does) {
  std::vector<std::string> metrics{kBandwidthMetric, "message_rate_per_second"};
  if (!does.is_atomic()) metrics.emplace_back(kHostCostMetric);
  builder.metrics(metrics);
  if (does.is_atomic())
    add_atomic_operation(builder);
  else
    builder.sizes("64KiB");
  add_stream(builder, plural_of(does));
  add_posting(builder);
  add_poll(builder);
  add_manner(builder);
  if (!does.is_atomic())
    builder
        .choice("buffer", "",
                "hot: short messages move through one page and long ones through the same bytes, "
                "as perftest's do; cold: messages move through 64 MiB, so that none finds the last "
                "one's bytes in a cache",
                {"hot", "cold"})
        .identity();
  builder
      .text("devices",
            "ports of this rank that run at once, as DEV:PORT,DEV:PORT in the order of the rails, "
            "for the same stretch of time; empty takes the endpoint alone. A series is named by "
            "their rails, not by these names",
            "")
      .per_rank()
      .choice(
          "rails", "",
          "of several devices, which talk to which: same: those in one position; cross: each to "
          "the next position; all: each to each",
          {"same", "cross", "all"})
      .identity();
  if (does.takes_receive)
    builder
        .integer("receive_depth", "receives that wait on each queue pair, or in the shared queue",
                 512, 1, kMaxDepth)
        .identity();
  if (does.verb == Verb::kSend)
    builder.boolean("srq", "the target's queue pairs share one receive queue", false)
        .identity()
        .apply(add_immediate);
  if (!does.is_atomic()) builder.apply(add_ordering).apply(add_host_cost);
  builder.sampling(plural_of(does), 30, 10'000).least_time("2s").proof_time();
  add_added_cost(builder,
                 "test control: signal_every at a time, each group completed before the next and "
                 "made longer by this share of its own time");
}

// `signal_every` exists only when completions are not part of the figure: reads and atomics
// complete one by one.
void add_latency(InfoBuilder& builder, const Operation& does) {
  builder.metrics({"latency_ns"});
  if (does.is_atomic())
    add_atomic_operation(builder);
  else
    builder.sizes("8,4KiB");
  if (!does.fetches)
    builder
        .integer("signal_every", fmt::format("{} from one completion to the next", plural_of(does)),
                 1, 1, 1024)
        .identity();
  if (!does.is_atomic())
    builder
        .choice("buffer", "",
                "hot: all messages have the same bytes, as perftest's have; cold: messages move "
                "through 64 MiB, so that none finds the last one's bytes in a cache",
                {"hot", "cold"})
        .identity();
  if (does.verb == Verb::kSend) builder.apply(add_immediate);
  if (does.verb != Verb::kWrite) add_poll(builder);  // a write is waited for in memory
  if (does.may_relax_latency()) add_ordering(builder);
  builder.sampling(does.fetches ? plural_of(does) : "round trips", kLatencySamples, 100'000)
      .proof_time();
  add_added_cost(builder,
                 "test control: each round trip is made longer by this share of its own time");
}

// The transports that carry the operation, and up to which size a latency's messages are sent
// inline: as perftest has it.
ConnectionForm connection_of(const Operation& does, Figure figure) {
  // Each packet of an SRD message finds its own way, so a write's last byte does not come last.
  const bool has_srd =
      !does.is_atomic() && (does.verb != Verb::kWrite || figure == Figure::kBandwidth);
  if (does.fetches) {
    ConnectionForm form{.transports = {"RC", "XRC", "DC"}, .inline_bytes = ""};
    if (has_srd) form.transports.emplace_back("SRD");
    return form;
  }
  const bool sends = does.verb == Verb::kSend;
  ConnectionForm form{.transports = {"RC", "UC"}, .inline_bytes = sends ? "236" : "220"};
  if (sends) form.transports.emplace_back("UD");
  form.transports.emplace_back("XRC");
  form.transports.emplace_back("DC");
  if (has_srd) form.transports.emplace_back("SRD");
  if (figure == Figure::kBandwidth) form.inline_bytes = "0";
  return form;
}

KernelInfo info_of(const KernelForm& form) {
  const Operation& does = operation_of(form.verb);
  InfoBuilder builder(form.name, form.revision, form.summary);
  builder.ranks(2, 2).endpoint("nic");
  form.figure == Figure::kBandwidth ? add_bandwidth(builder, does) : add_latency(builder, does);
  if (does.fetches) add_outstanding(builder);
  add_connection(builder, connection_of(does, form.figure));
  return builder.build();
}

// The kernel for the memory and the devices that the task's parameters choose.
std::unique_ptr<Kernel> make(const KernelForm& form) {
  const bool is_bandwidth = form.figure == Figure::kBandwidth;
  const auto direct = [form, is_bandwidth](const Params& params) {
    if (is_bandwidth && (!params.text("devices").empty() || params.integer("threads") > 1))
      return make_rails(form.verb);
    constexpr std::array kMake{make_bandwidth, make_ping_pong, make_completion_latency};
    return kMake[static_cast<std::size_t>(form.figure)](form.verb);
  };
  return by_memory(direct, form.verb,
                   is_bandwidth ? StagedFigure::kBandwidth : StagedFigure::kLatency);
}

constexpr KernelForm kWriteBw{"verbs.write_bw", 5,
                              "RDMA WRITE bandwidth and message rate between two ports",
                              Verb::kWrite, Figure::kBandwidth};

// Each message also uses up a receive at the target, which gives it out again.
constexpr KernelForm kWriteImmBw{"verbs.write_imm_bw", 4,
                                 "RDMA WRITE with immediate data: bandwidth and message rate",
                                 Verb::kWriteImm, Figure::kBandwidth};

// The bytes flow towards the initiator. As many reads are outstanding on the wire as both devices
// allow (the fact outstanding_reads), however deep the queue.
constexpr KernelForm kReadBw{"verbs.read_bw", 4,
                             "RDMA READ bandwidth and message rate between two ports", Verb::kRead,
                             Figure::kBandwidth};

// The target takes each message into a receive and gives that out again; on RC the adapters wait
// for it, on UC and UD what finds none is lost, and the figure counts the share that arrived.
constexpr KernelForm kSendBw{"verbs.send_bw", 4,
                             "SEND bandwidth and message rate between two ports", Verb::kSend,
                             Figure::kBandwidth};

// 8 bytes each. Each queue pair has words of its own at the target, a cache line apart; their sum
// in the end is the number of operations.
constexpr KernelForm kAtomicBw{
    "verbs.atomic_bw", 3, "RDMA fetch-and-add or compare-and-swap of 8 bytes: rate and bandwidth",
    Verb::kFetchAdd, Figure::kBandwidth};

// Each write is waited for in memory.
constexpr KernelForm kWriteLat{
    "verbs.write_lat", 4, "RDMA WRITE latency between two ports, half a round trip, by ping-pong",
    Verb::kWrite, Figure::kPingPong};

// The completion of a receive announces each message, so the target need not know where its last
// byte is.
constexpr KernelForm kWriteImmLat{
    "verbs.write_imm_lat", 3,
    "RDMA WRITE with immediate data: latency, half a round trip, by ping-pong", Verb::kWriteImm,
    Figure::kPingPong};

// The target takes the messages into receives.
constexpr KernelForm kSendLat{"verbs.send_lat", 4,
                              "SEND latency between two ports, half a round trip, by ping-pong",
                              Verb::kSend, Figure::kPingPong};

// One read at a time. Its data has arrived when it completes, so the figure is a full round trip,
// not half of one.
constexpr KernelForm kReadLat{
    "verbs.read_lat", 4,
    "RDMA READ latency between two ports, a full round trip, from post to completion", Verb::kRead,
    Figure::kCompletion};

// One at a time on one word of the target's, whose last value proves each of them.
constexpr KernelForm kAtomicLat{
    "verbs.atomic_lat", 3,
    "RDMA fetch-and-add or compare-and-swap of 8 bytes: latency, post to completion",
    Verb::kFetchAdd, Figure::kCompletion};

template <const KernelForm& kForm>
constexpr KernelRow kRowOf{[] { return info_of(kForm); }, [] { return make(kForm); }};

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteBw{verbs::kRowOf<verbs::kWriteBw>};
extern const KernelRow kVerbsWriteImmBw{verbs::kRowOf<verbs::kWriteImmBw>};
extern const KernelRow kVerbsReadBw{verbs::kRowOf<verbs::kReadBw>};
extern const KernelRow kVerbsSendBw{verbs::kRowOf<verbs::kSendBw>};
extern const KernelRow kVerbsAtomicBw{verbs::kRowOf<verbs::kAtomicBw>};
extern const KernelRow kVerbsWriteLat{verbs::kRowOf<verbs::kWriteLat>};
extern const KernelRow kVerbsWriteImmLat{verbs::kRowOf<verbs::kWriteImmLat>};
extern const KernelRow kVerbsSendLat{verbs::kRowOf<verbs::kSendLat>};
extern const KernelRow kVerbsReadLat{verbs::kRowOf<verbs::kReadLat>};
extern const KernelRow kVerbsAtomicLat{verbs::kRowOf<verbs::kAtomicLat>};
}  // namespace railgauge
