// The life of one MPI kernel. Rank 0 leads: it decides how often each size is sampled and
// broadcasts one order for each step; all other ranks follow its orders until kDone. Orders travel
// over MPI itself, never over the rendezvous, so that no other channel is busy while a sample is
// taken.
#include "kernels/mpi/bench.h"

#include <sched.h>
#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/failpoint.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/cuda.h"
#include "kernels/mpi/binding/launched.h"
#include "kernels/mpi/data.h"
#include "kernels/mpi/far_ranks.h"
#include "kernels/mpi/info.h"
#include "kernels/mpi/operation.h"
#include "kernels/mpi/path/nearest_port.h"
#include "kernels/mpi/tunables.h"

namespace railgauge::mpi {
namespace {

// The bound keeps the records of a task with thousands of ranks small.
constexpr std::size_t kMostRankPoints = 64;  // ranks of which a distribution or a place is kept
// Above this size OSU's programs use their smaller counts; see large_iterations.
constexpr std::uint64_t kLargeAboveBytes = 8U << 10U;

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Operation& operation) {
  return std::make_unique<Bench>(operation);
}

// An operation without sizes (a barrier) has one share of 0 bytes.
Share Bench::share_of(std::size_t size_index) const {
  return {.bytes = operation_.sized ? sizes_[size_index] : 0,
          .rank = rank_,
          .ranks = ranks_,
          .root = root_,
          .window = window_,
          .one_buffer = one_buffer_,
          .uneven = uneven_};
}

// Called by rank 0 alone; the others wait for it in follow().
void Bench::send_order(Act act, std::size_t size_index, std::uint64_t count) {
  Order order{act, static_cast<std::uint32_t>(size_index), count};
  mpi_->broadcast(&order, sizeof order, 0);
}

// Fills the data to send and spoils the receive area, so that only data that arrives from now on
// proves anything. No rank continues before all have done so. Each place has a content of its own.
void Bench::begin(std::size_t size_index, std::uint64_t number) {
  const Share share = share_of(size_index);
  const std::uint64_t received = operation_.receive_bytes(share);
  const std::uint64_t sent = operation_.send_bytes(share);
  const Places places = places_of(size_index);
  const std::uint64_t last = places.of(places.count - 1);
  const std::vector<Segment> segments = operation_.sent(share);
  Content content = content_of(size_index, number);
  for (content.place = 0; content.place < places.count && sent > 0; ++content.place) {
    send_.move_to(places.of(content.place));
    for (const Segment& segment : segments) fill_segment(send_.view(), segment, content);
  }
  move_to(0);
  if (sent > 0) send_.push(0, last + sent);
  if (received > 0) {
    std::ranges::fill(receive_.view().first(last + received), kNotReceived);
    receive_.push(0, last + received);
  }
  send_.forget_host_copy(sent > 0 ? last + sent : 0);
  parts_ = operation_.parts == nullptr ? CollectiveParts{} : operation_.parts(operation_, share);
  mpi_->sync();
  mpi_->barrier();
  played_ = 0;
  counts_before_ = traffic_.counts();
  traffic_before_ = traffic_.read();
}

// One batch: all ranks run the timed calls, then rank 0 gathers the times where more than its own
// count. The gathering is outside of every sample.
void Bench::play(const TickClock& clock, std::size_t size_index, std::uint64_t count) {
  ticks_.assign(count, 0);
  Work work{operation_, *mpi_,  clock,          share_of(size_index),  send_,
            receive_,   parts_, target_staged_, places_of(size_index), played_,
            form_};
  work.compute_ticks = compute_ticks_;
  work.polls = polls_;
  work.in_place = in_place_;
  work.sync = sync_;
  work.wrong_fetch = verify_ ? &wrong_fetch_ : nullptr;
  // The batch starts together, so that the first sample does not contain another rank's order
  // handling.
  mpi_->barrier();
  operation_.play(work, ticks_);
  played_ += count;
  if (compute_ticks_ > 0) gather_computed(clock.to_ns(work.computed_ticks));
  if (operation_.timed == Timed::kFirst) return;
  own_ns_.clear();
  for (const std::uint64_t ticks : ticks_)
    own_ns_.push_back(operation_.once ? mpi_->init_ns() : clock.to_ns(ticks));
  all_ns_.resize(rank_ == 0 ? count * ranks_ : 0);
  mpi_->gather(own_ns_.data(), count * sizeof(double), all_ns_.data(), 0);
}

// Verifies the data that this rank received. All ranks learn whether one found a fault.
Status Bench::verify(std::size_t size_index) {
  const Share share = share_of(size_index);
  mpi_->barrier();
  mpi_->sync();
  const Places places = places_of(size_index);
  Content content = content_of(size_index, kTimedCalls);
  content.calls = played_;
  content.place = played_ > 0 ? (played_ - 1) % places.count : 0;
  move_to(places.of(content.place));
  receive_.pull(0, operation_.receive_bytes(share));
  // A copy that failed in the timed loop is reported here, and a call that fetched a wrong value.
  Status found = send_.status();
  if (found) found = receive_.status();
  if (found && verify_ && !wrong_fetch_.empty())
    found = fail(Code::kDataLoss, "rank {}: {}", rank_, wrong_fetch_);
  for (const Segment& segment : operation_.received(share)) {
    if (!found || !verify_) break;
    const auto wrong = wrong_in(receive_.view(), segment, content);
    if (wrong)
      found = fail(Code::kDataLoss, "rank {}: verify {} received from rank {}: {}", rank_,
                   canonical_bytes(segment.bytes), segment.rank, *wrong);
  }
  move_to(0);
  agree_on(found);
  return found;
}

// All ranks report the fault that one rank found, so that it counts before "measured nothing".
Status Bench::share(Group& group, const Status& mine) const {
  std::string told = mine ? "" : error_text(mine.error());
  for (const std::string& said : RG_TRY(group.exchange(std::move(told), kExchangeSeconds)))
    if (auto error = error_in(said)) return tl::unexpected(std::move(*error));
  return {};
}

// With all places of all sizes.
Status Bench::expose_memory() {
  if (operation_.exposed == Exposed::kReceive)
    return mpi_->expose(receive_.data(), room_for(operation_.receive_bytes), sync_ == Sync::kFlush);
  if (operation_.exposed == Exposed::kSend)
    return mpi_->expose(send_.data(), room_for(operation_.send_bytes), sync_ == Sync::kFlush);
  return {};
}

// Memory is exposed once, because creating a window is collective and slow. The window is freed on
// every path: MPI_Win_free is collective too, and a rank that skipped it would leave the others
// waiting.
Status Bench::measure(Context& context, Group& group) {
  Status ended = expose_memory();
  if (ended) ended = rank_ == 0 ? lead(context) : follow(context);
  mpi_->unexpose();
  return share(group, ended);
}

// Sends kDone also after an error, so that followers always leave their loop.
Status Bench::lead(Context& context) {
  Status ended;
  for (std::size_t i = 0; i < sizes_.size() && ended && !stopped_; ++i)
    ended = lead_size(context, i);
  send_order(Act::kDone);
  return ended;
}

// Does the orders in the sequence in which rank 0 sends them. A follower's own fault does not end
// its loop: the others would wait for it inside MPI, which has no deadline. The fault is returned
// at kDone.
Status Bench::follow(Context& context) {
  const TickClock& clock = tick_clock(context);
  Status ended;
  for (;;) {
    Order order;
    mpi_->broadcast(&order, sizeof order, 0);
    if (order.act == Act::kDone) return ended;
    if (order.act == Act::kBegin) begin(order.size_index, order.count);
    if (order.act == Act::kPlay) failpoint("mpi_follower");
    if (order.act == Act::kCompute) set_compute(clock, order.count);
    if (order.act == Act::kPlay) play(clock, order.size_index, order.count);
    if (order.act == Act::kTraffic) gather_traffic(order.size_index);
    if (order.act == Act::kVerify)
      if (Status found = verify(order.size_index); !found) ended = std::move(found);
    if (order.act == Act::kStage)
      if (Status staged = stage(clock, order.size_index, order.count != 0); !staged)
        ended = std::move(staged);
    if (order.act == Act::kProve)
      if (Status found = prove(clock, order.size_index, order.count); !found)
        ended = std::move(found);
  }
}

// One size on rank 0: fresh data, warm-up or skipped samples, sampling, the look at the counters,
// verification, the staged twin of GPU memory, the report.
// When the sampler starts over (`start`), the distributions of the ranks start over too.
Status Bench::lead_size(Context& context, std::size_t size_index) {
  const auto start = [&](std::uint64_t number) -> Status {
    send_order(Act::kBegin, size_index, number);
    begin(size_index, number);
    by_rank_ns_.assign(ranks_, {});
    return {};
  };
  RG_TRY_OK(start(kWarmUpCalls));
  SamplerOptions options = options_;
  auto skipped = static_cast<std::uint64_t>(context.params.integer("skip"));
  if (operation_.sized && sizes_[size_index] > kLargeAboveBytes && options.fixed_samples != 0)
    if (const auto large = context.params.integer("large_iterations"); large != 0) {
      options.fixed_samples = static_cast<std::uint64_t>(large);
      skipped = static_cast<std::uint64_t>(context.params.integer("large_skip"));
    }
  if (options.fixed_samples == 0) skipped = 0;  // the sampler warms up by itself
  std::vector<double> unused;
  if (skipped > 0) RG_TRY_OK(batch(context, size_index, skipped, unused));
  Sampler sampler(context.clock, options);
  const Sampled sampled = RG_TRY(
      sampler.run([&](std::uint64_t count,
                      std::vector<double>& out) { return batch(context, size_index, count, out); },
                  [&] { return start(kTimedCalls); }));
  send_order(Act::kTraffic, size_index);
  gather_traffic(size_index);
  send_order(Act::kVerify, size_index);
  RG_TRY_OK(verify(size_index));
  if (!stopped_) RG_TRY_OK(measure_overlap(context, size_index, sampled));
  if (!stopped_) RG_TRY_OK(lead_proof(context, size_index));
  if (stopped_) return {};  // the rank that found it says what
  finish_overlap(context, size_index);
  RG_TRY_OK(add_ceiling(size_index, sampled));
  RG_TRY_OK(measure_twin(context, size_index, sampled));
  report(context, size_index, sampled, skipped);
  return {};
}

// Whether that rank's time is part of a sample; not used where rank 0's time alone counts.
bool Bench::counts(std::uint32_t rank) const {
  if (operation_.timed == Timed::kAllButFirst) return rank != 0;
  return operation_.timed == Timed::kAll || rank < ranks_ / 2;
}

// From the time of one sample to the metric's value: ns, messages per second, or bytes per second.
double Bench::value(double ns, std::size_t size_index) const {
  if (operation_.figure == Figure::kLatency) return ns / operation_.divisor;
  const double messages = static_cast<double>(window_) * operation_.ways * many();
  const double seconds = ns / 1e9;
  if (operation_.figure == Figure::kRate) return messages / seconds;
  return messages * static_cast<double>(sizes_[size_index]) / seconds;
}

// Takes `count` samples and appends their values; over_ranks.h makes one time of all counting
// ranks'. The deadline is checked here, between batches: within a batch rank 0 could not reach the
// others.
Status Bench::batch(Context& context, std::size_t size_index, std::uint64_t count,
                    std::vector<double>& out) {
  if (monotonic_now_ns() >= context.deadline_monotonic_ns)
    return fail(Code::kDeadlineExceeded, "{}: the task's deadline has come", operation_.name);
  const TickClock& clock = tick_clock(context);
  send_order(Act::kPlay, size_index, count);
  play(clock, size_index, count);
  // Gathered times are ordered by rank, then by iteration.
  for (std::uint64_t i = 0; i < count; ++i) {
    double ns = clock.to_ns(ticks_[i]);
    if (operation_.timed != Timed::kFirst) {
      OneOfRanks sample(over_ranks_);
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const double its_ns = all_ns_[rank * count + i];
        if (!counts(rank)) continue;
        sample.add(its_ns);
        by_rank_ns_[rank].push_back(its_ns);
      }
      ns = sample.ns();
    }
    out.push_back(value(ns, size_index));
  }
  return {};
}

