// The four copy kernels: one class over direction and figure, and a declaration for each.
#include "kernels/bar/with_routines.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/routine/engine_rate.h"
#include "kernels/bar/setup.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/stats/stats.h"
#include "kernels/core/text/units.h"
#include "kernels/gpu/ceiling/link_ceiling.h"
#include "kernels/gpu/pattern.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

// Least bytes of a bandwidth's sample. A clock reading costs some 20 ns: 64 KiB written take 3 us
// at 20 GB/s, 4 KiB read take 4 us at 1 GB/s.
constexpr std::uint64_t kWrittenBytesInSample = 64U << 10U;
constexpr std::uint64_t kReadBytesInSample = 4U << 10U;
// From here on the bytes of a sample that the CPU's buffers may hold are too few to matter.
constexpr std::uint64_t kCheckedBytes = 64U << 10U;
constexpr std::int64_t kMaxRepeat = 1'000'000;
constexpr std::uint64_t kOffsetUnit = 4;
constexpr double kMaxOffset = 1U << 30U;
// Seed of the pattern; the size is added, so that bytes of another size never pass.
constexpr std::uint64_t kSeed = 0x626172636f7079;

// One rank, one thread. Each size is a point.
class CopyKernel final : public Kernel {
 public:
  CopyKernel(CopyDirection direction, CopyFigure figure, std::span<const Routine> known)
      : direction_(direction), figure_(figure), known_(known) {}

