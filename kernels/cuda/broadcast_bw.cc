// Bandwidth of stores that reach many GPUs at once through a multicast object of the NVLink switch,
// as nvbandwidth's multinode broadcasts: each rank has one GPU, and binds memory to one object.
//   one_to_all: rank `one` stores into the memory of all ranks, its own among them.
//   all_to_all: every rank does, each into its own part.
// Bytes count once, as they leave their sender. All senders begin together (kernels/gpu/together).
// Afterwards each rank compares its own memory with the pattern of each sender.
//
// A multicast object takes a resource of the switch that jobs use too, so nothing is made unless
// the parameter `multicast` allows it and the node's NCCL settings do not forbid it.
#include <algorithm>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/nccl_conf.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stats/stats.h"
#include "kernels/cuda/copy_bench.h"
#include "kernels/cuda/descriptor_post.h"
#include "kernels/cuda/parameters.h"
#include "kernels/cuda/peer.pb.h"
#include "kernels/gpu/multicast.h"
#include "kernels/gpu/together/together.h"

namespace railgauge::cuda {
namespace {

constexpr double kHandoverNs = 20e9;  // the longest time for giving all descriptors
constexpr std::uint64_t kSamplesInBatch = 4;
constexpr std::uint32_t kMostRanks = 64;
constexpr std::uint64_t kStoreBytes = 4;  // of the smallest multicast store
constexpr std::uint64_t kPartUnit = 4096;

// kFailedPrecondition where nobody allowed multicast, or the node's site forbids it.
Status permitted(const Params& params) {
  if (params.text("multicast") != "allow")
    return fail(Code::kFailedPrecondition,
                "cuda.broadcast_bw: it makes a multicast object in the NVLink switch, which the "
                "parameter multicast forbids; where the site permits it, set multicast=allow");
  constexpr const char* kVariable = "NCCL_NVLS_ENABLE";
  if (nccl_setting_in_force(kVariable) != "0") return {};
  return fail(Code::kFailedPrecondition,
              "cuda.broadcast_bw: this node forbids NVLink multicast: {}=0 in the environment or "
              "an nccl.conf",
              kVariable);
}

// One rank. Not thread safe.
class Broadcasts final : public Kernel {
 public:
  Status prepare(Context& context) override {
    RG_TRY_OK(permitted(context.params));
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    options_.batch = kSamplesInBatch;
    engine_ = context.params.text("engine") == "ce" ? Engine::kCopyEngine : Engine::kMulticast;
    all_send_ = context.params.text("pattern") == "all_to_all";
    one_ = static_cast<std::uint32_t>(context.params.integer("one"));
    verify_ = context.params.boolean("verify");
    copies_ = static_cast<std::uint64_t>(context.params.integer("copies"));
    kind_ = context.params.text("handle") == "fabric" ? gpu::HandleKind::kFabric
                                                      : gpu::HandleKind::kPosix;
    for (const std::uint64_t size : sizes_)
      if (engine_ == Engine::kMulticast && size % kStoreBytes != 0)
        return invalid("parameter sizes: {} bytes: a multicast store has 4 bytes or 16", size);
    gpus_ = RG_TRY(gpu::Gpu::count());
    return context.endpoint.empty() ? Status{} : open(context);
  }

  // Meets, and builds the team. A rank that fails is named to the others before anything is timed.
  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    ranks_ = group.size();
    if (ranks_ > kMostRanks)
      return fail(Code::kUnimplemented, "cuda.broadcast_bw: {} ranks: a team has at most {} here",
                  ranks_, kMostRanks);
    if (one_ >= ranks_) return invalid("parameter one: {} is no rank of {}", one_, ranks_);
    Status opened;
    if (!opened_) {
      context.endpoint = fmt::format("gpu{}", rank_ % static_cast<std::uint32_t>(gpus_));
      opened = open(context);
    }
    together_.emplace(context, group);
    RG_TRY_OK(together_->meet(opened, opened_ ? &session_.gpu() : nullptr));
    if (!together_->on_gpus_of_their_own())
      return fail(Code::kFailedPrecondition,
                  "cuda.broadcast_bw: ranks share a GPU; a multicast team has a GPU of its own for "
                  "each of at least two ranks");
    if (kind_ == gpu::HandleKind::kPosix && !together_->on_one_host())
      return fail(Code::kFailedPrecondition,
                  "cuda.broadcast_bw: a POSIX handle is of one host, and the ranks are on several; "
                  "use handle fabric");
    RG_TRY_OK(form_team(context, group));
    if (rank_ == 0) report_facts(context.reporter);
    return {};
  }

