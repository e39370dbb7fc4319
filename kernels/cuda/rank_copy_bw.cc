// Bandwidth of copies between the GPUs of two processes, as nvbandwidth's multinode tests copy.
// Rank 1 lends memory by a handle: a POSIX descriptor on one host, a fabric handle between nodes of
// one NVLink domain. Rank 0's GPU copies: it reads the lent memory into its own, or writes into it.
// Bytes count once, where they arrive. Samples are those of peer_copy_bw.cc.
//
// After each size both ends are compared: rank 0 compares its copies, and rank 1 its own memory, by
// its own address. A mapping of anything else would satisfy rank 0 alone.
#include <optional>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stats/stats.h"
#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/descriptor_post.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peer.pb.h"
#include "kernels/gpu/ceiling/ceiling.h"
#include "kernels/gpu/shared_memory.h"

namespace railgauge::cuda {
namespace {

constexpr std::uint64_t kBatchOfCopies = 4;  // samples behind one gate at least
constexpr double kHandoverNs = 10e9;         // the longest time for giving a descriptor

// The UUID where the driver reports one, else the PCI address.
std::string name_of_gpu(const gpu::Gpu& gpu) {
  return gpu.uuid().empty() ? gpu.pci_address() : gpu.uuid();
}

// Both ranks. Rank 1 only lends and compares. Not thread safe.
class RankCopies final : public Kernel {
 public:
  // The GPU is opened here when it is named; without a name the rank decides.
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    engine_ = engine_of(context.params.text("engine"));
    reads_ = context.params.text("direction") == "read";
    verify_ = context.params.boolean("verify");
    copies_ = static_cast<std::uint64_t>(context.params.integer("copies"));
    kind_ = context.params.text("handle") == "fabric" ? gpu::HandleKind::kFabric
                                                      : gpu::HandleKind::kPosix;
    gpus_ = RG_TRY(gpu::Gpu::count());
    return context.endpoint.empty() ? Status{} : open(context);
  }

  // Three agreements: both have a GPU and rank 1 has memory to lend; rank 0 has mapped it. A rank
  // that fails is named to the other one before anything is timed.
  Status connect(Context& context, Group& group) override {
    if (group.size() != 2)
      return invalid("cuda.rank_copy_bw: it has two ranks, not {}", group.size());
    rank_ = group.rank();
    Status opened;
    if (!opened_) {
      context.endpoint = fmt::format("gpu{}", rank_ % static_cast<std::uint32_t>(gpus_));
      opened = open(context);
    }
    LentMemory mine;
    std::optional<DescriptorPost> post;
    if (opened && rank_ == 1) opened = lend(mine, post);
    if (opened) mine.set_gpu(name_of_gpu(session_.gpu()));
    mine.set_host(host_name());
    const auto met = RG_TRY(agree_on(group, opened, mine, seconds_left(context)));
    if (kind_ == gpu::HandleKind::kPosix && met[0].host() != met[1].host())
      return fail(Code::kFailedPrecondition,
                  "ranks 0 and 1: a POSIX handle is of one host, and they are on {} and {}; use "
                  "handle fabric",
                  met[0].host(), met[1].host());
    const double until_ns =
        std::min(context.deadline_monotonic_ns, monotonic_now_ns() + kHandoverNs);
    Status shared;
    if (rank_ == 0) shared = borrow(met[1], until_ns);
    if (rank_ == 1 && post) shared = give(*post, until_ns);
    post.reset();  // a caller that got nothing learns it at once
    RG_TRY_OK(agree<LentMemory>(group, shared, seconds_left(context)));
    same_gpu_ = met[0].host() == met[1].host() && met[0].gpu() == met[1].gpu();
    if (rank_ == 0) report_facts(context.reporter);
    return {};
  }