  // Opens GPU and mapping for the largest size. A routine that only writes is refused for a read
  // unless the choice is automatic.
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    const std::uint64_t largest = *std::ranges::max_element(sizes_);
    offset_ = context.params.bytes("offset");
    if (offset_ % kOffsetUnit != 0)
      return invalid("parameter offset: {} is not a multiple of {} bytes", offset_, kOffsetUnit);
    setup_ = RG_TRY(Setup::open(context, largest + offset_, known_));
    RG_TRY_OK(check_cache(context.params));
    if (!writes() && context.params.text("routine") != "auto" &&
        setup_.copier().writer != setup_.copier().reader)
      return fail(Code::kFailedPrecondition,
                  fmt::format("copy routine {}: it only writes; choose another to read with",
                              setup_.copier().writer->name));
    host_ = RG_TRY(HostBuffer::allocate(largest));
    RG_TRY_OK(setup_.session().check_host_memory(context, host_.span()));
    pattern_ = RG_TRY(gpu::Pattern::create(setup_.gpu()));
    context.reporter.fact("pattern_runs_on", pattern_->runs_on());
    return {};
  }

  Status measure(Context& context, Group& /*group*/) override {
    for (const std::uint64_t bytes : sizes_) RG_TRY_OK(measure_size(context, bytes));
    return {};
  }

 private:
  [[nodiscard]] bool writes() const { return direction_ == CopyDirection::kWrite; }

  // A cold copy needs a mapping that the CPU caches: all others are cold by themselves.
  Status check_cache(const Params& params) {
    is_cold_ = figure_ == CopyFigure::kLatency && params.text("cache") == "cold";
    if (is_cold_ && params.integer("repeat") > 1)
      return invalid("parameters cache and repeat: a cold copy is timed alone; leave repeat out");
    if (!is_cold_ || setup_.view().caching == Caching::kCached) return {};
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: copy with a cold cache: the CPU caches no load or store of this "
                            "mapping ({}), so there is nothing to cool; leave cache out",
                            setup_.gpu().name(), caching_in_words(setup_.view().caching)));
  }

  // The mapped memory from the offset on.
  [[nodiscard]] View view() const {
    View view = setup_.view();
    view.cpu += offset_;
    view.gpu += offset_;
    view.bytes -= offset_;
    return view;
  }

  // The GPU writes what the copy will touch, which moves its lines out of the CPU's caches.
  Status cool(std::uint64_t bytes) {
    if (!writes()) return pattern_->fill(view().gpu, bytes, kSeed + bytes);
    RG_TRY_OK(gpu_status(setup_.gpu(), loaded_cuda().memset_d8(view().gpu, 0, bytes),
                         "write the memory to cool it"));
    return gpu_status(setup_.gpu(), loaded_cuda().ctx_synchronize(), "write the memory to cool it");
  }

  // The copy of one size, with its source, target and repetitions as plain values.
  [[nodiscard]] TimedCopy timed_copy(const Context& context, std::uint64_t bytes) const {
    const View view = this->view();
    const auto asked = static_cast<std::uint64_t>(context.params.integer("repeat"));
    TimedCopy timed{.bytes = bytes,
                    .repeat = asked != 0 ? asked : default_repeat(direction_, figure_, bytes)};
    timed.copy = writes() ? setup_.copier().writer->write : setup_.copier().reader->read;
    timed.to = writes() ? view.cpu : host_.data();
    timed.from = writes() ? host_.data() : view.cpu;
    return timed;
  }

  // Samples one size, verifies the bytes, and compares a bandwidth with the link's ceiling.
  Status measure_size(Context& context, std::uint64_t bytes) {
    const bool bandwidth = figure_ == CopyFigure::kBandwidth;
    const TimedCopy timed = timed_copy(context, bytes);
    const auto link = gpu::link_bytes_per_second(setup_.gpu().pci_address());
    const Sampled sampled = RG_TRY(sample_copies(
        context, setup_.session(), options_, timed,
        bandwidth ? SampleUnit::kBytesPerSecond : SampleUnit::kNanoseconds,
        [&] { return prepare_bytes(bytes); },
        is_cold_ ? std::function([&] { return cool(bytes); }) : std::function<Status()>()));
    const bool verified = context.params.boolean("verify");
    if (verified) RG_TRY_OK(verify(bytes));
    Point point = setup_.make_point(names(), bytes, sampled, context.raw_samples);
    point.set_verified(verified);
    auto& facts = *point.mutable_facts();
    if (bandwidth) {
      RG_TRY_OK(add_engine_facts(context, bytes, headline_of(point), facts));
      point.set_mean(rate_over_all_time(sampled.samples));
      facts["mean_is"] = "all bytes over all time";
      // Small writes may all fit into the CPU's buffers and so be faster than the link.
      if (timed.bytes * timed.repeat >= kCheckedBytes)
        RG_TRY_OK(gpu::check_link(setup_.gpu(), link, point.median()));
    }
    facts["repeat"] = std::to_string(timed.repeat);
    if (offset_ > 0) facts["offset"] = canonical_bytes(offset_);
    if (figure_ == CopyFigure::kLatency) facts["cache"] = is_cold_ ? "cold" : "as it is";
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", tick_clock(context).drift_ppm());
    if (writes())
      facts["ends_at"] = "fence: the stores have left the CPU, the GPU may not see them yet";
    setup_.session().report(context, std::move(point));
    return {};
  }

  // Compares a rate with the copy engine's for the same size: the share of the link that the CPU
  // reaches. After the verification, because the engine's copies change the target.
  Status add_engine_facts(const Context& context, std::uint64_t bytes, double rate,
                          google::protobuf::Map<std::string, std::string>& facts) const {
    const double engine =
        RG_TRY(engine_rate(setup_.gpu(), view(), bytes, writes(), tick_clock(context)));
    facts["copy_engine_bytes_per_second"] = fmt::format("{:.4g}", engine);
    facts["share_of_copy_engine"] = fmt::format("{:.3f}", rate / engine);
    return {};
  }

  // A write's latency is "posted": it ends when the stores have left the CPU.
  [[nodiscard]] PointNames names() const {
    if (figure_ == CopyFigure::kBandwidth)
      return {.metric = "bandwidth_bytes_per_second",
              .meaning = "unidirectional",
              .unit = "bytes_per_second",
              .larger_is_better = true};
    return {.metric = "latency_ns", .meaning = writes() ? "posted" : "completion", .unit = "ns"};
  }

  // Fills the source with the pattern and clears the target. This happens before the first kept
  // sample, so that bytes of an earlier copy prove nothing.
  Status prepare_bytes(std::uint64_t bytes) {
    const std::span<std::byte> host = host_.span().first(bytes);
    if (!writes()) {
      std::ranges::fill(host, std::byte{0});
      return pattern_->fill(view().gpu, bytes, kSeed + bytes);
    }
    fill_pattern(host, kSeed + bytes);
    RG_TRY_OK(gpu_status(setup_.gpu(), loaded_cuda().memset_d8(view().gpu, 0, bytes),
                         "clear the memory"));
    return gpu_status(setup_.gpu(), loaded_cuda().ctx_synchronize(), "clear the memory");
  }

  // Compares the result of the timed copies, seen from the other side.
  Status verify(std::uint64_t bytes) {
    if (writes())
      return pattern_->verify(view().gpu, bytes, kSeed + bytes,
                              setup_.gpu().name() + ": BAR write");
    const auto mismatch = find_mismatch(host_.span().first(bytes), kSeed + bytes);
    if (!mismatch) return {};
    return fail(Code::kDataLoss, fmt::format("{}: BAR read: verify {}: {}", setup_.gpu().name(),
                                             canonical_bytes(bytes), mismatch_words(*mismatch)));
  }

  // Fixed by the row of the catalog.
  CopyDirection direction_;
  CopyFigure figure_;
  std::span<const Routine> known_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t offset_ = 0;
  bool is_cold_ = false;
  SamplerOptions options_;
  Setup setup_;
  HostBuffer host_;
  // Released before the setup, which owns its GPU.
  std::optional<gpu::Pattern> pattern_;
};

}  // namespace