namespace {

// On how many CPUs this rank may run: what its launcher made of `binding`. An MPI's thread waits by
// polling, so threads that share a CPU wait for the scheduler at each message.
void report_binding(Reporter& reporter, std::uint64_t threads) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return;
  const auto bound = static_cast<std::uint64_t>(CPU_COUNT(&cpus));
  reporter.fact("bound_cpus", std::to_string(bound));
  if (threads <= bound) return;
  reporter.note(
      "warning",
      fmt::format("{} threads of a rank share {} CPU{}: each message may wait for the "
                  "scheduler; take fewer threads, or binding none (mpirun --bind-to none)",
                  threads, bound, bound == 1 ? "" : "s"));
}

// Three answers, because an MPI may have no way to be asked.
std::string words_of(const std::optional<bool>& answer) {
  return answer ? (*answer ? "yes" : "no") : "does not say";
}

}  // namespace

// Everything that can be refused without meeting other ranks: the program's MPI, the launcher, the
// parameters. MPI is loaded but not yet initialised, since MPI_Init reads the variables that
// set_tunables() writes.
Status Bench::prepare(Context& context) {
  mpi_ = linked();
  if (mpi_ == nullptr)
    return fail(Code::kUnimplemented,
                "{0}: this program has no MPI; start `mpirun -n 2 railgauge-runner-openmpi {0}` or "
                "`mpiexec -n 2 railgauge-runner-mpich {0}`",
                operation_.name);
  RG_TRY_OK(mpi_->load());
  if (const std::string& wanted = context.params.text("mpi"); wanted != mpi_->implementation())
    return invalid("parameter mpi: this program has {}; railgauge-runner-{} has the other",
                   mpi_->implementation(), wanted);
  const auto launched = launched_rank(process_environment());
  if (!launched)
    return fail(Code::kFailedPrecondition,
                "{0}: no launcher started this process; start `{1} -n 2 railgauge-runner-{2} {0}`",
                operation_.name, mpi_->implementation() == "mpich" ? "mpiexec" : "mpirun",
                mpi_->implementation());
  rank_ = launched->rank;
  ranks_ = launched->size;
  if (operation_.timed == Timed::kFirstHalf && ranks_ % 2 != 0)
    return fail(Code::kFailedPrecondition, "{}: {} ranks make no pairs; name an even number",
                operation_.name, ranks_);
  RG_TRY_OK(read_parameters(context.params));
  context.reporter.fact("local_rank", fmt::format("{}", launched->local_rank));
  report_binding(context.reporter, operation_.threads ? window_ : 1);
  RG_TRY_OK(take_place(context));
  RG_TRY_OK(set_tunables(context, launched->local_rank));
  return open_memory(context);
}