  // Size after size, in step: rank 1 compares a size before rank 0 begins the next.
  Status measure(Context& context, Group& group) override {
    RG_TRY_OK(session_.gpu().make_current());
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, group, size));
    return {};
  }

  ~RankCopies() override {
    if (opened_) static_cast<void>(session_.gpu().make_current());
  }

 private:
  // Each rank has memory for the largest size, rank 1 as a lender.
  Status open(Context& context) {
    session_ = RG_TRY(gpu::Session::open(context));
    opened_ = true;
    kits_ = RG_TRY(Kits::create(session_.gpus(), engine_));
    own_ = RG_TRY(Area::on_gpu(session_.gpu(), largest()));
    return {};
  }
  [[nodiscard]] std::uint64_t largest() const { return *std::ranges::max_element(sizes_); }

  // Rank 1: makes the memory, and says how rank 0 gets it.
  Status lend(LentMemory& told, std::optional<DescriptorPost>& post) {
    shared_ = RG_TRY(gpu::SharedMemory::create(session_.gpu(), largest(), kind_));
    told.set_bytes(shared_.size());
    if (kind_ == gpu::HandleKind::kFabric) {
      told.set_fabric(RG_TRY(shared_.export_fabric(session_.gpu())));
      return {};
    }
    post.emplace(RG_TRY(DescriptorPost::open()));
    told.set_socket(post->name());
    return {};
  }
  // Rank 1, while rank 0 fetches.
  Status give(const DescriptorPost& post, double until_ns) {
    return post.give(RG_TRY(shared_.export_descriptor(session_.gpu())), until_ns);
  }

  // Rank 0: maps the lent memory for its own GPU. The driver refuses where the GPUs have no peer
  // access.
  Status borrow(const LentMemory& lender, double until_ns) {
    RG_TRY_OK(session_.gpu().make_current());
    if (kind_ == gpu::HandleKind::kFabric) {
      shared_ = RG_TRY(gpu::SharedMemory::import(session_.gpu(), lender.fabric(), lender.bytes()));
      return {};
    }
    const Fd descriptor = RG_TRY(fetch_descriptor(lender.socket(), until_ns));
    shared_ = RG_TRY(gpu::SharedMemory::import(session_.gpu(), descriptor, lender.bytes()));
    return {};
  }

  void report_facts(Reporter& reporter) const {
    kits_.report_facts(reporter);
    reporter.fact("memory", "gpu");
    reporter.fact("handle", kind_ == gpu::HandleKind::kFabric ? "fabric" : "POSIX descriptor");
    reporter.fact("gpus", same_gpu_ ? "both ranks on one GPU" : "one of each rank");
    reporter.fact("reported", "one way, the link otherwise idle");
  }

  // Rank 1 waits for rank 0's samples, then compares what is in its memory.
  Status measure_size(Context& context, Group& group, std::uint64_t size) {
    LentMemory told;
    std::optional<Point> point;
    Status done;
    if (rank_ == 0) {
      auto measured = copy(context, size, told);
      if (measured)
        point = std::move(*measured);
      else
        done = tl::unexpected(measured.error());
    }
    const auto copied = RG_TRY(agree_on(group, done, told, seconds_left(context)));
    done = rank_ == 1 && verify_ ? compare(copied[0]) : Status{};
    RG_TRY_OK(agree<LentMemory>(group, done, seconds_left(context)));
    if (point) session_.report(context, std::move(*point));
    return {};
  }

  // Rank 0: samples and compares its end.
  Result<Point> copy(Context& context, std::uint64_t size, LentMemory& told) {
    const gpu::Gpu& gpu = session_.gpu();
    const Area lent = Area::borrowed(gpu, shared_.data(), shared_.size());
    const Route route{.flows = {{.runs_on = &gpu, .source = &gpu, .target = &gpu}},
                      .pair = "",
                      .meaning = "unidirectional"};
    const std::pair<const Area*, const Area*> ends =
        reads_ ? std::pair(&lent, &std::as_const(own_)) : std::pair(&std::as_const(own_), &lent);
    const RouteRun::Parts parts{.kits = &kits_,
                                .engine = engine_,
                                .by_cpu = false,
                                .cache_bytes = 0,
                                .copies_in_sample = copies_,
                                .deadline_monotonic_ns = context.deadline_monotonic_ns,
                                .clock = &tick_clock(context)};
    RouteRun run = RG_TRY(RouteRun::start(parts, route, {ends}, size));
    Point point = RG_TRY(sample(context, run, size));
    if (verify_) RG_TRY_OK(run.verify());
    point.set_verified(verify_);
    told.set_pattern_bytes(size);
    told.set_pattern_seed(run.seed_of(0));
    if (!same_gpu_) RG_TRY_OK(check_links(gpu, point));
    return point;
  }

  // As the copies of one process are sampled, so that both figures can be compared.
  Result<Point> sample(Context& context, RouteRun& run, std::uint64_t size) {
    SamplerOptions options = options_;
    options.batch = run.batch();
    options.least_batch = std::min(run.batch(), kBatchOfCopies);
    options.warm_up = options.warm_up && !run.warm();
    options.operation_ns = run.sample_ns();
    const std::uint64_t before = run.copies_so_far();
    Sampled sampled = RG_TRY(session_.sample(
        context, options,
        [&run](std::uint64_t count, std::vector<double>& out) { return run.sample(count, out); },
        [&run] { return run.restart(); }));
    sampled.warmup_count = before + sampled.warmup_count * run.copies_in_sample();
    Point point =
        make_point({.metric = std::string(kBandwidthMetric),
                    .meaning = "unidirectional",
                    .unit = "bytes_per_second",
                    .larger_is_better = true},
                   size, sampled, context.raw_samples, loaded_cuda().synthetic || run.slowed());
    point.set_mean(rate_over_all_time(sampled.samples));
    (*point.mutable_facts())["mean_is"] = "all bytes over all time";
    (*point.mutable_facts())["buffer"] = "hot";
    run.report_facts(point);
    return point;
  }

  // This GPU's links bound the figure, whatever the other's are.
  static Status check_links(const gpu::Gpu& gpu, Point& point) {
    const auto ceiling = gpu::peer_ceiling(std::array{gpu::peer_parts(gpu)});
    if (!ceiling) return {};
    gpu::add_ceiling_facts(*ceiling, headline_of(point), *point.mutable_facts());
    return gpu::check_ceiling(gpu.name(), ceiling, point.median());
  }

  // Rank 1: its memory by its own address has the pattern that rank 0 read or wrote.
  Status compare(const LentMemory& told) {
    RG_TRY_OK(session_.gpu().make_current());
    const std::uint64_t bytes = std::min<std::uint64_t>(told.pattern_bytes(), shared_.size());
    return kits_.verify(Area::borrowed(session_.gpu(), shared_.data(), shared_.size()), bytes,
                        told.pattern_seed());
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  Engine engine_ = Engine::kCopyEngine;
  gpu::HandleKind kind_ = gpu::HandleKind::kPosix;
  bool reads_ = true;
  bool verify_ = true;
  bool opened_ = false;
  bool same_gpu_ = false;
  std::uint64_t copies_ = 0;
  std::uint32_t rank_ = 0;
  int gpus_ = 1;
  gpu::Session session_;  // outlives what follows
  gpu::SharedMemory shared_;
  Area own_;
  Kits kits_;
};

// The declaration. Copies are hot, as the tool's.
KernelInfo rank_copy_info() {
  constexpr double kMaxCopies = 32;  // fit in every queue
  return InfoBuilder("cuda.rank_copy_bw", 1,
                     "Copies between the GPUs of two processes, on one node or two")
      .ranks(2, 2)
      .endpoint("gpu")
      .metrics({std::string(kBandwidthMetric)})
      .choice("handle", "",
              "how rank 1 lends its memory: posix, a descriptor on one host; fabric, between nodes "
              "of an NVLink domain",
              {"posix", "fabric"})
      .identity()
      .choice("direction", "", "what rank 0's GPU does: read rank 1's memory, or write to it",
              {"read", "write"})
      .identity()
      .apply(add_engine)
      .sizes("64MiB")
      .integer("copies", "copies in one sample; 0 chooses as many as last 8 ms", 0, 0, kMaxCopies)
      .sampling("samples", 8, 10'000)
      .least_time("2s")
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaRankCopyBw{cuda::rank_copy_info, []() -> std::unique_ptr<Kernel> {
                                         return std::make_unique<cuda::RankCopies>();
                                       }};
}  // namespace railgauge
