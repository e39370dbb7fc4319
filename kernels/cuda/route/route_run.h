// Runs one size of one route: copies that run together, some measured, others only as load.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/cuda/route/kits.h"
#include "kernels/cuda/route/lanes.h"
#include "kernels/cuda/route/load.h"
#include "kernels/cuda/route/plan.h"

namespace railgauge::cuda {

// The copies of one stream from `source` to `target`; nullptr is the host's memory. A read runs on
// the target's GPU, a write on the source's.
struct Flow {
  const gpu::Gpu* runs_on = nullptr;
  const gpu::Gpu* source = nullptr;
  const gpu::Gpu* target = nullptr;
  // False for a load, whose time is not reported.
  bool measured = true;
};

// The copies that run together for one point, at each size.
struct Route {
  std::vector<Flow> flows;  // the measured ones first, at least one
  // "gpu0>gpu1", or "" when the endpoint names the route.
  std::string pair;
  std::string meaning;
  // The GPU whose PCIe link bounds the figure; nullptr without a bound.
  const gpu::Gpu* linked = nullptr;
};

// Most bytes of one load copy, so that a load ends soon after the measured copies, whose time
// determines the number of pieces.
inline constexpr std::uint64_t kLoadPieceBytes = 128U << 20U;

// One size of one route. Movable. Not thread safe.
class RouteRun {
 public:
  // The run's surroundings; all pointers outlive it.
  struct Parts {
    Kits* kits;
    Engine engine;
    // Pageable memory: the caller copies and waits.
    bool by_cpu;
    std::uint64_t cache_bytes;
    // The parameter `copies`; 0 leaves the choice to probe().
    std::uint64_t copies_in_sample;
    double deadline_monotonic_ns;
    const TickClock* clock;
    // Added to the patterns' seeds: ranks that copy at once have their own.
    std::uint64_t seed_offset = 0;
    // Copies write so many bytes beyond a target's address, with wrap-around: to another mapping of
    // its memory.
    std::uint64_t writes_beyond = 0;
  };
  // Fills the sources, copies once, and finds the duration of a copy. `areas` has source and target
  // of each flow, large enough for area_bytes() of this size.
  static Result<RouteRun> start(const Parts& parts, const Route& route,
                                const std::vector<std::pair<const Area*, const Area*>>& areas,
                                std::uint64_t size);
  // Returns the bytes that a flow needs at each end for copies of `size`.
  static std::uint64_t area_bytes(const Flow& flow, Engine engine, std::uint64_t size,
                                  std::uint64_t cache_bytes);

  // Reports whether start() already repeated long copies until two in a row agreed: further warm-up
  // is not worth its time.
  [[nodiscard]] bool warm() const { return warm_; }
  // Returns the time of a sample as those copies showed it, in nanoseconds; 0 unless warm().
  [[nodiscard]] double sample_ns() const { return sample_ns_; }
  // Returns the copies since the last restart().
  [[nodiscard]] std::uint64_t copies_so_far() const { return lanes_->operations(0); }
  // Returns the copies of each measured stream in a sample.
  [[nodiscard]] std::uint64_t copies_in_sample() const;
  // Returns the samples between two decisions of the sampler.
  [[nodiscard]] std::uint64_t batch() const { return batch_; }
  // Fills every target with wrong bytes and restarts the count, before the first kept sample, so
  // that verify() covers the work of kept samples. Bytes of earlier copies would hide copies that
  // moved nothing.
  Status restart();
  // As Lanes::open_at() and opened_monotonic_ns(): of the next and of the last gate.
  void open_at(double monotonic_ns) { lanes_->open_at(monotonic_ns); }
  [[nodiscard]] double opened_monotonic_ns() const { return lanes_->opened_monotonic_ns(); }
  // Appends `count` samples in bytes per second. With one measured flow a sample is `repeat`
  // copies; with several it is the result of overlap_of(). kFailedPrecondition when the load cannot
  // be made long enough.
  Status sample(std::uint64_t count, std::vector<double>& out);
  // Verifies that every flow's target has the bytes copied since restart(); else kDataLoss.
  Status verify();
  // Returns the pattern that both ends of flow `flow` have after the copies, where they are hot.
  [[nodiscard]] std::uint64_t seed_of(std::size_t flow) const { return bounds_[flow]->source_seed; }
  // Adds the facts timed_by, copies_in_sample, rotates_bytes, bytes_counted; for several measured
  // streams: streams, streams_ended_apart (the largest share of a sample) and stream_shares (each
  // pair's part of the sum, over all kept samples); copy_blocks when SM copies share a GPU; under
  // load: load_coverage and samples_without_load.
  void report_facts(Point& point) const;
  // Reports whether a failpoint delays a stream of the route: such figures are synthetic.
  [[nodiscard]] bool slowed() const;

 private:
  // A flow with its memory, patterns and, for a load, its size.
  struct Bound {
    Flow flow;
    const Area* source;
    const Area* target;
    Rotation rotation;
    std::uint64_t copy_bytes;
    std::uint64_t beside;       // flows of the route that run on the same GPU, this one among them
    std::uint64_t again_bytes;  // that are copied twice: the failpoint slow_gpu; else 0
    std::uint64_t source_seed;
    std::uint64_t target_seed;
    LoadSizing sizing;              // of a load
    std::uint64_t load_copies = 0;  // in the last run
  };

  explicit RouteRun(const Parts& parts) : parts_(parts) {}
  Status bind(const Route& route, const std::vector<std::pair<const Area*, const Area*>>& areas,
              std::uint64_t size);
  Status fill_source(const Bound& bound);
  Status fill_target(const Bound& bound);
  Status make_targets_wrong();
  Status start_lanes();
  Status probe();
  Result<double> time_copies(std::uint64_t copies);
  Status repeat_until_steady(double copy_ns);
  Result<std::vector<std::vector<double>>> run(std::uint64_t marks, std::uint64_t repeat);
  Covered follow_load(const std::vector<Lanes::Passed>& passed, std::uint64_t copies);
  [[nodiscard]] tl::unexpected<Error> load_too_short(double coverage, std::uint64_t copies) const;
  [[nodiscard]] double counted_bytes(const Bound& bound) const;
  [[nodiscard]] bool loaded() const { return measured_ < bounds_.size(); }

  Parts parts_;
  // At fixed addresses, since the lanes point to them; the first `measured_` are measured.
  std::vector<std::unique_ptr<Bound>> bounds_;
  std::size_t measured_ = 0;
  std::optional<Lanes> lanes_;
  std::uint64_t repeat_ = 1;
  std::uint64_t batch_ = 1;
  bool warm_ = false;
  double sample_ns_ = 0;
  double least_coverage_ = 1;
  double most_apart_ = 0;
  std::vector<double> streams_ns_;  // of each measured stream, over the kept samples
  std::uint64_t samples_without_load_ = 0;
  bool nothing_kept_ = false;  // since restart()
};

}  // namespace railgauge::cuda