// In the order of the declaration.
Status Bench::read_parameters(const Params& params) {
  if (operation_.sized)
    sizes_ = operation_.number ? std::vector{std::uint64_t{sizeof(std::uint64_t)}}
                               : params.bytes_list("sizes");
  else
    sizes_ = {0};
  if (operation_.what != Collective::kNone || operation_.requests != Requests::kNone)
    form_ = form_of(params.text("call"));
  if (operation_.what != Collective::kNone)
    polls_ = static_cast<std::uint64_t>(params.integer("polls"));
  if (const auto blocks = params.effective().find("blocks"); blocks != params.effective().end())
    uneven_ = blocks->second == "uneven";
  if (operation_.windowed) window_ = static_cast<std::uint64_t>(params.integer("window"));
  if (operation_.threads) window_ = static_cast<std::uint64_t>(params.integer("threads"));
  if (operation_.in_place != InPlace::kNever) in_place_ = params.boolean("in_place");
  if (operation_.syncs) sync_ = sync_of(params.text("sync"));
  if (operation_.windowed && operation_.exposed == Exposed::kNothing)
    one_buffer_ = params.text("buffers") == "single";
  if (operation_.timed == Timed::kFirstHalf || operation_.timed == Timed::kAllButFirst ||
      (operation_.timed == Timed::kAll && params.text("over_ranks") == "mean"))
    over_ranks_ = OverRanks::kMean;
  if (operation_.rooted) root_ = static_cast<std::uint32_t>(params.integer("root"));
  // MPI would end the ranks for a root that does not exist.
  if (root_ >= ranks_)
    return invalid("{}: root {} is none of {} ranks", operation_.name, root_, ranks_);
  for (const std::uint64_t bytes : sizes_)
    if (is_of_words(operation_) && bytes % sizeof(float) != 0)
      return invalid("{}: a size of {} is no whole number of 32-bit {}", operation_.name,
                     canonical_bytes(bytes), operation_.reduces ? "floats" : "numbers");
  verify_ = params.boolean("verify");
  if (operation_.sized && operation_.effect == Effect::kReplaces && !operation_.threads &&
      params.text("buffer") == "cold") {
    if (form_ == Form::kPersistent)
      return invalid("{}: buffer=cold: a request that is made once has one place; say buffer=hot",
                     operation_.name);
    cold_bytes_ = params.bytes("cold_memory");
    if (one_buffer_ && window_ > 1)
      return invalid(
          "{}: buffer=cold: a window of {} messages has one place with buffers=single; say "
          "buffers=each",
          operation_.name, window_);
  }
  if (operation_.sized) proof_time_ns_ = params.duration_ns("proof_time");
  // MPI's counts and places of blocks are ints.
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    if (operation_.parts != nullptr && longest_buffer(share_of(i)) > INT_MAX)
      return invalid("{}: blocks of {} of {} ranks end above 2 GiB, which MPI's places cannot name",
                     operation_.name, canonical_bytes(sizes_[i]), ranks_);
  options_ = RG_TRY(sampler_options(params));
  if (operation_.once) options_.fixed_samples = 1;
  return {};
}

