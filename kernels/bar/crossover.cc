// The size up to which a copy by the CPU through the BAR beats cuMemcpy, in one direction. Both
// copy the same bytes between the same pinned host memory and the same GPU memory. Each call is
// timed from before it until it returns. By then cuMemcpy and a BAR read have their data at the
// other end. A BAR write is posted: its stores have left the CPU (its fence is in the time; the
// meaning and the fact ends_at record this). The crossing is where the medians' lines meet; beyond
// it cuMemcpy stays faster.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/setup.h"
#include "kernels/bar/with_routines.h"
#include "kernels/core/stats/size_curve.h"
#include "kernels/core/stats/stats.h"
#include "kernels/core/text/units.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::bar {
namespace {

// Seed of the pattern; size and way are added, so that no copy passes by the bytes of another.
constexpr std::uint64_t kSeed = 0x62617263726f73;

// Sizes ascend, because find_crossover() needs them so.
class CrossoverKernel final : public Kernel {
 public:
  explicit CrossoverKernel(std::span<const Routine> known) : known_(known) {}

  // The host's memory is pinned: cuMemcpy stages pageable memory, which would be another
  // measurement.
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    std::ranges::sort(sizes_);
    options_ = RG_TRY(sampler_options(context.params));
    writes_ = context.params.text("direction") == "write";
    setup_ = RG_TRY(Setup::open(context, sizes_.back(), known_));
    host_ = RG_TRY(
        gpu::on_gpu(setup_.gpu(), PinnedBuffer::allocate(sizes_.back(), PinnedKind::kPinned)));
    RG_TRY_OK(setup_.session().check_host_memory(context, host_.span()));
    stamps_.resize(options_.batch + 1);
    context.reporter.fact("host_memory", "pinned");
    return {};
  }

  // Both ways of one size follow each other, so that a drift of the machine meets both.
  Status measure(Context& context, Group& /*group*/) override {
    std::vector<SizeTimes> times;
    for (const std::uint64_t bytes : sizes_) {
      const double bar_ns = RG_TRY(measure_one(context, bytes, true));
      const double memcpy_ns = RG_TRY(measure_one(context, bytes, false));
      times.push_back({static_cast<double>(bytes), bar_ns, memcpy_ns});
    }
    report_crossover(context, find_crossover(times));
    return {};
  }

 private:
  // The driver's call that the BAR copy is compared with.
  [[nodiscard]] const char* copy_name() const { return writes_ ? "cuMemcpyHtoD" : "cuMemcpyDtoH"; }

  // Measures and reports one way at one size. Returns the median in ns of a copy of `bytes` through
  // the BAR, or by cuMemcpy.
  Result<double> measure_one(Context& context, std::uint64_t bytes, bool by_bar) {
    const std::uint64_t seed = kSeed + 2 * bytes + (by_bar ? 1 : 0);
    const auto ready = [&] { return prepare_bytes(bytes, seed); };
    const Sampled sampled =
        RG_TRY(by_bar ? sample_bar(context, bytes, ready) : sample_memcpy(context, bytes, ready));
    const bool verified = context.params.boolean("verify");
    if (verified) RG_TRY_OK(verify(bytes, seed, by_bar));
    const char* meaning = by_bar && writes_ ? "posted" : "completion";
    Point point = setup_.make_point({.metric = "latency_ns", .meaning = meaning, .unit = "ns"},
                                    bytes, sampled, context.raw_samples);
    point.set_pair(by_bar ? "bar" : "memcpy");
    point.set_verified(verified);
    auto& facts = *point.mutable_facts();
    facts["ends_at"] = by_bar && writes_ ? "fence: the stores have left the CPU"
                       : by_bar          ? "the last load has its data"
                                         : std::string(copy_name()) + " returned";
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", tick_clock(context).drift_ppm());
    const double median_ns = point.median();
    setup_.session().report(context, std::move(point));
    return median_ns;
  }

  // Copies by the CPU, timed as in the family's other kernels.
  Result<Sampled> sample_bar(Context& context, std::uint64_t bytes, const Sampler::Ready& ready) {
    const View& view = setup_.view();
    TimedCopy timed{.bytes = bytes};
    timed.copy = writes_ ? setup_.copier().writer->write : setup_.copier().reader->read;
    timed.to = writes_ ? view.cpu : host_.data();
    timed.from = writes_ ? host_.data() : view.cpu;
    return sample_copies(context, setup_.session(), options_, timed, SampleUnit::kNanoseconds,
                         ready);
  }

