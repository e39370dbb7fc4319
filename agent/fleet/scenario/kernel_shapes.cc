#include "agent/fleet/scenario/kernel_shapes.h"

#include <algorithm>
#include <array>

#include "kernels/core/text/text.h"

namespace railgauge::fleet {
namespace {

using Pace = KernelShape::Pace;

constexpr std::string_view kSmall = "8";
constexpr std::string_view kMiddle = "64KiB";
constexpr std::string_view kLarge = "8MiB";

// Constants of a current server, of the right order of magnitude: a model of one needs no more.
constexpr std::array kShapes{
    KernelShape{"bar.crossover", Route::kWithHost, Metrics::kCrossover, "crossing", Pace::kPcie, 0,
                6'000, 0.9, kMiddle},
    KernelShape{"bar.map_cost", Route::kWithHost, Metrics::kMapCosts, "completion", Pace::kPcie, 0,
                90'000, 0.9, kMiddle},
    KernelShape{"bar.ping_pong", Route::kWithHost, Metrics::kLatency, "rtt", Pace::kPcie, 0, 1'700,
                0.9, ""},
    KernelShape{"bar.read_bw", Route::kWithHost, Metrics::kRate, "unidirectional", Pace::kPcie, 0,
                800, 0.015, kMiddle},
    KernelShape{"bar.read_lat", Route::kWithHost, Metrics::kLatency, "completion", Pace::kPcie, 0,
                800, 0.015, kSmall},
    KernelShape{"bar.sanity", Route::kWithHost, Metrics::kCheck, "completion", Pace::kPcie, 0, 2e6,
                0.9, ""},
    KernelShape{"bar.shared_bw", Route::kWithHost, Metrics::kRate, "overlap_sum", Pace::kPcie, 0,
                130, 0.33, kMiddle},
    KernelShape{"bar.write_bw", Route::kWithHost, Metrics::kRate, "unidirectional", Pace::kPcie, 0,
                130, 0.33, kMiddle},
    KernelShape{"bar.write_lat", Route::kWithHost, Metrics::kLatency, "posted", Pace::kPcie, 0, 130,
                0.33, kSmall},
    KernelShape{"cuda.broadcast_bw", Route::kFromRoot, Metrics::kRate, "overlap_sum", Pace::kGpu, 1,
                4'000, 0.9, kLarge},
    KernelShape{"cuda.copy_latency", Route::kWithHost, Metrics::kLatency, "completion", Pace::kPcie,
                0, 6'500, 1, kSmall},
    KernelShape{"cuda.fan_copy_bw", Route::kWithGpus, Metrics::kRate, "overlap_sum", Pace::kGpu, 0,
                9'000, 0.98, kLarge},
    KernelShape{"cuda.host_copy_bw", Route::kWithHost, Metrics::kRate, "unidirectional",
                Pace::kPcie, 0, 9'000, 1, kLarge},
    KernelShape{"cuda.host_latency", Route::kWithHost, Metrics::kLatency, "dependent_load",
                Pace::kPcie, 0, 1'100, 1, ""},
    KernelShape{"cuda.local_copy_bw", Route::kWithinGpu, Metrics::kRate, "copied_once", Pace::kGpu,
                0, 4'000, 3.5, kLarge},
    KernelShape{"cuda.peer_copy_bw", Route::kWithGpus, Metrics::kRate, "unidirectional", Pace::kGpu,
                0, 9'000, 1, kLarge},
    KernelShape{"cuda.peer_latency", Route::kWithGpus, Metrics::kLatency, "dependent_load",
                Pace::kGpu, 0, 750, 1, ""},
    KernelShape{"cuda.rank_copy_bw", Route::kForth, Metrics::kRate, "unidirectional", Pace::kGpu, 1,
                4'000, 0.9, kLarge},
    KernelShape{"cuda.ranks_copy_bw", Route::kRing, Metrics::kRate, "overlap_sum", Pace::kGpu, 1,
                4'000, 0.9, kLarge},
    KernelShape{"mpi.accumulate_lat", Route::kRound, Metrics::kLatency, "completion", Pace::kNic, 2,
                600, 0.6, kSmall},
    KernelShape{"mpi.all_gather", Route::kRing, Metrics::kLatency, "completion", Pace::kNic, 1.6,
                900, 0.9, kSmall, 1},
    KernelShape{"mpi.all_gather_v", Route::kRing, Metrics::kLatency, "completion", Pace::kNic, 1.6,
                1'000, 0.9, kSmall, 1},
    KernelShape{"mpi.all_reduce", Route::kRing, Metrics::kLatency, "completion", Pace::kNic, 1.8,
                1'100, 0.85, kSmall, 2},
    KernelShape{"mpi.all_to_all", Route::kAllToAll, Metrics::kLatency, "completion", Pace::kNic,
                1.9, 1'000, 0.8, kSmall, 1},
    KernelShape{"mpi.all_to_all_v", Route::kAllToAll, Metrics::kLatency, "completion", Pace::kNic,
                1.9, 1'100, 0.8, kSmall, 1},
    KernelShape{"mpi.all_to_all_w", Route::kAllToAll, Metrics::kLatency, "completion", Pace::kNic,
                1.9, 1'400, 0.75, kSmall, 1},
    KernelShape{"mpi.barrier", Route::kRing, Metrics::kLatency, "completion", Pace::kNic, 1.4, 700,
                1, ""},
    KernelShape{"mpi.bibw", Route::kRound, Metrics::kRate, "bidirectional_sum", Pace::kNic, 1, 400,
                1.9, kLarge},
    KernelShape{"mpi.broadcast", Route::kFromRoot, Metrics::kLatency, "completion", Pace::kNic, 1.4,
                800, 0.9, kSmall},
    KernelShape{"mpi.bw", Route::kForth, Metrics::kRate, "unidirectional", Pace::kNic, 1, 400, 0.98,
                kLarge},
    KernelShape{"mpi.compare_and_swap_lat", Route::kRound, Metrics::kLatency, "completion",
                Pace::kNic, 2, 500, 1, ""},
    KernelShape{"mpi.fan_in_bw", Route::kToRoot, Metrics::kRate, "sum_of_senders", Pace::kNic, 1,
                400, 0.95, kLarge},
    KernelShape{"mpi.fan_out_bw", Route::kFromRoot, Metrics::kRate, "sum_of_receivers", Pace::kNic,
                1, 400, 0.95, kLarge},
    KernelShape{"mpi.fetch_and_add_lat", Route::kRound, Metrics::kLatency, "completion", Pace::kNic,
                2, 500, 1, ""},
    KernelShape{"mpi.gather", Route::kToRoot, Metrics::kLatency, "completion", Pace::kNic, 1.5, 800,
                0.85, kSmall},
    KernelShape{"mpi.gather_v", Route::kToRoot, Metrics::kLatency, "completion", Pace::kNic, 1.5,
                900, 0.85, kSmall},
    KernelShape{"mpi.get_accumulate_lat", Route::kRound, Metrics::kLatency, "completion",
                Pace::kNic, 2.2, 700, 0.6, kSmall},
    KernelShape{"mpi.get_bw", Route::kBack, Metrics::kRate, "unidirectional", Pace::kNic, 2, 400,
                0.97, kLarge},
    KernelShape{"mpi.get_lat", Route::kRound, Metrics::kLatency, "completion", Pace::kNic, 2, 500,
                0.97, kSmall},
    KernelShape{"mpi.get_multi_bw", Route::kHalves, Metrics::kRate, "sum_of_pairs", Pace::kNic, 2,
                400, 0.97, kLarge},
    KernelShape{"mpi.get_multi_lat", Route::kHalves, Metrics::kLatency, "completion", Pace::kNic, 2,
                500, 0.97, kSmall},
    KernelShape{"mpi.init", Route::kRing, Metrics::kLatency, "completion", Pace::kNic, 0, 2e8, 1,
                ""},
    KernelShape{"mpi.lat", Route::kRound, Metrics::kLatency, "half_rtt", Pace::kNic, 1, 300, 0.98,
                kSmall},
    KernelShape{"mpi.multi_lat", Route::kHalves, Metrics::kLatency, "half_rtt", Pace::kNic, 1, 300,
                0.98, kSmall},
    KernelShape{"mpi.neighbor_all_gather", Route::kRing, Metrics::kLatency, "completion",
                Pace::kNic, 1.2, 500, 0.9, kSmall},
    KernelShape{"mpi.neighbor_all_gather_v", Route::kRing, Metrics::kLatency, "completion",
                Pace::kNic, 1.2, 600, 0.9, kSmall},
    KernelShape{"mpi.neighbor_all_to_all", Route::kRing, Metrics::kLatency, "completion",
                Pace::kNic, 1.2, 500, 0.9, kSmall},
    KernelShape{"mpi.neighbor_all_to_all_v", Route::kRing, Metrics::kLatency, "completion",
                Pace::kNic, 1.2, 600, 0.9, kSmall},
    KernelShape{"mpi.neighbor_all_to_all_w", Route::kRing, Metrics::kLatency, "completion",
                Pace::kNic, 1.2, 800, 0.85, kSmall},
    KernelShape{"mpi.put_bibw", Route::kRound, Metrics::kRate, "bidirectional_sum", Pace::kNic, 1,
                400, 1.9, kLarge},
    KernelShape{"mpi.put_bw", Route::kForth, Metrics::kRate, "unidirectional", Pace::kNic, 1, 400,
                0.98, kLarge},
    KernelShape{"mpi.put_lat", Route::kRound, Metrics::kLatency, "completion", Pace::kNic, 2, 400,
                0.97, kSmall},
    KernelShape{"mpi.rate", Route::kHalves, Metrics::kMessages, "unidirectional", Pace::kNic, 0.1,
                90, 0.9, kSmall},
    KernelShape{"mpi.reduce", Route::kToRoot, Metrics::kLatency, "completion", Pace::kNic, 1.5, 900,
                0.85, kSmall},
    KernelShape{"mpi.reduce_scatter", Route::kRing, Metrics::kLatency, "completion", Pace::kNic,
                1.7, 1'000, 0.85, kSmall, 1},
    KernelShape{"mpi.reduce_scatter_block", Route::kRing, Metrics::kLatency, "completion",
                Pace::kNic, 1.7, 1'000, 0.85, kSmall, 1},
    KernelShape{"mpi.scatter", Route::kFromRoot, Metrics::kLatency, "completion", Pace::kNic, 1.5,
                800, 0.85, kSmall},
    KernelShape{"mpi.scatter_v", Route::kFromRoot, Metrics::kLatency, "completion", Pace::kNic, 1.5,
                900, 0.85, kSmall},
    KernelShape{"mpi.threads_lat", Route::kRound, Metrics::kLatency, "half_rtt", Pace::kNic, 1, 900,
                0.9, kSmall},
    KernelShape{"nccl.all_gather", Route::kRing, Metrics::kCollective, "completion", Pace::kGpu, 2,
                14'000, 0.95, kLarge, 1},
    KernelShape{"nccl.all_reduce", Route::kRing, Metrics::kCollective, "completion", Pace::kGpu, 2,
                16'000, 0.97, kLarge, 2},
    KernelShape{"nccl.all_to_all", Route::kAllToAll, Metrics::kCollective, "completion", Pace::kGpu,
                2, 18'000, 0.85, kLarge, 1},
    KernelShape{"nccl.all_to_all_v", Route::kAllToAll, Metrics::kCollective, "completion",
                Pace::kGpu, 2, 18'000, 0.85, kLarge, 1},
    KernelShape{"nccl.broadcast", Route::kRing, Metrics::kCollective, "completion", Pace::kGpu, 2,
                14'000, 0.95, kLarge},
    KernelShape{"nccl.gather", Route::kToRoot, Metrics::kCollective, "completion", Pace::kGpu, 2,
                15'000, 0.85, kLarge, 1},
    KernelShape{"nccl.gin_get_lat", Route::kToRoot, Metrics::kLatency, "completion", Pace::kNic, 2,
                3'000, 0.9, "8,1KiB,64KiB"},
    KernelShape{"nccl.gin_put_lat", Route::kRing, Metrics::kLatency, "hop", Pace::kNic, 1, 3'000,
                0.9, "8,1KiB,64KiB"},
    KernelShape{"nccl.gin_signal_lat", Route::kRing, Metrics::kLatency, "hop", Pace::kNic, 1, 3'000,
                0.9, ""},
    KernelShape{"nccl.hypercube", Route::kAllToAll, Metrics::kCollective, "completion", Pace::kGpu,
                2, 20'000, 0.85, kLarge},
    KernelShape{"nccl.init", Route::kRing, Metrics::kStartUp, "again", Pace::kGpu, 2, 2e8, 1, ""},
    KernelShape{"nccl.pairwise", Route::kPairs, Metrics::kCollective, "completion", Pace::kGpu, 2,
                12'000, 0.9, kLarge},
    KernelShape{"nccl.reduce", Route::kRing, Metrics::kCollective, "completion", Pace::kGpu, 2,
                14'000, 0.95, kLarge},
    KernelShape{"nccl.reduce_scatter", Route::kRing, Metrics::kCollective, "completion", Pace::kGpu,
                2, 14'000, 0.95, kLarge, 1},
    KernelShape{"nccl.scatter", Route::kFromRoot, Metrics::kCollective, "completion", Pace::kGpu, 2,
                15'000, 0.85, kLarge, 1},
    KernelShape{"nccl.send_recv", Route::kChain, Metrics::kCollective, "completion", Pace::kGpu, 2,
                12'000, 0.9, kLarge},
    KernelShape{"net.tcp_bw", Route::kForth, Metrics::kRate, "unidirectional", Pace::kCpu, 0,
                15'000, 1, kMiddle},
    KernelShape{"net.tcp_lat", Route::kRound, Metrics::kLatency, "half_rtt", Pace::kCpu, 1, 9'000,
                1, kSmall},
    KernelShape{"verbs.atomic_bw", Route::kRound, Metrics::kRateAndMessages, "unidirectional",
                Pace::kNic, 0.15, 100, 0.5, ""},
    KernelShape{"verbs.atomic_lat", Route::kRound, Metrics::kLatency, "completion", Pace::kNic, 1.9,
                200, 1, ""},
    KernelShape{"verbs.read_bw", Route::kBack, Metrics::kRateAndMessages, "unidirectional",
                Pace::kNic, 0.03, 10, 0.99, kMiddle},
    KernelShape{"verbs.read_lat", Route::kRound, Metrics::kLatency, "completion", Pace::kNic, 1.9,
                200, 1, kSmall},
    KernelShape{"verbs.send_bw", Route::kForth, Metrics::kRateAndMessages, "unidirectional",
                Pace::kNic, 0.02, 5, 1, kMiddle},
    KernelShape{"verbs.send_lat", Route::kRound, Metrics::kLatency, "half_rtt", Pace::kNic, 1.05, 0,
                1, kSmall},
    KernelShape{"verbs.write_bw", Route::kForth, Metrics::kRateAndMessages, "unidirectional",
                Pace::kNic, 0.02, 5, 1, kMiddle},
    KernelShape{"verbs.write_imm_bw", Route::kForth, Metrics::kRateAndMessages, "unidirectional",
                Pace::kNic, 0.02, 5, 1, kMiddle},
    KernelShape{"verbs.write_imm_lat", Route::kRound, Metrics::kLatency, "half_rtt", Pace::kNic,
                1.05, 0, 1, kSmall},
    KernelShape{"verbs.write_lat", Route::kRound, Metrics::kLatency, "half_rtt", Pace::kNic, 1, 0,
                1, kSmall},
    KernelShape{"verbs.write_visible_lat", Route::kForth, Metrics::kLatency, "gpu_visible",
                Pace::kNic, 1.4, 600, 1, kSmall},
};

static_assert(std::ranges::is_sorted(kShapes, {}, &KernelShape::name));

constexpr std::array<std::string_view, 1> kLatencyNames{"latency_ns"};
constexpr std::array<std::string_view, 2> kRateNames{"bandwidth_bytes_per_second",
                                                     "message_rate_per_second"};
constexpr std::array<std::string_view, 3> kCollectiveNames{"latency_ns", "algbw_bytes_per_second",
                                                           "busbw_bytes_per_second"};
constexpr std::array<std::string_view, 5> kMapNames{"pin_ns", "map_ns", "get_info_ns", "unmap_ns",
                                                    "unpin_ns"};
constexpr std::array<std::string_view, 2> kCrossoverNames{"latency_ns", "crossover_bytes"};
constexpr std::array<std::string_view, 1> kCheckNames{"check_ns"};
constexpr std::array<std::string_view, 4> kStartUpNames{"init_ns", "first_call_ns", "split_ns",
                                                        "end_ns"};

}  // namespace

std::span<const KernelShape> kernel_shapes() { return kShapes; }

std::vector<std::string> kernel_words() {
  std::vector<std::string> words;
  for (const KernelShape& shape : kShapes) {
    const std::string_view family = shape.name.substr(0, shape.name.find('.'));
    if (std::ranges::find(words, family) == words.end()) words.emplace_back(family);
    words.emplace_back(shape.name);
  }
  return words;
}

const KernelShape* find_shape(std::string_view kernel) {
  const auto found = std::ranges::lower_bound(kShapes, kernel, {}, &KernelShape::name);
  return found != kShapes.end() && found->name == kernel ? &*found : nullptr;
}

std::span<const std::string_view> metric_names(Metrics metrics) {
  switch (metrics) {
    case Metrics::kLatency:
      return kLatencyNames;
    case Metrics::kRate:
      return std::span(kRateNames).first(1);
    case Metrics::kRateAndMessages:
      return kRateNames;
    case Metrics::kMessages:
      return std::span(kRateNames).last(1);
    case Metrics::kCollective:
      return kCollectiveNames;
    case Metrics::kMapCosts:
      return kMapNames;
    case Metrics::kCrossover:
      return kCrossoverNames;
    case Metrics::kCheck:
      return kCheckNames;
    case Metrics::kStartUp:
      return kStartUpNames;
  }
  return {};
}

bool is_of_fabric(const KernelShape& shape) {
  return shape.route != Route::kWithinGpu && shape.route != Route::kWithHost &&
         shape.route != Route::kWithGpus;
}

}  // namespace railgauge::fleet