// The GPU is opened also where messages are in host memory: its PCI address chooses the NIC.
Status Bench::take_place(Context& context) {
  if (context.endpoint.empty()) return {};
  if (!context.endpoint.starts_with("gpu")) {
    nic_ = context.endpoint;
    return {};
  }
  gpu_ = RG_TRY(gpu::Gpu::open(context.endpoint));
  nic_ = nearest_port(gpu_.pci_address(), "/sys");
  return {};
}

// Before MPI_Init, which reads them. A rank's own NIC takes the place of a list that the task does
// not give, in an MPI that takes NICs by name.
Status Bench::set_tunables(Context& context, std::uint32_t local_rank) {
  auto given = context.params.effective();
  const bool own_nic = !nic_.empty() && context.params.is_default("hca_list") &&
                       context.params.is_default("process_to_rail");
  bool any = own_nic;
  for (const std::string_view name : kTunables) any = any || !context.params.is_default(name);
  // For either side: an MPI that needs a switch for GPUs gets it on both.
  const bool gpu =
      operation_.sized && !is_staged(context.params) &&
      (context.params.text("memory") != "host" || (context.params.text("peer_memory") != "same" &&
                                                   context.params.text("peer_memory") != "host"));
  if (!any && !gpu) return {};
  // Only Open MPI has parameters that can be asked for.
  std::set<std::string> known;
  if (any && mpi_->implementation() == "openmpi")
    known = RG_TRY(mpi_->controls_among(open_mpi_parameters()));
  const auto has = [&known](const std::string& name) { return known.contains(name); };
  const Flavour flavour = RG_TRY(flavour_of(mpi_->facts(), context.params.text("layer"), has));
  if (own_nic && has_tunable(flavour, "hca_list"))
    given["hca_list"] = nic_;
  else
    nic_.clear();
  auto settings = RG_TRY(settings_of(flavour, given, gpu, local_rank));
  if (operation_.exposed != Exposed::kNothing)
    if (auto own = one_sided_setting(flavour, context.params.text("layer")))
      settings.push_back(std::move(*own));
  RG_TRY_OK(check_installed(settings, has));
  std::string set;
  for (const Setting& setting : settings) {
    ::setenv(setting.variable().c_str(), setting.value.c_str(), 1);
    set += fmt::format("{}{}={}", set.empty() ? "" : " ", setting.variable(), setting.value);
  }
  if (!set.empty()) context.reporter.fact("mpi_settings", set);
  return {};
}

