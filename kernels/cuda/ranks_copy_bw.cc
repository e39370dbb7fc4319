// Bandwidth of copies between the GPUs of many processes at once, as nvbandwidth's multinode tests
// copy: each rank has one GPU, lends memory by a handle, and maps what others lend it. All begin
// together; the figure is all their bytes over the time from the first begin to the last end
// (kernels/gpu/together).
//   both_read, both_write: two ranks, each reads the other's memory or writes into it.
//   all_to_one: every other rank writes into memory of rank `one`, each into its own part.
//   all_from_one: every other rank reads memory of rank `one`, each its own part.
//   bisect: each rank writes into the memory of the rank half the ranks further on.
// Bytes count once, where they arrive. Each rank's patterns are its own, so that a mapping of
// another rank's memory is found: the copying rank compares its copies, the lender its memory by
// its own address.
#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stats/stats.h"
#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/descriptor_post.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peer.pb.h"
#include "kernels/gpu/shared_memory.h"
#include "kernels/gpu/together/together.h"

namespace railgauge::cuda {
namespace {

constexpr double kHandoverOfAllNs = 20e9;  // the longest time for giving all descriptors
constexpr std::uint64_t kSamplesInBatch = 4;
// Each maps one other's memory; a lender has a piece for each of them.
constexpr std::uint32_t kMostCopyingRanks = 64;

// The part of a pattern that one rank copies: whose memory it uses, and which way.
struct Link {
  std::uint32_t lender = 0;
  bool reads = false;
};

// Returns what rank `rank` of `ranks` copies in the pattern; nothing for a rank that only lends.
// Pure.
std::optional<Link> link_of(const std::string& pattern, std::uint32_t rank, std::uint32_t ranks,
                            std::uint32_t one) {
  if (pattern == "bisect") return Link{(rank + ranks / 2) % ranks, false};
  if (pattern == "both_read" || pattern == "both_write")
    return Link{1 - rank, pattern == "both_read"};
  if (rank == one) return std::nullopt;
  return Link{one, pattern == "all_from_one"};
}

// Memory that this rank lends to one other.
struct Lent {
  std::uint32_t borrower = 0;
  gpu::SharedMemory memory;
  std::optional<DescriptorPost> post{};
};

// One rank. Not thread safe.
class ManyRankCopies final : public Kernel {
 public:
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    options_.batch = kSamplesInBatch;
    engine_ = engine_of(context.params.text("engine"));
    pattern_ = context.params.text("pattern");
    one_ = static_cast<std::uint32_t>(context.params.integer("one"));
    verify_ = context.params.boolean("verify");
    copies_ = static_cast<std::uint64_t>(context.params.integer("copies"));
    kind_ = context.params.text("handle") == "fabric" ? gpu::HandleKind::kFabric
                                                      : gpu::HandleKind::kPosix;
    gpus_ = RG_TRY(gpu::Gpu::count());
    return context.endpoint.empty() ? Status{} : open(context);
  }

  // Meets, lends, and maps. A rank that fails is named to the others before anything is timed.
  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    ranks_ = group.size();
    RG_TRY_OK(check_ranks());
    link_ = link_of(pattern_, rank_, ranks_, one_);
    Status opened;
    if (!opened_) {
      context.endpoint = fmt::format("gpu{}", rank_ % static_cast<std::uint32_t>(gpus_));
      opened = open(context);
    }
    together_.emplace(context, group);
    RG_TRY_OK(together_->meet(opened, opened_ ? &session_.gpu() : nullptr));
    if (kind_ == gpu::HandleKind::kPosix && !together_->on_one_host())
      return fail(
          Code::kFailedPrecondition,
          "cuda.ranks_copy_bw: a POSIX handle is of one host, and the ranks are on several; "
          "use handle fabric");
    RankLoans mine;
    const Status lending = lend(mine);
    const auto loans = RG_TRY(agree_on(group, lending, mine, seconds_left(context)));
    const double until_ns =
        std::min(context.deadline_monotonic_ns, monotonic_now_ns() + kHandoverOfAllNs);
    RG_TRY_OK(together_->agree(exchange_handles(loans, until_ns)));
    if (rank_ == 0) report_facts(context.reporter);
    return {};
  }