  // Copies by the driver. The stamps are taken around each call; a failed call ends the batch and
  // is returned after it.
  Result<Sampled> sample_memcpy(Context& context, std::uint64_t bytes,
                                const Sampler::Ready& ready) {
    const TickClock& clock = tick_clock(context);
    const Cuda& cuda = loaded_cuda();
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      RG_CHECK(count < stamps_.size());
      RG_TRY_OK(check_deadline(context, "copy by cuMemcpy"));
      cu::Return returned = cu::kSuccess;
      stamps_[0] = clock.ticks();
      for (std::uint64_t i = 1; i <= count && returned == cu::kSuccess; ++i) {
        returned = writes_ ? cuda.memcpy_htod(setup_.view().gpu, host_.data(), bytes)
                           : cuda.memcpy_dtoh(host_.data(), setup_.view().gpu, bytes);
        stamps_[i] = clock.ticks();
      }
      RG_TRY_OK(gpu_status(setup_.gpu(), returned, copy_name()));
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]));
      return {};
    };
    return setup_.session().sample(context, options_, batch, ready);
  }

  // Writes the pattern to the source and zeros to the target, before the first kept sample.
  Status prepare_bytes(std::uint64_t bytes, std::uint64_t seed) {
    const Cuda& cuda = loaded_cuda();
    const std::span<std::byte> host = host_.span().first(bytes);
    fill_pattern(host, seed);
    if (!writes_) {
      RG_TRY_OK(gpu_status(setup_.gpu(), cuda.memcpy_htod(setup_.view().gpu, host.data(), bytes),
                           "copy the pattern to it"));
      std::ranges::fill(host, std::byte{0});
    } else {
      RG_TRY_OK(gpu_status(setup_.gpu(), cuda.memset_d8(setup_.view().gpu, 0, bytes),
                           "clear the memory"));
    }
    return gpu_status(setup_.gpu(), cuda.ctx_synchronize(), "wait for the pattern");
  }

  // Compares the target with the pattern; GPU memory is copied back first.
  Status verify(std::uint64_t bytes, std::uint64_t seed, bool by_bar) {
    const std::span<std::byte> host = host_.span().first(bytes);
    if (writes_) {
      std::ranges::fill(host, std::byte{0});
      RG_TRY_OK(gpu_status(setup_.gpu(),
                           loaded_cuda().memcpy_dtoh(host.data(), setup_.view().gpu, bytes),
                           "copy from it to compare"));
    }
    const auto mismatch = find_mismatch(host, seed);
    if (!mismatch) return {};
    return fail(Code::kDataLoss,
                fmt::format("{}: verify {} by {}: {}", setup_.gpu().name(), canonical_bytes(bytes),
                            by_bar ? "BAR" : copy_name(), mismatch_words(*mismatch)));
  }

  // Reports the crossing as a point, or a note with the reason why there is none. A point has one
  // sample: the crossing is computed, not sampled.
  void report_crossover(Context& context, const Crossover& found) {
    const std::string range = sizes_.size() == 1
                                  ? "at " + canonical_bytes(sizes_.front())
                                  : fmt::format("from {} to {}", canonical_bytes(sizes_.front()),
                                                canonical_bytes(sizes_.back()));
    const std::string both = fmt::format("BAR copy and {}", copy_name());
    if (!found.bytes) {
      const auto* faster = found.first_faster_at_last ? "the BAR" : copy_name();
      context.reporter.note(
          "info",
          found.changes == 0
              ? fmt::format(
                    "{}: no crossing {}: {} is the faster at all sizes, so a crossing, if "
                    "there is one, is {} {}",
                    both, range, faster, found.first_faster_at_last ? "above" : "below",
                    canonical_bytes(found.first_faster_at_last ? sizes_.back() : sizes_.front()))
              : fmt::format("{}: {} is the faster at the largest size, so no crossing is named "
                            "although the faster one changes {} times {}",
                            both, faster, found.changes, range));
      return;
    }
    if (found.changes > 1)
      context.reporter.note("warning",
                            fmt::format("{}: the faster one changes {} times {}; the last crossing "
                                        "is named",
                                        both, found.changes, range));
    Sampled one;
    one.samples = {*found.bytes};
    one.converged = true;
    one.stop_reason = "iterations";
    Point point = setup_.make_point({.metric = "crossover_bytes",
                                     .meaning = "crossing",
                                     .unit = "bytes",
                                     .larger_is_better = true},
                                    0, one, context.raw_samples);
    setup_.session().begin_point();
    setup_.session().report(context, std::move(point));
  }

  // The routines that the CPU may copy with; another table only in tests.
  std::span<const Routine> known_;
  bool writes_ = true;
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  std::vector<std::uint64_t> stamps_;
  Setup setup_;
  PinnedBuffer host_;
};

// The declaration: name, revision, metrics and parameters with their bounds.
KernelInfo info() {
  InfoBuilder builder("bar.crossover", 2,
                      "the size from which cuMemcpy beats a CPU copy through the PCIe BAR");
  builder.endpoint("gpu")
      .metrics({"latency_ns", "crossover_bytes"})
      .sizes("64,256,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB")
      .choice("direction", "", "write goes from the CPU to the GPU, read comes back",
              {"write", "read"})
      .identity()
      .sampling("copies", 100, 10'000);
  add_bar_parameters(builder);
  return builder.build();
}

}  // namespace

// Declared in with_routines.h.
std::unique_ptr<Kernel> make_crossover_kernel(std::span<const Routine> known) {
  return std::make_unique<CrossoverKernel>(known);
}

}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarCrossover{bar::info,
                                     [] { return bar::make_crossover_kernel(bar::routines()); }};
}  // namespace railgauge