// A kernel whose messages cannot be copied around its calls has no such parameter.
bool Bench::is_staged(const Params& params) const {
  return operation_.stages && params.text("gpu_path") == "staged";
}

// Allocates the two areas for the largest size of the task. Without a stated endpoint a rank takes
// the GPU of its local rank, modulo the GPUs of its node.
Status Bench::open_memory(Context& context) {
  if (operation_.sized) {
    const std::string& peer = context.params.text("peer_memory");
    memory_ = memory_of(rank_ == 0 || peer == "same" ? context.params.text("memory") : peer);
    staged_ = is_staged(context.params);
    const std::string& target = peer == "same" ? context.params.text("memory") : peer;
    target_on_gpu_ = operation_.exposed != Exposed::kNothing && target != "host";
    target_staged_ = staged_ && target_on_gpu_;
    any_gpu_ = context.params.text("memory") != "host" || target != "host";
  }
  if (on_gpu()) {
    const auto launched = launched_rank(process_environment());
    if (gpu_.name().empty()) {
      const int gpus = std::max(1, RG_TRY(gpu::Gpu::count()));
      gpu_ = RG_TRY(gpu::Gpu::open(
          fmt::format("gpu{}", launched->local_rank % static_cast<std::uint32_t>(gpus))));
    }
    gpu_.report_facts(context.reporter);
  }
  RG_TRY_OK(check_room(launched_rank(process_environment())->local_rank));
  send_ = RG_TRY(Area::allocate(memory_, staged_, gpu_.name(), room_for(operation_.send_bytes)));
  receive_ = RG_TRY(Area::allocate(memory_, staged_, gpu_.name(),
                                   std::max(room_for(operation_.receive_bytes),
                                            in_place_ ? room_for(operation_.send_bytes) : 0)));
  if (staged_ && (in_place_ || sync_ != Sync::kFlush))
    return invalid("{}: gpu_path=staged: not with {}; leave one of them out", operation_.name,
                   in_place_ ? "in_place" : "sync");
  context.reporter.fact("memory", send_.observed());
  if (on_gpu()) context.reporter.fact("gpu_path_configured", staged_ ? "staged" : "direct");
  if (target_staged_)
    context.reporter.fact("one_sided_staging",
                          "the target copies to or from its GPU when a message asks it to, within "
                          "the time");
  return {};
}