  Status measure(Context& context, Group& group) override {
    RG_TRY_OK(session_.gpu().make_current());
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, group, size));
    return {};
  }

  ~ManyRankCopies() override {
    if (opened_) static_cast<void>(session_.gpu().make_current());
  }

 private:
  // The group's size decides which patterns there are.
  [[nodiscard]] Status check_ranks() const {
    const bool of_two = pattern_ == "both_read" || pattern_ == "both_write";
    if (of_two && ranks_ != 2)
      return invalid("pattern {}: it has two ranks, not {}", pattern_, ranks_);
    if (pattern_ == "bisect" && ranks_ % 2 != 0)
      return invalid("pattern bisect: it has an even number of ranks, not {}", ranks_);
    if (ranks_ > kMostCopyingRanks)
      return fail(Code::kUnimplemented,
                  "cuda.ranks_copy_bw: {} ranks: at most {} map each other's "
                  "memory here",
                  ranks_, kMostCopyingRanks);
    if (one_ >= ranks_) return invalid("parameter one: {} is no rank of {}", one_, ranks_);
    return {};
  }

  Status open(Context& context) {
    session_ = RG_TRY(gpu::Session::open(context));
    opened_ = true;
    kits_ = RG_TRY(Kits::create(session_.gpus(), engine_));
    own_ = RG_TRY(Area::on_gpu(session_.gpu(), largest()));
    return {};
  }
  [[nodiscard]] std::uint64_t largest() const { return *std::ranges::max_element(sizes_); }

  // A piece of memory for each rank that uses this one's.
  Status lend(RankLoans& told) {
    RG_TRY_OK(session_.gpu().make_current());
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      const auto link = link_of(pattern_, other, ranks_, one_);
      if (!link || link->lender != rank_) continue;
      Lent lent{.borrower = other,
                .memory = RG_TRY(gpu::SharedMemory::create(session_.gpu(), largest(), kind_))};
      RankLoans::Loan& loan = *told.add_loans();
      loan.set_borrower(other);
      loan.set_bytes(lent.memory.size());
      if (kind_ == gpu::HandleKind::kFabric) {
        loan.set_fabric(RG_TRY(lent.memory.export_fabric(session_.gpu())));
      } else {
        lent.post.emplace(RG_TRY(DescriptorPost::open()));
        loan.set_socket(lent.post->name());
      }
      lent_.push_back(std::move(lent));
    }
    return {};
  }

  // A thread gives while this one fetches: two ranks may lend to each other.
  Status exchange_handles(const std::vector<RankLoans>& loans, double until_ns) {
    Status gave;
    std::thread giver([&] { gave = give_all(until_ns); });
    const Status fetched = link_ ? borrow(loans[link_->lender], until_ns) : Status{};
    giver.join();
    for (Lent& lent : lent_) lent.post.reset();
    return fetched ? gave : fetched;
  }
  Status give_all(double until_ns) {
    RG_TRY_OK(session_.gpu().make_current());
    for (const Lent& lent : lent_)
      if (lent.post)
        RG_TRY_OK(lent.post->give(RG_TRY(lent.memory.export_descriptor(session_.gpu())), until_ns));
    return {};
  }
  Status borrow(const RankLoans& lender, double until_ns) {
    RG_TRY_OK(session_.gpu().make_current());
    const auto loan = std::ranges::find(lender.loans(), rank_, &RankLoans::Loan::borrower);
    if (loan == lender.loans().end())
      return fail(Code::kInternal, "rank {}: it lends nothing to rank {}", link_->lender, rank_);
    if (kind_ == gpu::HandleKind::kFabric) {
      borrowed_ = RG_TRY(gpu::SharedMemory::import(session_.gpu(), loan->fabric(), loan->bytes()));
      return {};
    }
    const Fd descriptor = RG_TRY(fetch_descriptor(loan->socket(), until_ns));
    borrowed_ = RG_TRY(gpu::SharedMemory::import(session_.gpu(), descriptor, loan->bytes()));
    return {};
  }

  void report_facts(Reporter& reporter) const {
    kits_.report_facts(reporter);
    reporter.fact("memory", "gpu");
    reporter.fact("handle", kind_ == gpu::HandleKind::kFabric ? "fabric" : "POSIX descriptor");
    reporter.fact("gpus", together_->on_one_gpu() ? "all ranks on one GPU" : "one of each rank");
    reporter.fact("processes", std::to_string(ranks_));
    reporter.fact("counted_from", together_->on_one_host()
                                      ? "the first rank's begin to the last rank's end"
                                      : "the ranks' meeting to the last rank's end");
  }

  // Every rank makes its run; then rank 0 leads the samples and the others follow.
  Status measure_size(Context& context, Group& group, std::uint64_t size) {
    std::optional<RouteRun> run;
    Status made;
    const Area borrowed = Area::borrowed(session_.gpu(), borrowed_.data(), borrowed_.size());
    if (link_) {
      auto started = start(context, borrowed, size);
      if (started)
        run.emplace(std::move(*started));
      else
        made = tl::unexpected(started.error());
    }
    RG_TRY_OK(together_->agree(made));
    const gpu::TogetherParts parts{
        .move = [&](double begin_ns) { return move(run, size, begin_ns); },
        .ready = [&]() -> Status { return run ? run->restart() : Status{}; }};
    std::optional<Point> point;
    if (rank_ == 0) {
      const auto sampled = lead(context, parts, run);
      RG_TRY_OK(together_->end(sampled ? Status{} : Status(tl::unexpected(sampled.error()))));
      point = point_of(context, *sampled, run, size);
    } else {
      RG_TRY_OK(together_->follow(parts));
    }
    RG_TRY_OK(compare(context, group, run, size));
    if (point) session_.report(context, std::move(*point));
    return {};
  }

  // This rank's copies as one flow. Its patterns have seeds of its own, so that a lender knows
  // whose bytes it compares.
  Result<RouteRun> start(Context& context, const Area& borrowed, std::uint64_t size) {
    const gpu::Gpu& gpu = session_.gpu();
    const Route route{.flows = {{.runs_on = &gpu, .source = &gpu, .target = &gpu}},
                      .pair = "",
                      .meaning = "overlap_sum"};
    const std::pair<const Area*, const Area*> ends =
        link_->reads ? std::pair(&borrowed, &std::as_const(own_))
                     : std::pair(&std::as_const(own_), &borrowed);
    constexpr std::uint64_t kSeedsOfRank = 1000;
    return RouteRun::start({.kits = &kits_,
                            .engine = engine_,
                            .by_cpu = false,
                            .cache_bytes = 0,
                            .copies_in_sample = copies_,
                            .deadline_monotonic_ns = context.deadline_monotonic_ns,
                            .clock = &tick_clock(context),
                            .seed_offset = kSeedsOfRank * (rank_ + 1)},
                           route, {ends}, size);
  }

  // One gate's copies. A rank that only lends takes no time.
  Result<gpu::Moved> move(std::optional<RouteRun>& run, std::uint64_t size, double begin_ns) {
    if (!run) return gpu::Moved{.bytes = 0, .began_ns = kNever, .ended_ns = 0};
    RG_TRY_OK(session_.gpu().make_current());
    run->open_at(begin_ns);
    const std::uint64_t count = run->batch();
    std::vector<double> rates;
    RG_TRY_OK(run->sample(count, rates));
    const double bytes = static_cast<double>(size * run->copies_in_sample());
    gpu::Moved moved{.bytes = 0, .began_ns = run->opened_monotonic_ns(), .ended_ns = 0};
    moved.ended_ns = moved.began_ns;
    for (const double rate : rates) {
      moved.bytes += bytes;
      moved.ended_ns += bytes / rate * 1e9;
    }
    return moved;
  }

  // Rank 0's samples are the joint rates; it follows its own orders like the others.
  Result<Sampled> lead(Context& context, const gpu::TogetherParts& parts,
                       std::optional<RouteRun>& run) {
    SamplerOptions options = options_;
    if (run) options.operation_ns = run->sample_ns() * static_cast<double>(run->batch());
    return session_.sample(
        context, options,
        [&](std::uint64_t count, std::vector<double>& out) -> Status {
          for (std::uint64_t i = 0; i < count; ++i)
            out.push_back(RG_TRY(together_->sample(parts, ranks_)));
          return {};
        },
        [&] { return together_->ready(parts); });
  }

  // One figure for all ranks, from rank 0.
  Point point_of(Context& context, const Sampled& sampled, const std::optional<RouteRun>& run,
                 std::uint64_t size) const {
    Point point = make_point({.metric = std::string(kBandwidthMetric),
                              .meaning = "overlap_sum",
                              .unit = "bytes_per_second",
                              .larger_is_better = true},
                             size, sampled, context.raw_samples,
                             loaded_cuda().synthetic || (run && run->slowed()));
    point.set_mean(rate_over_all_time(sampled.samples));
    point.set_verified(verify_);
    auto& facts = *point.mutable_facts();
    facts["mean_is"] = "all bytes over all time";
    facts["buffer"] = "hot";
    facts["rank_shares"] = together_->shares();
    return point;
  }

  // Copying ranks compare their targets, then lenders what others copied of theirs or into it.
  Status compare(Context& context, Group& group, std::optional<RouteRun>& run, std::uint64_t size) {
    if (!verify_) return {};
    RankLoans told;
    Status done;
    if (run) {
      done = run->verify();
      told.set_pattern_seed(run->seed_of(0));
    }
    const auto all = RG_TRY(agree_on(group, done, told, seconds_left(context)));
    done = {};
    RG_TRY_OK(session_.gpu().make_current());
    for (const Lent& lent : lent_) {
      if (!done) break;
      done = kits_.verify(Area::borrowed(session_.gpu(), lent.memory.data(), lent.memory.size()),
                          size, all[lent.borrower].pattern_seed());
    }
    return together_->agree(done);
  }

  static constexpr double kNever = 1e300;  // the begin of a rank that copies nothing

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  std::string pattern_;
  Engine engine_ = Engine::kCopyEngine;
  gpu::HandleKind kind_ = gpu::HandleKind::kPosix;
  bool verify_ = true;
  bool opened_ = false;
  std::uint64_t copies_ = 0;
  std::uint32_t one_ = 0;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 2;
  int gpus_ = 1;
  std::optional<Link> link_;
  gpu::Session session_;  // outlives what follows
  std::list<Lent> lent_;
  gpu::SharedMemory borrowed_;
  Area own_;
  Kits kits_;
  std::optional<gpu::Together> together_;
};

