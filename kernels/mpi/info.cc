#include "kernels/mpi/info.h"

#include <string>

#include "kernels/core/info_builder.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/tunables.h"

namespace railgauge::mpi {
namespace {

constexpr std::int64_t kDefaultWindow = 64;

std::vector<std::string> metrics_of(const Operation& operation) {
  switch (operation.figure) {
    case Figure::kLatency:
      return {"latency_ns"};
    case Figure::kBandwidth:
      return {"bandwidth_bytes_per_second"};
    case Figure::kRate:
      return {"message_rate_per_second"};
  }
  return {};
}

// How ranks come to run on other nodes; nothing of it is part of what is measured, but for a chosen
// installation.
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

void add_memory(InfoBuilder& builder) {
  builder
      .choice("memory", "",
              "where messages are: host, device, or managed by CUDA; a rank's GPU is the endpoint, "
              "or the one of its number on its node",
              {"host", "device", "managed"})
      .identity()
      .choice("peer_memory", "", "the same for all ranks but the first",
              {"same", "host", "device", "managed"})
      .identity()
      .choice(
          "gpu_path", "",
          "direct: MPI gets the GPU's memory itself and must be CUDA-aware; staged: messages are "
          "copied through host memory, as with GPUDirect off",
          {"direct", "staged"})
      .identity();
}

void add_sampling(InfoBuilder& builder, const Operation& operation) {
  if (operation.figure == Figure::kLatency && operation.timed == Timed::kFirst)
    builder.sampling(operation.divisor == 2 ? "round trips" : "calls", 1000, 100'000);
  else if (operation.figure == Figure::kLatency)
    builder.sampling("calls", 200, 100'000);
  else
    builder.sampling("windows", 30, 10'000);
}

}  // namespace

KernelInfo info_of(const Operation& operation) {
  InfoBuilder builder(std::string(operation.name), 1, std::string(operation.summary));
  builder.ranks(2, operation.pair ? 2 : 0).endpoint("none").metrics(metrics_of(operation));
  builder.choice("mpi", "", "which MPI measures: its program and launcher", {"openmpi", "mpich"})
      .identity();
  builder.apply(add_launch);
  // A bandwidth of empty messages is none.
  const double least = operation.reduces                        ? sizeof(float)
                       : operation.figure == Figure::kBandwidth ? 1
                                                                : 0;
  if (operation.sized) builder.sizes(std::string(operation.sizes), least).apply(add_memory);
  if (operation.windowed)
    builder
        .integer("window", "messages in flight", kDefaultWindow, 1,
                 static_cast<double>(kMostWindow))
        .identity();
  if (operation.rooted)
    builder.integer("root", "the rank that has the message or gets the sum", 0, 0, 1e6).identity();
  builder.integer("skip", "with iterations: so many of them first that count for nothing", 0, 0,
                  1e6);
  if (operation.sized)
    builder
        .integer("large_iterations", "in place of iterations above 8 KiB; 0: the same", 0, 0, 1e6)
        .integer("large_skip", "in place of skip above 8 KiB, with large_iterations", 0, 0, 1e6);
  add_tunables(builder);
  add_sampling(builder, operation);
  return builder.build();
}

std::unique_ptr<Kernel> make_kernel(const Operation& operation) {
  return std::make_unique<Bench>(operation);
}

}  // namespace railgauge::mpi