// MPI_Init, then the checks that need the other ranks. The errors are exchanged over the group
// before any rank enters a call in which the others would be missed.
Status Bench::connect(Context& context, Group& group) {
  if (operation_.threads) mpi_->want_threads();
  RG_TRY_OK(mpi_->init());
  for (const auto& [name, value] : mpi_->facts()) context.reporter.fact(name, value);
  // Both directions may be in flight at once. Memory is reserved here, so that no timed call
  // allocates.
  mpi_->reserve(std::max<std::uint64_t>(2, ranks_ - 1) * window_);
  ticks_.reserve(options_.batch + 1);
  RG_TRY_OK(check_same_mpi(group));
  RG_TRY_OK(report_places(context, group));
  Status can = check_cuda(context);
  if (can && operation_.what != Collective::kNone) can = mpi_->offers(operation_.what, form_);
  // Before one rank is left alone in a call.
  const auto all = RG_TRY(group.exchange(can ? "" : can.error().message, kExchangeSeconds));
  RG_TRY_OK(can);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty()) return fail(Code::kFailedPrecondition, "rank {}: {}", i, all[i]);
  mpi_->join(operation_.what);
  return {};
}

// Each rank's own: "gpu0 mlx5_0:1" is a GPU and the NIC that was set for it.
Status Bench::report_places(Context& context, Group& group) {
  std::string own = gpu_.name();
  if (!nic_.empty()) own += (own.empty() ? "" : " ") + nic_;
  const auto all = RG_TRY(group.exchange(own, kExchangeSeconds));
  const auto first = std::span(all).first(std::min(all.size(), kMostRankPoints));
  if (std::ranges::any_of(first, [](const std::string& place) { return !place.empty(); }))
    context.reporter.fact("rank_places", fmt::format("{}", fmt::join(first, ",")));
  return {};
}

// Two builds of an MPI may agree in MPI_Init and fail in the first large message, so versions are
// compared as text.
Status Bench::check_same_mpi(Group& group) {
  const auto facts = mpi_->facts();
  const auto all = RG_TRY(group.exchange(facts.at("mpi_version"), kExchangeSeconds));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != all.front())
      return fail(Code::kFailedPrecondition,
                  "rank 0 has {} and rank {} has {}; install the same on both nodes", all.front(),
                  i, all[i]);
  return {};
}

