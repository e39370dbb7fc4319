// The declaration of an operation's kernel.
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/gpu/session/session.h"
#include "kernels/nccl/communicator/environment.h"
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// Bounds and defaults of the declared parameters.
constexpr double kMaxSizeBytes = 8.0 * (1U << 30U);
constexpr const char* kSizes = "8,1KiB,64KiB,1MiB,16MiB,128MiB,512MiB";
constexpr std::int64_t kMinSamples = 40;
constexpr std::int64_t kMaxSamples = 10'000;
constexpr std::int64_t kGraphCalls = 20;
constexpr std::int64_t kMaxRoot = 65'535;
constexpr double kOneSecondNs = 1e9;

void add_traffic_parameters(InfoBuilder& builder) {
  builder
      .number("spread",
              "how unequal the parts are: 0: all alike; 1: the farther the ranks, the more, and "
              "nothing to itself",
              "1", 0, 1)
      .identity()
      .text("traffic",
            "in place of spread, a square matrix of bytes: row i has what rank i sends to each "
            "rank; numbers apart by blanks or commas, rows by `;`. A size scales it: so much has "
            "the rank that sends or receives most",
            "")
      .identity();
}

// A call in steps cannot be part of a group, nor continue in the background between its steps.
void add_group_parameters(InfoBuilder& builder, const Operation& operation) {
  if (!operation.in_steps)
    builder.integer("aggregate", "calls in one group of NCCL, which starts them together", 1, 1, 64)
        .identity()
        .boolean("blocking",
                 "false: a communicator whose calls return at once, and are asked for their end",
                 true)
        .identity();
  builder
      .text("split",
            "groups of ranks that work at once, each in a communicator by ncclCommSplit: `mod 2`, "
            "`div 8`, `and 0x7`, `or 0x7`, as NCCL_TESTS_SPLIT; a figure is that of one group",
            "")
      .identity()
      .choice(
          "cta_policy", "",
          "how many of the GPU's processors a collective may take: NCCL's own choice, or one of "
          "its policies",
          {"site", "default", "efficiency", "zero"})
      .identity();
}

}  // namespace

// Parameters that an operation does not use are not declared, so a task cannot set them.
KernelInfo info_of(const Operation& operation) {
  // Since revision 5 the calls move through cold memory.
  InfoBuilder builder(operation.name, 5, operation.summary);
  builder.ranks(1, 0)
      .endpoint("gpu")
      .metrics({"latency_ns", "algbw_bytes_per_second", "busbw_bytes_per_second", kPortMetric})
      .sizes(kSizes)
      .choice("datatype", "", "type of the elements", datatype_names())
      .identity();
  if (operation.reduces)
    builder.choice("reduction", "", "how elements are reduced", reduction_names()).identity();
  if (operation.rooted)
    builder.integer("root", "rank that gives, or gets", 0, 0, kMaxRoot).identity();
  if (operation.in_place)
    builder.boolean("in_place", "the result replaces the input", false).identity();
  if (operation.has_traffic) builder.apply(add_traffic_parameters);
  builder.choice("mode", "", "calls one by one, or as a CUDA graph", {"events", "graph"})
      .identity()
      .integer("graph_calls", "calls in one graph", kGraphCalls, 1, 1000)
      .identity()
      .choice("registered", "",
              "true: memory by NCCL, registered with the communicator; symmetric: as a window of "
              "all ranks, at the same place of each; allocated: by NCCL, which may register what "
              "a graph captures, and by CUDA where NCCL is older than 2.19",
              {"false", "true", "symmetric", "allocated"})
      .identity()
      .choice(
          "buffer", "",
          "cold: each call moves the next bytes of memory twice as large as the GPU's L2 cache, as "
          "nccl-tests moves through its buffer; hot: the same bytes each time. A graph repeats the "
          "places of "
          "its calls, and its points say whether that is cold",
          {"cold", "hot"})
      .identity()
      .integer("repeat",
               "calls in a row that share a sample, which is their mean; 0: as many as last 1 ms, "
               "at most 20",
               1, 0, 1000)
      .identity()
      .apply([&](InfoBuilder& made) { add_group_parameters(made, operation); })
      .duration("stall_timeout", "give up when one sample takes longer", "60s", kOneSecondNs / 10,
                3600 * kOneSecondNs)
      .duration("join_timeout", "give up when the ranks have not joined by then", "120s",
                kOneSecondNs / 10, 3600 * kOneSecondNs)
      .boolean(
          "tell_choice",
          "one more call of each size, outside the timed ones, to learn algorithm and protocol",
          true)
      .apply(add_environment_parameters)
      .sampling("iterations", kMinSamples, kMaxSamples)
      .least_time("2s")
      .proof_time()
      .apply(gpu::add_session_parameters);
  KernelInfo info = builder.build();
  for (ParameterInfo& parameter : *info.mutable_parameters())
    if (parameter.name() == "sizes") parameter.set_maximum(kMaxSizeBytes);
  return info;
}

}  // namespace railgauge::nccl