  Status measure(Context& context, Group& group) override {
    RG_TRY_OK(session_.gpu().make_current());
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, group, size));
    return {};
  }

  ~Broadcasts() override {
    if (opened_) static_cast<void>(session_.gpu().make_current());
  }

 private:
  [[nodiscard]] bool sends(std::uint32_t rank) const { return all_send_ || rank == one_; }
  // Where a sender's bytes are in the object.
  [[nodiscard]] std::uint64_t part_of(std::uint32_t sender) const {
    return all_send_ ? sender * part_bytes() : 0;
  }
  [[nodiscard]] std::uint64_t part_bytes() const {
    const std::uint64_t largest = *std::ranges::max_element(sizes_);
    return (largest + kPartUnit - 1) / kPartUnit * kPartUnit;
  }
  // A sender's part of this rank's own memory.
  [[nodiscard]] Area own_part(std::uint32_t sender) const {
    return Area::borrowed(session_.gpu(), team_.own() + part_of(sender), part_bytes());
  }

  Status open(Context& context) {
    session_ = RG_TRY(gpu::Session::open(context));
    opened_ = true;
    RG_TRY_OK(gpu::Multicast::check(session_.gpu(), kind_));
    kits_ = RG_TRY(Kits::create(session_.gpus(), engine_));
    source_ = RG_TRY(Area::on_gpu(session_.gpu(), part_bytes()));
    return {};
  }

  // Rank 0 makes the object and the others import it. All join before one binds, and all bind
  // before one maps.
  Status form_team(const Context& context, Group& group) {
    const double until_ns =
        std::min(context.deadline_monotonic_ns, monotonic_now_ns() + kHandoverNs);
    RankLoans mine;
    const Status lent = rank_ == 0 ? lend(mine) : Status{};
    const auto all = RG_TRY(agree_on(group, lent, mine, seconds_left(context)));
    RG_TRY_OK(together_->agree(rank_ == 0 ? give(until_ns) : borrow(all.front(), until_ns)));
    RG_TRY_OK(together_->agree(team_.join()));
    RG_TRY_OK(together_->agree(team_.bind()));
    return together_->agree(team_.map());
  }
  Status lend(RankLoans& told) {
    RG_TRY_OK(session_.gpu().make_current());
    const std::uint64_t bytes = part_bytes() * (all_send_ ? ranks_ : 1);
    team_ = RG_TRY(gpu::Multicast::create(session_.gpu(), bytes, ranks_, kind_));
    for (std::uint32_t other = 1; other < ranks_; ++other) {
      RankLoans::Loan& loan = *told.add_loans();
      loan.set_borrower(other);
      loan.set_bytes(team_.size());
      if (kind_ == gpu::HandleKind::kFabric) {
        loan.set_fabric(RG_TRY(team_.export_fabric()));
      } else {
        posts_.push_back(RG_TRY(DescriptorPost::open()));
        loan.set_socket(posts_.back().name());
      }
    }
    return {};
  }
  Status give(double until_ns) {
    for (const DescriptorPost& post : posts_)
      RG_TRY_OK(post.give(RG_TRY(team_.export_descriptor()), until_ns));
    posts_.clear();
    return {};
  }
  Status borrow(const RankLoans& lender, double until_ns) {
    RG_TRY_OK(session_.gpu().make_current());
    const auto loan = std::ranges::find(lender.loans(), rank_, &RankLoans::Loan::borrower);
    if (loan == lender.loans().end())
      return fail(Code::kInternal, "rank 0: it lends no multicast object to rank {}", rank_);
    if (kind_ == gpu::HandleKind::kFabric) {
      team_ = RG_TRY(gpu::Multicast::import(session_.gpu(), loan->fabric(), loan->bytes(), kind_));
      return {};
    }
    const Fd descriptor = RG_TRY(fetch_descriptor(loan->socket(), until_ns));
    team_ = RG_TRY(gpu::Multicast::import(session_.gpu(), descriptor, loan->bytes(), kind_));
    return {};
  }

  void report_facts(Reporter& reporter) const {
    kits_.report_facts(reporter);
    if (engine_ == Engine::kCopyEngine) reporter.fact("path", "copy engine into multicast memory");
    reporter.fact("memory", "gpu");
    reporter.fact("handle", kind_ == gpu::HandleKind::kFabric ? "fabric" : "POSIX descriptor");
    reporter.fact("multicast_bytes", std::to_string(team_.size()));
    reporter.fact("receivers", std::to_string(ranks_));
    reporter.fact("counted_from", together_->on_one_host()
                                      ? "the first rank's begin to the last rank's end"
                                      : "the ranks' meeting to the last rank's end");
  }

  // Every sender makes its run; then rank 0 leads the samples and the others follow.
  Status measure_size(Context& context, Group& group, std::uint64_t size) {
    std::optional<RouteRun> run;
    Status made;
    const Area target = own_part(rank_);
    if (sends(rank_)) {
      auto started = start(context, target, size);
      if (started)
        run.emplace(std::move(*started));
      else
        made = tl::unexpected(started.error());
    }
    RG_TRY_OK(together_->agree(made));
    const gpu::TogetherParts parts{
        .move = [&](double begin_ns) { return move(run, size, begin_ns); },
        .ready = [&] { return make_wrong(run, size); }};
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

  // A sender's target is its own memory, which its stores reach through the object as the others'.
  Result<RouteRun> start(Context& context, const Area& target, std::uint64_t size) {
    const gpu::Gpu& gpu = session_.gpu();
    const Route route{.flows = {{.runs_on = &gpu, .source = &gpu, .target = &gpu}},
                      .pair = "",
                      .meaning = "overlap_sum"};
    constexpr std::uint64_t kSeedsOfRank = 1000;
    return RouteRun::start({.kits = &kits_,
                            .engine = engine_,
                            .by_cpu = false,
                            .cache_bytes = 0,
                            .copies_in_sample = copies_,
                            .deadline_monotonic_ns = context.deadline_monotonic_ns,
                            .clock = &tick_clock(context),
                            .seed_offset = kSeedsOfRank * (rank_ + 1),
                            .writes_beyond = team_.all() - team_.own()},
                           route, {{&source_, &target}}, size);
  }

  // Fills every part of this rank's memory with bytes that no sender sends.
  Status make_wrong(std::optional<RouteRun>& run, std::uint64_t size) {
    RG_TRY_OK(session_.gpu().make_current());
    constexpr std::uint64_t kWrongSeed = 1;
    for (std::uint32_t sender = 0; sender < ranks_; ++sender)
      if (sends(sender)) RG_TRY_OK(kits_.fill(own_part(sender), size, kWrongSeed));
    return run ? run->restart() : Status{};
  }

  // One gate's stores. A rank that only receives takes no time.
  Result<gpu::Moved> move(std::optional<RouteRun>& run, std::uint64_t size, double begin_ns) {
    if (!run) return gpu::Moved{.bytes = 0, .began_ns = kNever, .ended_ns = 0};
    RG_TRY_OK(session_.gpu().make_current());
    run->open_at(begin_ns);
    std::vector<double> rates;
    RG_TRY_OK(run->sample(run->batch(), rates));
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
    facts["bytes_counted"] = fmt::format("once, and {} GPUs have them", ranks_);
    facts["rank_shares"] = together_->shares();
    return point;
  }

  // Every rank compares what each sender stored into its memory.
  Status compare(Context& context, Group& group, std::optional<RouteRun>& run, std::uint64_t size) {
    if (!verify_) return {};
    RankLoans told;
    if (run) told.set_pattern_seed(run->seed_of(0));
    const auto all = RG_TRY(agree_on(group, Status{}, told, seconds_left(context)));
    RG_TRY_OK(session_.gpu().make_current());
    Status done;
    for (std::uint32_t sender = 0; sender < ranks_ && done; ++sender)
      if (sends(sender)) done = compare_part(sender, size, all[sender].pattern_seed());
    return together_->agree(done);
  }
  Status compare_part(std::uint32_t sender, std::uint64_t size, std::uint64_t seed) {
    Status done = kits_.verify(own_part(sender), size, seed);
    if (!done) done.error().message += fmt::format("; broadcast by rank {}", sender);
    return done;
  }

  static constexpr double kNever = 1e300;  // the begin of a rank that sends nothing

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  Engine engine_ = Engine::kMulticast;
  gpu::HandleKind kind_ = gpu::HandleKind::kPosix;
  bool all_send_ = false;
  bool verify_ = true;
  bool opened_ = false;
  std::uint64_t copies_ = 0;
  std::uint32_t one_ = 0;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 2;
  int gpus_ = 1;
  gpu::Session session_;  // outlives what follows
  std::vector<DescriptorPost> posts_;
  gpu::Multicast team_;
  Area source_;
  Kits kits_;
  std::optional<gpu::Together> together_;
};