// A latency's sample is one copy: a mean would hide the slow ones.
std::uint64_t default_repeat(CopyDirection direction, CopyFigure figure, std::uint64_t bytes) {
  if (figure == CopyFigure::kLatency) return 1;
  const std::uint64_t at_least =
      direction == CopyDirection::kWrite ? kWrittenBytesInSample : kReadBytesInSample;
  return std::max<std::uint64_t>(1, at_least / bytes);
}

std::unique_ptr<Kernel> make_copy_kernel(CopyDirection direction, CopyFigure figure,
                                         std::span<const Routine> known) {
  return std::make_unique<CopyKernel>(direction, figure, known);
}

namespace {

// The declaration of one of the kernels; direction and figure decide the rest.
struct Declared {
  const char* name;
  const char* summary;
  CopyDirection direction;
  CopyFigure figure;
  std::int64_t min_samples;
};

// A sample is the time of one copy, or of `repeat` small ones, to host memory. Each load waits for
// its data over PCIe, so the figure is the time of a round trip shared by all loads that the CPU
// keeps in flight. The GPU writes the pattern, and the CPU compares the bytes that the timed copies
// read. Fewer samples than for a write: a read of 16 MiB takes some 16 ms.
constexpr Declared kReadBw{"bar.read_bw", "CPU reads of GPU memory through the PCIe BAR: bandwidth",
                           CopyDirection::kRead, CopyFigure::kBandwidth, 30};

// From before the first load until the last has its data, which came over PCIe. A sample is one
// read; one reading of the clock (the fact clock_overhead_ns) is inside.
constexpr Declared kReadLat{
    "bar.read_lat", "CPU reads of GPU memory through the PCIe BAR: time until the data is there",
    CopyDirection::kRead, CopyFigure::kLatency, kLatencySamples};

// A sample is the time of one copy, or of `repeat` small ones, from host memory that is warm in the
// CPU's caches to one place of GPU memory. Each copy ends in a store fence inside the sample, so
// none of its stores is left in the CPU when the clock is read. PCIe writes are posted, so the GPU
// may see the last of them later. The GPU compares the bytes of the timed copies.
constexpr Declared kWriteBw{"bar.write_bw",
                            "CPU writes to GPU memory through the PCIe BAR: bandwidth",
                            CopyDirection::kWrite, CopyFigure::kBandwidth, 100};

// From before the first store until the store fence after the last has retired. Its meaning is
// `posted`: the stores have left the CPU; the moment when the GPU sees them is unknown
// (bar.ping_pong measures it). A sample is one write; one reading of the clock (the fact
// clock_overhead_ns) is inside. The GPU compares the written bytes.
constexpr Declared kWriteLat{
    "bar.write_lat", "CPU writes to GPU memory through the PCIe BAR: time until they left the CPU",
    CopyDirection::kWrite, CopyFigure::kLatency, kLatencySamples};

// The largest size of a latency is 64 KiB: beyond it the bandwidth has the figure.
template <const Declared& kKernel>
KernelInfo info() {
  const bool bandwidth = kKernel.figure == CopyFigure::kBandwidth;
  InfoBuilder builder(kKernel.name, 3, kKernel.summary);
  builder.endpoint("gpu")
      .metrics({bandwidth ? "bandwidth_bytes_per_second" : "latency_ns"})
      .sizes(bandwidth ? "4KiB,64KiB,1MiB,16MiB" : "4,8,64,256,1KiB,4KiB,16KiB,64KiB")
      .integer("repeat",
               "copies in one sample, which is their mean; 0 takes one, or for the bandwidth of "
               "small sizes as many as the clock needs",
               0, 0, static_cast<double>(kMaxRepeat))
      .identity()
      .bytes("offset", "where in the mapped memory a copy begins, a multiple of 4", "0", kMaxOffset)
      .identity()
      .sampling("samples", kKernel.min_samples, bandwidth ? 10'000 : 100'000);
  if (bandwidth) {
    builder.least_time("2s");
  } else {
    builder
        .choice(
            "cache", "",
            "cold: the GPU writes the memory before each copy, for mappings that the CPU caches",
            {"hot", "cold"})
        .identity();
  }
  add_bar_parameters(builder);
  return builder.build();
}

template <const Declared& kKernel>
std::unique_ptr<Kernel> make() {
  return make_copy_kernel(kKernel.direction, kKernel.figure);
}

template <const Declared& kKernel>
constexpr KernelRow kRow{info<kKernel>, make<kKernel>};

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarReadBw{bar::kRow<bar::kReadBw>};
extern const KernelRow kBarReadLat{bar::kRow<bar::kReadLat>};
extern const KernelRow kBarWriteBw{bar::kRow<bar::kWriteBw>};
extern const KernelRow kBarWriteLat{bar::kRow<bar::kWriteLat>};
}  // namespace railgauge