// The declaration. Copies are hot, as the tool's.
KernelInfo many_rank_info() {
  constexpr double kMaxCopies = 32;  // fit in every queue
  return InfoBuilder("cuda.ranks_copy_bw", 1,
                     "Copies between the GPUs of many processes at once, on one node or several")
      .ranks(2, 0)
      .endpoint("gpu")
      .metrics({std::string(kBandwidthMetric)})
      .choice("pattern", "", "who copies with whom",
              {"both_read", "both_write", "all_to_one", "all_from_one", "bisect"})
      .identity()
      .integer("one", "the rank that all others write to or read from", 0, 0, kMostCopyingRanks - 1)
      .identity()
      .choice("handle", "",
              "how ranks lend their memory: posix, a descriptor on one host; fabric, between nodes "
              "of an NVLink domain",
              {"posix", "fabric"})
      .identity()
      .apply(add_engine)
      .sizes("64MiB")
      .integer("copies", "copies in one sample of a rank; 0 chooses as many as last 8 ms", 0, 0,
               kMaxCopies)
      .sampling("joint copies", 8, 10'000)
      .least_time("2s")
      .apply(gpu::add_session_parameters)
      .build();
}

}  // namespace
}  // namespace railgauge::cuda

namespace railgauge {
extern const KernelRow kCudaRanksCopyBw{cuda::many_rank_info, []() -> std::unique_ptr<Kernel> {
                                          return std::make_unique<cuda::ManyRankCopies>();
                                        }};
}  // namespace railgauge
