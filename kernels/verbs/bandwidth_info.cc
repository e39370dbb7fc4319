// The parameters that the bandwidth kernels declare.
#include <fmt/format.h>

#include "kernels/verbs/bandwidth.h"

namespace railgauge::verbs {
namespace {

// Bounds of the parameters. The adapter's own limits are lower or higher and are checked at run
// time.
constexpr double kMaxDepth = 16'384;
constexpr double kMaxQueuePairs = 1024;
constexpr double kHourNs = 3600e9;

// The shape of the stream: depth, completions, queue pairs, chains.
void add_stream(InfoBuilder& builder, const BandwidthForm& form) {
  builder
      .integer("depth", fmt::format("{} in flight on each queue pair", form.plural), 128, 1,
               kMaxDepth)
      .identity()
      .integer("signal_every",
               fmt::format("{} of a queue pair from one completion to the next, at most depth; "
                           "fewer where they would be more than 8 MiB",
                           form.plural),
               32, 1, kMaxDepth)
      .identity()
      .integer("qps", "queue pairs, which share one completion queue", 1, 1, kMaxQueuePairs)
      .identity()
      .integer("post_list", fmt::format("{} handed over by one call, as a chain", form.plural), 1,
               1, 1024)
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
          "the estimate is precise, and 1 s in direction both",
          "0s", 0, kHourNs);
}

}  // namespace

// Parameters that an operation cannot use are absent from its kernel: sizes of atomics, receives of
// writes and reads.
KernelInfo bandwidth_info(const BandwidthForm& form) {
  const Operation& does = operation_of(form.verb);
  InfoBuilder builder(form.name, form.revision, form.summary);
  builder.ranks(2, 2).endpoint("nic").metrics(
      {"bandwidth_bytes_per_second", "message_rate_per_second"});
  if (does.is_atomic())
    add_atomic_operation(builder);
  else
    builder.sizes("64KiB");
  add_stream(builder, form);
  add_poll(builder);
  add_manner(builder);
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
    builder.boolean("srq", "the target's queue pairs share one receive queue", false).identity();
  if (!does.is_atomic())
    builder.boolean("relaxed_ordering", "register the memory for PCIe relaxed ordering", false)
        .identity();
  builder.sampling(form.plural, 30, 10'000);
  // Present in every kernel, so that tests can slow any of them.
  add_added_cost(builder,
                 "test control: signal_every at a time, each group completed before the next and "
                 "made longer by this share of its own time");
  add_connection(builder, form.connection);
  return builder.build();
}

}  // namespace railgauge::verbs
