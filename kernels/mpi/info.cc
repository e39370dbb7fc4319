// The declarations of the MPI kernels: parameters, metrics and their order follow from the
// operation's flags.
#include "kernels/mpi/info.h"

#include <string>
#include <vector>

#include "kernels/core/info_builder.h"
#include "kernels/mpi/tunables.h"

namespace railgauge::mpi {

// The names are part of results and never change.
PointNames names_of(const Operation& operation) {
  const std::string meaning(operation.meaning);
  if (operation.figure == Figure::kLatency)
    return {.metric = "latency_ns", .meaning = meaning, .unit = "ns"};
  const std::string unit = operation.figure == Figure::kRate ? "per_second" : "bytes_per_second";
  return {.metric = (operation.figure == Figure::kRate ? "message_rate_" : "bandwidth_") + unit,
          .meaning = meaning,
          .unit = unit,
          .larger_is_better = true};
}

// Any other word is the form that a kernel has without the parameter.
Form form_of(std::string_view word) {
  if (word == "persistent") return Form::kPersistent;
  return word == "nonblocking" ? Form::kNonBlocking : Form::kBlocking;
}

Sync sync_of(std::string_view word) {
  if (word == "fence") return Sync::kFence;
  if (word == "pscw") return Sync::kPostStart;
  return word == "lock" ? Sync::kLock : Sync::kFlush;
}

namespace {

constexpr std::int64_t kDefaultThreads = 2;
constexpr double kMostThreads = 64;
constexpr double kMostColdBytes = 64.0 * (1U << 30U);  // more than two of any cache
// The window of the OSU bandwidth programs, so that figures compare.
constexpr std::int64_t kDefaultWindow = 64;

// Declares the parameters of launching ranks on other nodes; only a chosen installation is part of
// the identity.
void add_launch(InfoBuilder& builder) {
  builder
      .text("mpi_installation",
            "one that the agents' setting mpi_installations names; empty: the one that is found",
            "")
      .identity()
      .choice(
          "launch", "",
          "under agents: how the MPI's launcher reaches other nodes; agent: through us, without "
          "ssh",
          {"agent", "ssh", "slurm"})
      .text("data_network",
            "under agents: the network (192.0.2.0/24) or interface of launchers and TCP; empty: "
            "the first RDMA port's",
            "");
}

// The parameters that choose the memory of the messages. All are part of a figure's identity: host
// and GPU memory are never compared with each other.
void add_memory(InfoBuilder& builder) {
  builder
      .choice("memory", "",
              "where messages are: host, device, or managed by CUDA; a rank's GPU is the endpoint, "
              "or the one of its number on its node",
              {"host", "device", "managed"})
      .identity()
      .choice("peer_memory", "", "the same for all ranks but the first",
              {"same", "host", "device", "managed"})
      .identity();
}

// Memory of messages that are copied around the calls, and of samples that move.
void add_gpu_path(InfoBuilder& builder, const Operation& operation) {
  if (operation.stages)
    builder
        .choice("gpu_path", "",
                "direct: MPI gets the GPU's memory itself and must be CUDA-aware; staged: messages "
                "are copied through host memory, as with GPUDirect off",
                {"direct", "staged"})
        .identity();
  // Memory that every call changes is one place.
  if (operation.effect != Effect::kReplaces || operation.threads) return;
  builder
      .choice("buffer", "",
              "hot: the same bytes each time, as in OSU's programs; cold: each sample moves the "
              "next bytes of cold_memory, so that none finds a recent one's in a cache",
              {"hot", "cold"})
      .identity()
      .bytes("cold_memory",
             "through which cold samples move, for each buffer of a rank; at least twice the "
             "last-level cache",
             "256MiB", kMostColdBytes)
      .identity();
}

// The forms of a kernel's calls, where it has several.
void add_forms(InfoBuilder& builder, const Operation& operation) {
  if (operation.what != Collective::kNone) {
    builder
        .choice(
            "call", "",
            "blocking: one call; nonblocking: one that begins and one that waits, and exposed_ns "
            "is what computation beside it does not hide; persistent: a request that is "
            "made once, where the library has MPI 4's",
            {"blocking", "nonblocking", "persistent"})
        .identity()
        .integer("polls", "nonblocking: calls of MPI_Test within the computation", 0, 0, 1e6)
        .identity();
    if (operation.parts != nullptr && !operation.reduces)
      builder
          .choice("blocks", "",
                  "equal: each of the size, as in OSU's programs; uneven: half and one and a half "
                  "of it in turn",
                  {"equal", "uneven"})
          .identity();
  }
  if (operation.in_place != InPlace::kNever)
    builder
        .boolean("in_place",
                 "the call has MPI_IN_PLACE: a rank's input is in its receive buffer, put there "
                 "before each call outside of its time",
                 false)
        .identity();
  if (operation.syncs)
    builder
        .choice("sync", "",
                "how calls are confirmed: flush within one long epoch; fence, pscw (post, start, "
                "complete, wait) or lock: an epoch for each sample",
                {"flush", "fence", "pscw", "lock"})
        .identity();
  if (operation.threads)
    builder
        .integer("threads", "threads of each rank, which exchange messages at once",
                 kDefaultThreads, 1, kMostThreads)
        .identity();
  if (operation.requests == Requests::kNone) return;
  const char* usual = operation.requests == Requests::kOfCalls ? "blocking" : "nonblocking";
  builder
      .choice("call", "", "how messages are sent and received; persistent: by requests made once",
              {usual, "persistent"})
      .identity();
}

// Defaults and upper bounds of the sample count.
void add_sampling(InfoBuilder& builder, const Operation& operation) {
  if (operation.once)
    builder.sampling("launches", 1, 1);
  else if (operation.figure != Figure::kLatency)
    builder.sampling("windows", 30, 10'000).least_time("2s");
  else
    builder.sampling(
        operation.timed == Timed::kFirst && operation.divisor == 2 ? "round trips" : "calls",
        kLatencySamples, 100'000);
}

}  // namespace

// Whether messages are whole 32-bit numbers.
bool is_of_words(const Operation& operation) {
  return operation.reduces || operation.effect == Effect::kAddsWords;
}

// The declared parameters follow from the operation's flags, so that no kernel offers a parameter
// that it would ignore.
KernelInfo info_of(const Operation& operation) {
  // In revision 2 the figures of a rate have all time in them, and latencies have 5,000 samples. In
  // revision 3 the windows between two ranks use one buffer, and mpi.rate is the mean of the pairs'
  // times.
  const bool between_two_sides = operation.windowed && operation.exposed == Exposed::kNothing;
  InfoBuilder builder(std::string(operation.name), operation.revision,
                      std::string(operation.summary));
  std::vector<std::string> metrics{names_of(operation).metric};
  if (operation.what != Collective::kNone) metrics.emplace_back(kExposedMetric);
  builder.ranks(2, operation.pair ? 2 : 0).endpoint("none").metrics(metrics);
  builder.choice("mpi", "", "which MPI measures: its program and launcher", {"openmpi", "mpich"})
      .identity();
  builder.apply(add_launch);
  // An empty message has no bandwidth.
  const double least = is_of_words(operation)                   ? sizeof(float)
                       : operation.figure == Figure::kBandwidth ? 1
                                                                : 0;
  if (operation.sized && !operation.number) builder.sizes(std::string(operation.sizes), least);
  if (operation.sized) {
    add_memory(builder);
    add_gpu_path(builder, operation);
  }
  add_forms(builder, operation);
  if (operation.windowed)
    builder
        .integer("window", "messages in flight", kDefaultWindow, 1,
                 static_cast<double>(kMostWindow))
        .identity();
  if (between_two_sides)
    builder
        .choice("buffers", "",
                "where a window's messages are: single: all in one buffer, as in OSU's programs; "
                "each: each in its own place",
                {"single", "each"})
        .identity();
  if (operation.timed == Timed::kAll)
    builder
        .choice("over_ranks", "",
                "a sample is the time of the slowest rank, or the mean of all ranks' times, as in "
                "OSU's programs",
                {"slowest", "mean"})
        .identity();
  if (operation.rooted)
    builder.integer("root", "the rank that has the message or gets the sum", 0, 0, 1e6).identity();
  builder.integer("skip", "with iterations: so many of them first that count for nothing", 0, 0,
                  1e6);
  if (operation.sized && !operation.number)
    builder
        .integer("large_iterations", "in place of iterations above 8 KiB; 0: the same", 0, 0, 1e6)
        .integer("large_skip", "in place of skip above 8 KiB, with large_iterations", 0, 0, 1e6);
  add_tunables(builder);
  add_sampling(builder, operation);
  if (operation.sized) builder.proof_time();
  return builder.build();
}

}  // namespace railgauge::mpi