// The declaration. Copies are hot, as the tool's.
KernelInfo broadcast_info() {
  constexpr double kMaxCopies = 32;  // fit in every queue
  return InfoBuilder("cuda.broadcast_bw", 1,
                     "Stores that reach the GPUs of many ranks at once, by NVLink multicast")
      .ranks(2, 0)
      .endpoint("gpu")
      .metrics({std::string(kBandwidthMetric)})
      .choice("pattern", "", "who sends to all: one rank, or every rank at once",
              {"one_to_all", "all_to_all"})
      .identity()
      .integer("one", "the rank that sends to all", 0, 0, kMostRanks - 1)
      .identity()
      .choice("multicast", "",
              "whether the task may make a multicast object in the NVLink switch; a node whose "
              "NCCL_NVLS_ENABLE is 0 forbids it in any case",
              {"forbid", "allow"})
      .choice("handle", "",
              "how ranks share the object: posix, a descriptor on one host; fabric, between nodes "
              "of an NVLink domain",
              {"posix", "fabric"})
      .identity()
      .choice("engine", "",
              "what stores: sm, the GPU's threads by multicast instructions; ce, its copy engines",
              {"sm", "ce"})
      .identity()
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
extern const KernelRow kCudaBroadcastBw{cuda::broadcast_info, []() -> std::unique_ptr<Kernel> {
                                          return std::make_unique<cuda::Broadcasts>();
                                        }};
}  // namespace railgauge
