// Several processes on one host that copy through the BAR of one GPU at the same time. Each maps
// memory of its own and copies for a window of time that begins for all together; the figure is all
// their bytes over the time from the first begin to the last end. Before, rank 0 copies alone: two
// points of each size, `alone` and `together`, show what sharing costs.
//
// Each rank's memory has a pattern of its own, so that a mapping of another rank's memory is found:
// the GPU compares what was written, the CPU what was read.
#include "kernels/bar/with_routines.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/setup.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/stats/stats.h"
#include "kernels/core/text/units.h"
#include "kernels/gpu/ceiling/link_ceiling.h"
#include "kernels/gpu/pattern.h"
#include "kernels/gpu/together/together.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

// A sample: so long do the ranks copy. Long beside the differences of their begins.
constexpr double kWindowNs = 5e6;
// Samples between two decisions of the sampler; each costs two steps of the group.
constexpr std::uint64_t kWindowsInBatch = 10;
constexpr std::uint32_t kMostSharers = 16;
// Seeds of the patterns: a rank's and a size's own.
constexpr std::uint64_t kSharedSeed = 0x736861726564;
constexpr std::uint64_t kSeedOfRank = 0x9e3779b97f4a7c15;

// One rank. Not thread safe.
class SharedBw final : public Kernel {
 public:
  explicit SharedBw(std::span<const Routine> known) : known_(known) {}

  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    options_.batch = kWindowsInBatch;
    writes_ = context.params.text("direction") == "write";
    verify_ = context.params.boolean("verify");
    if (context.endpoint.empty()) context.endpoint = "gpu0";
    setup_.emplace(RG_TRY(Setup::open(context, largest(), known_)));
    if (!writes_ && context.params.text("routine") != "auto" &&
        setup_->copier().writer != setup_->copier().reader)
      return fail(Code::kFailedPrecondition,
                  "copy routine {}: it only writes; choose another to read with",
                  setup_->copier().writer->name);
    host_ = RG_TRY(HostBuffer::allocate(largest()));
    RG_TRY_OK(setup_->session().check_host_memory(context, host_.span()));
    pattern_ = RG_TRY(gpu::Pattern::create(setup_->gpu()));
    context.reporter.fact("pattern_runs_on", pattern_->runs_on());
    return {};
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    ranks_ = group.size();
    together_.emplace(context, group);
    RG_TRY_OK(together_->meet({}, &setup_->gpu()));
    if (!together_->on_one_host())
      return fail(Code::kFailedPrecondition,
                  "bar.shared_bw: its ranks share the BAR of one host, and they are on several");
    if (!together_->on_one_gpu())
      return invalid("bar.shared_bw: its ranks share one GPU; give all of them the same endpoint");
    context.reporter.fact("processes", std::to_string(ranks_));
    return {};
  }

  Status measure(Context& context, Group& /*group*/) override {
    RG_TRY_OK(setup_->gpu().make_current());
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, size));
    return {};
  }

  ~SharedBw() override {
    if (setup_) static_cast<void>(setup_->gpu().make_current());
  }

 private:
  [[nodiscard]] std::uint64_t largest() const { return *std::ranges::max_element(sizes_); }
  // Wrong bytes of another rank's place are found, since no two ranks have one pattern.
  [[nodiscard]] std::uint64_t seed(std::uint64_t size) const {
    return kSharedSeed + size + rank_ * kSeedOfRank;
  }

  // Alone, then together; both parts end with each rank's comparison.
  Status measure_size(Context& context, std::uint64_t size) {
    size_ = size;
    const gpu::TogetherParts parts{.move = [&](double begin_ns) { return move(context, begin_ns); },
                                   .ready = [&] { return make_ready(); }};
    std::optional<double> alone;
    for (const std::uint32_t taking_part : {1U, ranks_}) {
      Status done;
      std::optional<Point> point;
      if (rank_ == 0) {
        auto sampled = lead(context, parts, taking_part);
        RG_TRY_OK(together_->end(sampled ? Status{} : Status(tl::unexpected(sampled.error()))));
        point = point_of(context, *sampled, taking_part, alone);
        alone = headline_of(*point);
        done = check_link(taking_part, *point);
      } else {
        RG_TRY_OK(together_->follow(parts));
      }
      if (done && verify_ && rank_ < taking_part) done = compare();
      RG_TRY_OK(together_->agree(done));
      if (point) setup_->session().report(context, std::move(*point));
    }
    return {};
  }

  // Rank 0's samples: joint windows of the first ranks; the others' CPUs only wait.
  Result<Sampled> lead(Context& context, const gpu::TogetherParts& parts,
                       std::uint32_t taking_part) {
    return setup_->session().sample(
        context, options_,
        [&](std::uint64_t count, std::vector<double>& out) -> Status {
          RG_TRY_OK(check_deadline(context, "copy through a shared BAR"));
          for (std::uint64_t i = 0; i < count; ++i)
            out.push_back(RG_TRY(together_->sample(parts, taking_part)));
          return {};
        },
        [&] { return together_->ready(parts); });
  }

  // Copies from the begin on until the window's time has passed. Small copies share a reading of
  // the clock.
  [[nodiscard]] Result<gpu::Moved> move(const Context& context, double begin_ns) const {
    const View& view = setup_->view();
    const Copy copy = writes_ ? setup_->copier().writer->write : setup_->copier().reader->read;
    std::byte* const to = writes_ ? view.cpu : host_.data();
    const std::byte* const from = writes_ ? host_.data() : view.cpu;
    const std::uint64_t repeat = default_repeat(
        writes_ ? CopyDirection::kWrite : CopyDirection::kRead, CopyFigure::kBandwidth, size_);
    RG_TRY_OK(check_deadline(context, "copy through a shared BAR"));
    double now_ns = monotonic_now_ns();
    while (now_ns < begin_ns) now_ns = monotonic_now_ns();
    gpu::Moved moved{.bytes = 0, .began_ns = now_ns, .ended_ns = now_ns};
    while (moved.ended_ns < moved.began_ns + kWindowNs) {
      for (std::uint64_t i = 0; i < repeat; ++i) copy(to, from, size_);
      moved.bytes += static_cast<double>(size_ * repeat);
      moved.ended_ns = monotonic_now_ns();
    }
    return moved;
  }

  // The source gets the pattern, the target zeros.
  Status make_ready() {
    const std::span<std::byte> host = host_.span().first(size_);
    const gpu::Gpu& gpu = setup_->gpu();
    if (!writes_) {
      std::ranges::fill(host, std::byte{0});
      return pattern_->fill(setup_->view().gpu, size_, seed(size_));
    }
    fill_pattern(host, seed(size_));
    RG_TRY_OK(
        gpu_status(gpu, loaded_cuda().memset_d8(setup_->view().gpu, 0, size_), "clear the memory"));
    return gpu_status(gpu, loaded_cuda().ctx_synchronize(), "clear the memory");
  }

  // Compares the result of the copies, seen from the other side.
  Status compare() {
    const std::string name = fmt::format("{}: shared BAR, rank {}", setup_->gpu().name(), rank_);
    if (writes_) return pattern_->verify(setup_->view().gpu, size_, seed(size_), name + ": write");
    const auto mismatch = find_mismatch(host_.span().first(size_), seed(size_));
    if (!mismatch) return {};
    return fail(Code::kDataLoss, "{}: read: verify {}: {}", name, canonical_bytes(size_),
                mismatch_words(*mismatch));
  }

  // Alone it is a figure of one process; together it has the ratio to that one.
  [[nodiscard]] Point point_of(const Context& context, const Sampled& sampled,
                               std::uint32_t taking_part, std::optional<double> alone) const {
    Point point =
        setup_->make_point({.metric = "bandwidth_bytes_per_second",
                            .meaning = taking_part == 1 ? "unidirectional" : "overlap_sum",
                            .unit = "bytes_per_second",
                            .larger_is_better = true},
                           size_, sampled, context.raw_samples);
    point.set_pair(taking_part == 1 ? "alone" : "together");
    point.set_verified(verify_);
    point.set_mean(rate_over_all_time(sampled.samples));
    auto& facts = *point.mutable_facts();
    facts["mean_is"] = "all bytes over all time";
    if (taking_part > 1) {
      facts["rank_shares"] = together_->shares();
      if (alone) facts["times_alone"] = fmt::format("{:.3f}", headline_of(point) / *alone);
    }
    return point;
  }

  // The sum of all ranks crosses the one link.
  [[nodiscard]] Status check_link(std::uint32_t taking_part, const Point& point) const {
    constexpr std::uint64_t kChecked = 64U << 10U;  // less may fit into the CPUs' buffers
    if (size_ < kChecked * taking_part) return {};
    const gpu::Gpu& gpu = setup_->gpu();
    return gpu::check_link(gpu, gpu::link_bytes_per_second(gpu.pci_address()), point.median());
  }

  std::span<const Routine> known_;
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  bool writes_ = true;
  bool verify_ = true;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 1;
  std::uint64_t size_ = 0;  // that is measured
  std::optional<Setup> setup_;
  HostBuffer host_;
  std::optional<gpu::Pattern> pattern_;  // released before the setup, which owns its GPU
  std::optional<gpu::Together> together_;
};

// The declaration. Another process on the GPU is what it measures, so it waives for none.
KernelInfo shared_info() {
  InfoBuilder builder("bar.shared_bw", 1,
                      "Processes that copy through the PCIe BAR of one GPU at the same time");
  builder.ranks(2, kMostSharers)
      .endpoint("gpu")
      .metrics({"bandwidth_bytes_per_second"})
      .sizes("4KiB,64KiB,1MiB")
      .choice("direction", "", "write goes from the CPUs to the GPU, read comes back",
              {"write", "read"})
      .identity()
      .sampling("windows of 5 ms", 30, 10'000)
      .least_time("2s");
  add_shared_bar_parameters(builder);
  return builder.build();
}

}  // namespace

std::unique_ptr<Kernel> make_shared_bw(std::span<const Routine> known) {
  return std::make_unique<SharedBw>(known);
}

}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarSharedBw{bar::shared_info,
                                    [] { return bar::make_shared_bw(bar::routines()); }};
}  // namespace railgauge