namespace {

// Tests give the memory of a fake GPU, which is the host's, to an MPI that knows no GPU.
bool pretends_cuda() {
#ifdef RAILGAUGE_FAILPOINTS
  const char* chosen = std::getenv("RAILGAUGE_FAILPOINT");
  return chosen != nullptr && std::string_view(chosen) == "mpi_cuda_aware" &&
         loaded_cuda().synthetic;
#else
  return false;
#endif
}

}  // namespace

// Device pointers given to an MPI that does not know them end in a crash.
Status Bench::check_cuda(Context& context) {
  const CudaSupport support = mpi_->cuda_support();
  context.reporter.fact("mpi_built_with_cuda", words_of(support.built));
  context.reporter.fact("mpi_cuda_enabled", words_of(support.enabled));
  if (!on_gpu() || staged_ || support.usable() || pretends_cuda()) return {};
  return fail(Code::kFailedPrecondition,
              "{} ({}): not CUDA-aware: built with CUDA: {}, enabled here: {}; install one built "
              "--with-cuda, or say gpu_path=staged",
              mpi_->facts().at("mpi_version"), mpi_->facts().at("mpi_library"),
              words_of(support.built), words_of(support.enabled));
}

Point Bench::point_of(const Context& context, std::size_t size_index,
                      const Sampled& sampled) const {
  const bool synthetic = on_gpu() && loaded_cuda().synthetic;
  Point point = make_point(names_of(operation_), share_of(size_index).bytes, sampled,
                           context.raw_samples, synthetic);
  // A message without a byte proves nothing.
  point.set_verified(verify_ && proved_bytes_ > 0);
  if (operation_.sized) (*point.mutable_facts())["buffer"] = buffer_fact();
  (*point.mutable_facts())["mpi_init_ns"] = fmt::format("{:.0f}", mpi_->init_ns());
  if (verify_) {
    auto& facts = *point.mutable_facts();
    facts["proved_messages"] = std::to_string(proved_messages_);
    facts["proved_bytes"] = std::to_string(proved_bytes_);
    if (proved_bytes_ == 0) facts["proof"] = "none: no message has a byte";
  }
  return point;
}

// The point of one size, with the skipped samples counted as warm-up. A collective also reports the
// means of the ranks, and the distribution of the ranks that differ most (far_ranks.h).
void Bench::report(Context& context, std::size_t size_index, Sampled sampled,
                   std::uint64_t skipped) {
  // Skipped samples were taken and do not count, as warm-up does.
  sampled.warmup_count += skipped;
  Point point = point_of(context, size_index, sampled);
  (*point.mutable_facts())["clock_drift_ppm"] =
      fmt::format("{:.3f}", tick_clock(context).drift_ppm());
  for (const auto& [name, told] : path_facts_) (*point.mutable_facts())[name] = told;
  std::vector<std::uint32_t> kept;
  if (operation_.timed == Timed::kAll) {
    for (const auto& [name, told] : rank_mean_facts(by_rank_ns_))
      (*point.mutable_facts())[name] = told;
    kept = far_ranks(by_rank_ns_, kMostRankPoints);
    if (kept.size() < ranks_)
      (*point.mutable_facts())["rank_distributions"] = fmt::format(
          "{} of {} ranks: those with the longest and the shortest medians", kept.size(), ranks_);
  }
  context.reporter.point(std::move(point));
  if (exposed_) context.reporter.point(*std::exchange(exposed_, std::nullopt));
  report_ranks(context, size_index, sampled, kept);
}

// Each of these ranks' own times: which of them is slow, and how they spread.
void Bench::report_ranks(Context& context, std::size_t size_index, const Sampled& sampled,
                         std::span<const std::uint32_t> ranks) {
  for (const std::uint32_t rank : ranks) {
    Sampled own = sampled;
    own.samples = std::move(by_rank_ns_[rank]);
    Point point = point_of(context, size_index, own);
    point.set_pair(fmt::format("rank{}", rank));
    context.reporter.point(std::move(point));
  }
}

}  // namespace railgauge::mpi
