#include "kernels/nccl/bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/session/session.h"
#include "kernels/nccl/ceiling.h"
#include "kernels/nccl/communicator/meeting.h"
#include "kernels/nccl/proof.h"

namespace railgauge::nccl {
namespace {

constexpr std::uint64_t kBatch = 20;           // iterations between two meetings of the ranks
constexpr std::uint64_t kWallIterations = 20;  // in one sample of the aggregate, as nccl-tests has
constexpr std::uint64_t kWallSamples = 11;     // enough for an interval
// A sample of the aggregate with a given count of iterations needs no more of them than last this
// long: the wait at its end, some 20 us, is then below 0.1 % of it.
constexpr double kWallNs = 20e6;
// Duration of a sample with repeat=0, because a stamp between two costs up to 2 us. At most this
// many iterations share a sample, the number that nccl-tests divides by.
constexpr double kSampleNs = 1e6;
constexpr std::uint64_t kMostRepeat = 20;
constexpr double kOwnWorkNs = 60e9;  // filling, verifying, allocating: waits for no other rank
constexpr double kEndNs = 1e9;       // of the deadline's grace, for an orderly or forced end

// The last point that it is given.
struct HeldReports final : Reporter {
  void point(Point point) override { last = std::move(point); }
  void note(std::string_view, std::string) override {}
  void fact(std::string_view, std::string) override {}
  Point last;
};

}  // namespace

// The job owns the state by a shared pointer: a job that hangs in a driver outlives this object.
Status CollectiveBench::guarded(std::string step, double allowed_ns, Comm comm,
                                std::function<Status(RankState&)> job) {
  Watch watch{.deadline_monotonic_ns = stop_monotonic_ns_, .stall_ns = allowed_ns};
  if (plan_.ranks * plan_.groups > 1)
    watch.hint = state_->comm ? "another rank is gone or stuck"
                              : "a rank is missing, or its address cannot be reached "
                                "(NCCL_SOCKET_IFNAME)";
  if (comm == Comm::kWatched) watch.health = [state = state_] { return state->comm.health(); };
  return worker_->run(
      fmt::format("{}: {}", state_->session.gpu().name(), step),
      [state = state_, job = std::move(job)]() -> Status {
        RG_TRY_OK(state->session.gpu().make_current());
        return job(*state);
      },
      watch);
}

// Does nothing without a communicator; nothing is possible once the worker is lost. A GPU that is
// gone refuses its context; the abort, which frees the other ranks, comes all the same.
void CollectiveBench::give_up() {
  if (worker_ == nullptr || worker_->lost() || !state_->comm) return;
  stop_monotonic_ns_ = std::max(stop_monotonic_ns_, monotonic_now_ns() + kEndNs);
  const Status ended =
      worker_->run(fmt::format("{}: abort the communicator", state_->session.gpu().name()),
                   [state = state_]() -> Status {
                     static_cast<void>(state->session.gpu().make_current());
                     if (state->stage != nullptr) state->stage->give_up();
                     state->comm = {};
                     return {};
                   },
                   {.deadline_monotonic_ns = stop_monotonic_ns_, .stall_ns = kEndNs});
  if (!ended) fmt::print(stderr, "railgauge: {}\n", ended.error().message);
}

// Ranks that no longer come leave work of a failed call on the GPU: it is ended at once.
Status CollectiveBench::measure(Context& context, Group& group) {
  Team team(group, words_monotonic_ns_);
  Status measured = measure_all(context, team);
  if (!measured) give_up();
  return measured;
}

// The function by which a team performs this rank's part of an order.
Team::Perform CollectiveBench::performer() {
  return [this](const Order& order, std::vector<double>& samples_ns) {
    return perform(order, samples_ns);
  };
}

// Size after size, then the orderly end of the communicator, in which all ranks take part.
Status CollectiveBench::measure_all(Context& context, Team& team) {
  RG_TRY_OK(state_->session.gpu().make_current());
  for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, team, size));
  team.begin_step("end the communicator");
  const Status finished = guarded(team.step(), plan_.stall_timeout_ns, Comm::kUnwatched,
                                  [](RankState& state) { return state.stage->finish(); });
  RG_TRY_OK(team.agree(finished));
  return {};
}

// One order of rank 0 on this rank. Samples go through a vector that the job owns: after a job that
// was left behind the caller's vector may be gone.
Status CollectiveBench::perform(const Order& order, std::vector<double>& samples_ns) {
  const auto taken = std::make_shared<std::vector<double>>();
  Status done;
  if (order.command == Command::kReady) ports_before_ = ports_.read();
  // The proof's calls are not the figure's.
  const bool ends = order.command == Command::kCheck || order.command == Command::kProve;
  if (ends && ports_after_.empty()) ports_after_ = ports_.read();
  switch (order.command) {
    case Command::kReady:
      done = guarded("make the data fresh", kOwnWorkNs, Comm::kWatched,
                     [](RankState& state) { return state.stage->reset_data(); });
      if (done) state_->session.begin_point();
      return done;
    case Command::kCall:
      return guarded("a call", plan_.stall_timeout_ns, Comm::kWatched,
                     [](RankState& state) { return state.stage->call(); });
    case Command::kBatch:
      if (order.count > Stage::kMaxBatch || order.repeat == 0)
        return fail(Code::kInternal, "rank 0: ordered a batch of {} times {}", order.count,
                    order.repeat);
      done = guarded("a batch", plan_.stall_timeout_ns, Comm::kWatched,
                     [order, taken](RankState& state) {
                       return state.stage->batch(order.count, order.repeat, *taken);
                     });
      break;
    case Command::kWall:
      done = guarded(
          "iterations in a row", plan_.stall_timeout_ns, Comm::kWatched,
          [order, taken](RankState& state) { return state.stage->wall(order.count, *taken); });
      break;
    case Command::kCheck:
      return guarded("check the timed calls' data", kOwnWorkNs, Comm::kWatched,
                     [](RankState& state) { return state.stage->check_data(); });
    case Command::kProve:
      return guarded("a proof's round", plan_.stall_timeout_ns, Comm::kWatched,
                     [order](RankState& state) {
                       return state.stage->prove({.first = order.repeat, .slots = order.count});
                     });
    default:
      return fail(Code::kInternal, "rank 0: ordered what nobody knows");
  }
  // After an error nothing is kept: a call that was left behind may still write there.
  if (done) samples_ns.insert(samples_ns.end(), taken->begin(), taken->end());
  return done;
}

// One size on this rank: the first call, which may connect, the samples, the verification; each
// step ends with an agreement of all ranks, so that a lost rank is named with the step that it was
// at.
Status CollectiveBench::measure_size(Context& context, Team& team, std::uint64_t size) {
  const std::uint64_t bytes = bytes_of(plan_.type);
  const std::uint64_t count = share_of_size(*operation_, size, bytes, plan_.ranks);
  Measured measured;
  measured.asked_bytes = size;
  const Share share = share_of(plan_, plan_.rank, count);
  measured.moved_bytes = moved_bytes(*operation_, share, bytes);
  measured.shares_bytes = shares_bytes(*operation_, share, bytes);
  measured.ranks = plan_.ranks;
  measured.precision = options_.relative_half_width;
  measured.verified = plan_.verify;
  measured.raw_samples = context.raw_samples;
  measured.synthetic = loaded_cuda().synthetic || loaded_nccl().synthetic;
  const std::string name = format_bytes(static_cast<double>(size));
  team.begin_step("first call of " + name);
  const Status begun =
      guarded("first call of " + name, plan_.stall_timeout_ns, Comm::kWatched,
              [count](RankState& state) { return state.stage->begin_size(count); });
  RG_TRY_OK(team.agree(begun));
  team.begin_step("sampling " + name);
  ports_before_ = ports_.read();
  ports_after_.clear();
  RG_TRY_OK(team.leads() ? lead(context, team, measured) : team.follow(performer()));
  Told told = health(context, team);
  team.begin_step("verifying " + name);
  const auto all = RG_TRY(team.agree(plan_.verify ? verify(name) : Status{}, std::move(told)));
  if (team.leads()) return report(context, measured, all);
  return {};
}

// Only the call waits for other ranks: a rank that is lost then is missed as soon as in any other.
Status CollectiveBench::verify(const std::string& size) {
  RG_TRY_OK(guarded("make the data of " + size + " fresh", kOwnWorkNs, Comm::kWatched,
                    [](RankState& state) { return state.stage->reset_data(); }));
  RG_TRY_OK(guarded("verify " + size, plan_.stall_timeout_ns, Comm::kWatched,
                    [](RankState& state) { return state.stage->call_to_verify(); }));
  return guarded("check the data of " + size, kOwnWorkNs, Comm::kWatched,
                 [](RankState& state) { return state.stage->check_data(); });
}

// The bytes of the host's ports, and facts of a GPU that waits for this one, while the size was
// measured; those of rank 0's GPU travel with the points.
Told CollectiveBench::health(const Context& context, const Team& team) {
  Told told;
  told.set_host(host_);
  if (ports_after_.empty()) ports_after_ = ports_.read();
  for (PortBytes& port : grown_ports(ports_before_, ports_after_))
    *told.add_ports() = std::move(port);
  if (team.leads()) return told;
  HeldReports kept;
  Context own{.params = context.params,
              .reporter = kept,
              .clock = context.clock,
              .endpoint = context.endpoint,
              .deadline_monotonic_ns = context.deadline_monotonic_ns,
              .raw_samples = false,
              .rank = context.rank};
  state_->session.report(own, {});
  told.set_throttled(kept.last.throttled());
  if (told.throttled()) told.set_throttle_reasons((*kept.last.mutable_facts())["throttle_reasons"]);
  return told;
}

// Rank 0's part of one size. The session's point ends before the others are released, so that
// clocks and throttling are read over the measured time alone.
Status CollectiveBench::lead(Context& context, Team& team, Measured& measured) {
  Status done = report_choice_ ? learn_choice(team, measured.moved_bytes) : Status{};
  if (done) done = choose_repeat(team);
  measured.repeat = repeat_;
  if (done) done = sample(context, team, measured);
  if (done) done = sample_wall(team, measured);
  state_->session.end_point();
  if (done && plan_.verify)
    done = prove_size(team, performer(), *operation_, plan_,
                      proof_share(proof_time_ns_, sizes_.size()), measured);
  if (!done && team.broken()) return done;  // they know
  return team.end_orders(done);
}

// Makes one call with NCCL's report of its choices turned on: outside the timed region, in which
// each line of output would cost. Never for a graph: NCCL chooses when a graph is captured. The
// call is no other all-reduce than the one that aligns the ranks.
Status CollectiveBench::learn_choice(Team& team, std::uint64_t moved) {
  choice_.reset();
  // Operations made of sends and receives have no line of their own in the log.
  if (*operation_->log_name == '\0' || !log_.report_choices(true)) return {};
  const auto ordered = team.order({.command = Command::kCall}, performer());
  const LogFacts seen = parse_log(log_.read_new());
  static_cast<void>(log_.report_choices(false));
  if (!ordered) return tl::unexpected(ordered.error());
  for (const Choice& choice : seen.choices)
    if (choice.operation.empty() ? choice.bytes == moved : choice.operation == operation_->log_name)
      choice_ = choice;
  return {};
}

// From nccl-tests' own figure, iterations in a row; a graph is repeated already. One call first: on
// a slow network several in a row, without a word in between, would look like a stuck rank.
Status CollectiveBench::choose_repeat(Team& team) {
  repeat_ = plan_.graph_calls != 0 ? 1 : asked_repeat_;
  for (const std::uint64_t calls : {std::uint64_t{1}, kMostRepeat / 4}) {
    if (repeat_ != 0) return {};
    double longest_ns = 1;
    const Order probe{.command = Command::kWall, .count = calls};
    for (const auto& samples : RG_TRY(team.order(probe, performer())))
      for (const double sample : samples) longest_ns = std::max(longest_ns, sample);
    if (calls == 1 && longest_ns < kSampleNs) continue;
    repeat_ = std::clamp<std::uint64_t>(
        static_cast<std::uint64_t>(std::ceil(kSampleNs / longest_ns)), 1, kMostRepeat);
  }
  return {};
}

// Runs the sampler of rank 0; every batch is an order to all ranks. The samples of all ranks are
// kept: the report is of the slowest, which is known only at the end. A restart of the sampler
// drops them.
Status CollectiveBench::sample(Context& context, Team& team, Measured& measured) {
  measured.by_rank_ns.assign(team.size(), {});
  const Team::Perform perform = performer();
  SamplerOptions options = options_;
  options.batch = kBatch;
  auto sampled =
      Sampler(context.clock, options)
          .run(
              [&](std::uint64_t count, std::vector<double>& out) -> Status {
                const auto all = RG_TRY(team.order(
                    {.command = Command::kBatch, .count = count, .repeat = repeat_}, perform));
                out.insert(out.end(), all.front().begin(), all.front().end());
                for (std::size_t rank = 0; rank < all.size(); ++rank)
                  measured.by_rank_ns[rank].insert(measured.by_rank_ns[rank].end(),
                                                   all[rank].begin(), all[rank].end());
                return {};
              },
              [&]() -> Status {
                for (auto& samples : measured.by_rank_ns) samples.clear();
                RG_TRY_OK(team.order({.command = Command::kReady}, perform));
                return {};
              });
  measured.sampled = RG_TRY(std::move(sampled));
  return {};
}

// Loops of nccl-tests' kind: iterations in a row by the CPU's clock. A given count is that of a
// loop, because the wait at a loop's end counts in it as in nccl-tests' loop. Their number follows
// from the measured mean, so that they too stay within the time cap.
Status CollectiveBench::sample_wall(Team& team, Measured& measured) {
  const Team::Perform perform = performer();
  const std::vector<double>& samples = measured.by_rank_ns[slowest_rank(measured.by_rank_ns)];
  double mean_ns = 0;
  for (const double sample : samples) mean_ns += sample / static_cast<double>(samples.size());
  const double in_cap =
      options_.time_cap_ns /
      std::max(1.0, mean_ns * static_cast<double>(std::max<std::uint64_t>(plan_.graph_calls, 1) *
                                                  plan_.aggregate));
  std::uint64_t iterations = kWallIterations;
  std::uint64_t loops = kWallSamples;
  if (options_.fixed_samples != 0) {
    const auto enough =
        static_cast<std::uint64_t>(std::ceil(std::min(1e9, kWallNs / std::max(1.0, mean_ns))));
    iterations = std::min(options_.fixed_samples, std::max<std::uint64_t>(enough, kWallIterations));
  } else if (in_cap < static_cast<double>(iterations * loops)) {
    iterations = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(in_cap), 1, iterations);
  }
  if (in_cap < static_cast<double>(iterations * loops))
    loops = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(in_cap) / iterations, 1, loops);
  measured.wall_iterations = iterations;
  measured.wall_by_rank_ns.assign(team.size(), {});
  for (std::uint64_t loop = 0; loop < loops; ++loop) {
    const auto all = RG_TRY(team.order({.command = Command::kWall, .count = iterations}, perform));
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      measured.wall_by_rank_ns[rank].push_back(all[rank].front());
  }
  return {};
}

// A GPU that is slowed down slows all; at most eight throttled ranks are named, so that the fact
// stays short.
Status CollectiveBench::report(Context& context, const Measured& measured,
                               const std::vector<Told>& all) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> throttled;
  for (std::size_t rank = 1; rank < all.size() && throttled.size() < kNamed; ++rank)
    if (all[rank].throttled())
      throttled.push_back(fmt::format("{} ({})", rank, all[rank].throttle_reasons()));
  const std::uint64_t count =
      share_of_size(*operation_, measured.asked_bytes, bytes_of(plan_.type), plan_.ranks);
  const Share share = share_of(plan_, plan_.rank, count);
  const auto links = algbw_ceiling(*operation_, share, gpu::peer_parts(state_->session.gpu()));
  // The mean over ranks may end before the last byte has passed a port.
  auto all_links = links;
  if (hosts_meet_at_ports_)
    all_links = lower_ceiling(
        links, port_ceiling(*operation_, share, bytes_of(plan_.type), host_rates(all, used_ports_),
                            measured.by_rank_ns.front().size()));
  for (Point& point : points_of(*operation_, measured)) {
    RG_TRY_OK(check_links(*operation_, point.meaning() == "completion" ? all_links : links, point));
    auto& facts = *point.mutable_facts();
    facts["buffer"] = is_cold(*operation_, plan_, count) ? "cold" : "hot";
    if (hosts_meet_at_ports_ && plan_.groups > 1)
      facts["port_ceiling"] = "none: the groups of a split share the hosts' ports";
    if (!throttled.empty()) {
      point.set_throttled(true);
      facts["throttled_ranks"] = fmt::format("{}", fmt::join(throttled, ", "));
    }
    if (choice_) {
      facts["algorithm"] = choice_->algorithm;
      facts["protocol"] = choice_->protocol;
      if (!choice_->channels.empty()) facts["channels"] = choice_->channels;
    }
    if (plan_.verify)
      facts["proved_calls"] =
          plan_.graph_calls == 0 ? "one by one" : "as a graph, of at most as many as the timed one";
    if (plan_.verify)
      facts["verified_call"] = plan_.graph_calls != 0 && !(plan_.in_place && operation_->reduces)
                                   ? "one more launch of the graph, on fresh data"
                                   : "one more, on fresh data";
    state_->session.report(context, std::move(point));
  }
  report_ports(context, measured, all);
  return {};
}

// Within a host nothing of NCCL's crosses a port. The bytes are those of all users of the ports.
void CollectiveBench::report_ports(Context& context, const Measured& measured,
                                   const std::vector<Told>& all) {
  if (!over_network_) return;
  const PortUse use = port_use(all, used_ports_);
  if (use.busiest_share <= 0) return;
  Sampled one;
  one.samples = {use.busiest_share};
  one.stop_reason = "iterations";
  Point point = make_point({.metric = kPortMetric, .meaning = "completion", .unit = "1"},
                           measured.asked_bytes, one, false, measured.synthetic);
  (*point.mutable_facts())["port_bytes"] = use.words;
  (*point.mutable_facts())["ports"] = std::to_string(use.ports);
  (*point.mutable_facts())["quietest_port_share"] = fmt::format("{:.4f}", use.quietest_share);
  (*point.mutable_facts())["unequal_host_rank"] = std::to_string(use.rank);
  state_->session.report(context, std::move(point));
}

namespace {

constexpr double kSecondNs = 1e9;
// The longest time for allocating the buffers of one rank, in ns.
constexpr double kAllocateNs = 60e9;
// Times until the deadline: for leaving a call, for the others' words and the end, for the end.
constexpr double kLastWordsNs = (kTellSeconds + 3) * kSecondNs;
constexpr double kFinalEndNs = 2 * kSecondNs;
constexpr double kLastWordsShare = 0.2;  // where there is little
constexpr double kEndShare = 0.05;
constexpr int kFirstReducingFloat8 = 90;  // compute capability

// The call that one sample times.
std::string sample_in_words(const Plan& plan, std::uint64_t repeat) {
  if (plan.aggregate > 1)
    return fmt::format("mean of the calls of {}, in groups of {}",
                       plan.graph_calls != 0 ? "a graph"
                       : repeat == 1         ? "one group"
                                             : "groups",
                       plan.aggregate);
  if (plan.graph_calls != 0)
    return fmt::format("mean of the {} calls of a graph", plan.graph_calls);
  if (repeat == 0) return "mean of calls in a row: as many as last 1 ms, at most 20";
  return repeat == 1 ? "one call, with the stamp at its end"
                     : fmt::format("mean of {} calls in a row", repeat);
}

// The words of the parameter `cta_policy`.
int cta_policy_of(std::string_view word) {
  if (word == "default") return nc::kCtaDefault;
  if (word == "efficiency") return nc::kCtaEfficiency;
  return word == "zero" ? nc::kCtaZero : nc::kUndefined;
}

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Operation& operation) {
  return std::make_unique<CollectiveBench>(operation);
}

// GPU objects are released under their context, whichever thread ends the kernel.
CollectiveBench::~CollectiveBench() {
  give_up();
  if (opened_) static_cast<void>(state_->session.gpu().make_current());
}

// Copies the parameters into plan and options; ranks are known later.
Status CollectiveBench::read_parameters(const Params& params) {
  sizes_ = params.bytes_list("sizes");
  options_ = RG_TRY(sampler_options(params));
  options_.rate = SamplerOptions::Rate::kOfTimes;
  proof_time_ns_ = params.duration_ns("proof_time");
  plan_.type = datatype_of(params.text("datatype"));
  if (operation_->reduces) plan_.reduction = reduction_of(params.text("reduction"));
  if (operation_->rooted) plan_.root = static_cast<std::uint32_t>(params.integer("root"));
  plan_.in_place = operation_->in_place && params.boolean("in_place");
  if (operation_->has_traffic) {
    spread_ = params.number("spread");
    matrix_ = params.text("traffic");
  }
  plan_.buffers = kind_of_buffers(params.text("registered"));
  if (!operation_->in_steps) {
    plan_.aggregate = static_cast<std::uint64_t>(params.integer("aggregate"));
    joining_.blocking = params.boolean("blocking");
  }
  joining_.cta_policy = cta_policy_of(params.text("cta_policy"));
  split_ = RG_TRY(parse_split(params.text("split")));
  is_cold_ = params.text("buffer") == "cold";
  plan_.verify = params.boolean("verify");
  if (params.text("mode") == "graph")
    plan_.graph_calls = static_cast<std::uint64_t>(params.integer("graph_calls"));
  plan_.stall_timeout_ns = params.duration_ns("stall_timeout");
  join_timeout_ns_ = params.duration_ns("join_timeout");
  report_choice_ = params.boolean("tell_choice");
  asked_repeat_ = static_cast<std::uint64_t>(params.integer("repeat"));
  parameters_ = params.effective();
  return {};
}

// kUnimplemented where the installed NCCL is too old for what is asked.
Status CollectiveBench::check_library(const Nccl& nccl) const {
  if (is_float8(plan_.type) && nccl.version_code < nc::kFirstWithFloat8)
    return fail(Code::kUnimplemented,
                "NCCL {}: it has no 8-bit floating-point types; 2.24 and later have", nccl.version);
  const int needed =
      joining_.cta_policy == nc::kCtaZero ? nc::kFirstWithCtaZero : nc::kFirstWithCtaPolicy;
  if (joining_.cta_policy != nc::kUndefined && nccl.version_code < needed)
    return fail(Code::kUnimplemented, "NCCL {}: it has no such CTA policy; {} and later have",
                nccl.version, nccl_release(needed));
  return {};
}

// Opens CUDA before NCCL is loaded, and writes NCCL's environment between the two: NCCL reads its
// variables when it is first used, CUDA's own when the driver starts.
Status CollectiveBench::prepare(Context& context) {
  RG_TRY_OK(read_parameters(context.params));
  keep_sites_hardware_queues();
  if (context.endpoint.empty()) {
    static_cast<void>(RG_TRY(gpu::Gpu::count()));  // which one is known when the ranks have met
  } else {
    RG_TRY_OK(open_gpu(context));
  }
  RG_TRY_OK(apply_environment(context));
  if (!joining_.blocking) RG_TRY_OK(check_override("NCCL_COMM_BLOCKING", "0"));
  if (joining_.cta_policy != nc::kUndefined)
    RG_TRY_OK(check_override("NCCL_CTA_POLICY", std::to_string(joining_.cta_policy)));
  log_.begin();
  const Nccl& nccl = *RG_TRY(load_nccl());
  RG_TRY_OK(check_environment(context.params, nccl.synthetic));
  RG_TRY_OK(check_library(nccl));
  context.reporter.fact("nccl", nccl.version);
  context.reporter.fact("nccl_path", nccl.path);
  context.reporter.fact("implementation",
                        operation_->has_call(nccl) ? operation_->call_name : kGrouped);
  if (plan_.buffers == BufferKind::kAllocated) {
    plan_.buffers = kind_here(plan_.buffers, nccl);
    context.reporter.fact("registered",
                          registration_words(plan_.buffers, plan_.graph_calls != 0, nccl));
  }
  context.reporter.fact("buffers", words_of(plan_.buffers));
  context.reporter.fact("reported", "the slowest rank's iterations, by CUDA events");
  context.reporter.fact("sample", sample_in_words(plan_, asked_repeat_));
  return {};
}

// Splits the remaining time: calls stop first, then the ranks exchange the reason, then NCCL is
// ended.
Status CollectiveBench::connect(Context& context, Group& group) {
  if (opened_) RG_TRY_OK(state_->session.gpu().make_current());
  const double left_ns = std::max(0.0, context.deadline_monotonic_ns - monotonic_now_ns());
  stop_monotonic_ns_ =
      context.deadline_monotonic_ns - std::min(kLastWordsNs, left_ns * kLastWordsShare);
  words_monotonic_ns_ = context.deadline_monotonic_ns - std::min(kFinalEndNs, left_ns * kEndShare);
  Team team(group, words_monotonic_ns_);
  const GroupPlace place = RG_TRY(place_of(split_, team.size(), team.rank()));
  plan_.groups = place.groups;
  plan_.ranks = place.ranks;
  plan_.rank = place.rank;
  plan_.color = split_.color(team.rank());
  if (split_)
    context.reporter.fact(
        "groups", fmt::format("{} of {} ranks each, by ncclCommSplit", place.groups, place.ranks));
  Status joined = join_all(context, team);
  if (!joined) give_up();
  return joined;
}

// The three collective steps before measuring.
Status CollectiveBench::join_all(Context& context, Team& team) {
  // The id is 128 bytes that name rank 0's socket.
  const std::string unique_id = RG_TRY(meet(context, team));
  RG_TRY_OK(set_stage(context, team, unique_id));
  return first_calls(context, team);
}

// The number of ranks is known: it must fit the root, the operation and the traffic.
Status CollectiveBench::fit_ranks() {
  if (plan_.root >= plan_.ranks)
    return invalid("parameter root: {} is no rank of {}", plan_.root, plan_.ranks);
  if (const std::string_view why = operation_->refuses(plan_.ranks); !why.empty())
    return fail(Code::kUnimplemented, "{} on {} ranks: {}", operation_->name, plan_.ranks, why);
  if (!operation_->has_traffic) return {};
  const std::uint64_t bytes = bytes_of(plan_.type);
  Traffic made = matrix_.empty() ? Traffic::by_distance(spread_, plan_.ranks, bytes)
                                 : RG_TRY(Traffic::by_matrix(matrix_, plan_.ranks, bytes));
  plan_.traffic = std::make_shared<const Traffic>(std::move(made));
  return {};
}

// Opens the GPU where none was given, and learns the memory of cold calls.
Result<std::string> CollectiveBench::meet(Context& context, Team& team) {
  const Attendant mine{
      .ready = fit_ranks(), .parameters = &parameters_, .chosen = opened_, .is_cold = is_cold_};
  const Met met = RG_TRY(meet_ranks(
      team, mine,
      [&](const std::string& endpoint) {
        if (!endpoint.empty()) context.endpoint = endpoint;
        return opened_ ? Status{} : open_gpu(context);
      },
      [this]() -> const gpu::Gpu& { return state_->session.gpu(); }));
  plan_.cold_bytes = met.cold_bytes;
  host_ = met.host;
  return met.unique_id;
}

// Waives with kUnimplemented on GPUs on which NCCL cannot reduce the type.
Status CollectiveBench::open_gpu(Context& context) {
  state_->session = RG_TRY(gpu::Session::open(context));
  opened_ = true;
  const gpu::Gpu& gpu = state_->session.gpu();
  if (operation_->reduces && is_float8(plan_.type) && gpu.capability() < kFirstReducingFloat8)
    return fail(Code::kUnimplemented,
                "{}: NCCL reduces 8-bit floating-point types on GPUs of compute capability 9.0 and "
                "later; it has {}.{}",
                gpu.name(), gpu.capability() / 10, gpu.capability() % 10);
  return {};
}

// Joins the communicator, then allocates for the largest size; both on the worker, because both may
// wait for another rank.
Status CollectiveBench::set_stage(Context& context, Team& team, const std::string& unique_id) {
  team.begin_step("joining the communicator");
  const std::uint32_t ranks = team.size();
  const std::uint32_t rank = team.rank();
  worker_ = std::make_unique<Worker>(state_->progress);
  const Status joined =
      guarded(fmt::format("join {} rank{} as rank {}", ranks, ranks == 1 ? "" : "s", rank),
              join_timeout_ns_, Comm::kUnwatched,
              [=, joining = joining_, split = split_](RankState& state) -> Status {
                state.comm = RG_TRY(Communicator::join(state.session.gpu(), *state.progress, ranks,
                                                       rank, unique_id, joining));
                return split ? state.comm.split(split.color(rank), rank) : Status{};
              });
  RG_TRY_OK(team.agree(joined));
  team.begin_step("allocating memory");
  std::vector<std::uint64_t> counts;
  for (const std::uint64_t size : sizes_)
    counts.push_back(share_of_size(*operation_, size, bytes_of(plan_.type), plan_.ranks));
  const TickClock& clock = tick_clock(context);
  const Status made =
      guarded(team.step(), kAllocateNs, Comm::kWatched,
              [counts, &clock, plan = plan_, operation = operation_](RankState& state) -> Status {
                state.stage = RG_TRY(Stage::create(state.session.gpu(), clock, *operation, plan,
                                                   state.comm, *state.progress, counts));
                return {};
              });
  RG_TRY_OK(team.agree(made));
  if (plan_.buffers != BufferKind::kSymmetric) return {};
  team.begin_step("registering memory");
  RG_TRY_OK(team.agree(guarded(team.step(), plan_.stall_timeout_ns, Comm::kWatched,
                               [](RankState& state) { return state.stage->register_windows(); })));
  return {};
}

// NCCL connects at the first calls and reports the connections then. Each rank sees its own only,
// so the path combines the reports of all.
Status CollectiveBench::first_calls(Context& context, Team& team) {
  team.begin_step("first calls");
  const std::uint64_t count = share_of_size(*operation_, *std::ranges::max_element(sizes_),
                                            bytes_of(plan_.type), plan_.ranks);
  const Status called =
      guarded(team.step(), plan_.stall_timeout_ns, Comm::kWatched,
              [count](RankState& state) { return state.stage->begin_size(count); });
  const LogFacts seen = parse_log(log_.read_new());
  Told told;
  told.set_host(host_);
  told.set_machine(machine_identity());
  for (std::string& kind : kinds_of(seen)) told.add_transports(std::move(kind));
  for (std::string& port : ports_of(seen)) told.add_used_ports(std::move(port));
  std::set<std::string> kinds;
  const std::vector<Told> met = RG_TRY(team.agree(called, std::move(told)));
  for (const Told& one : met) {
    kinds.insert(one.transports().begin(), one.transports().end());
    used_ports_[one.host()].insert(one.used_ports().begin(), one.used_ports().end());
  }
  over_network_ =
      std::ranges::any_of(kinds, [](const std::string& kind) { return kind.starts_with("NET"); });
  hosts_meet_at_ports_ = hosts_meet_at_ports(kinds, met);
  Told path;
  if (team.leads()) path.set_path(path_of(kinds));
  report_facts(context, seen, RG_TRY(team.agree({}, std::move(path))).front().path());
  return {};
}

// The facts of the whole task, once, after the first calls.
void CollectiveBench::report_facts(Context& context, const LogFacts& seen,
                                   const std::string& path) {
  if (const std::string runs_on = state_->stage->data_runs_on(); !runs_on.empty())
    context.reporter.fact("verified_on", runs_on);
  nccl::report(seen, context.reporter);
  context.reporter.fact("memory", "gpu");  // of cudaMalloc, or of ncclMemAlloc where registered
  if (!path.empty()) context.reporter.fact("path", path);
  const Nccl& nccl = loaded_nccl();
  if (report_choice_ && nccl.reset_debug_init == nullptr)
    context.reporter.fact("nccl_choice",
                          fmt::format("not told: NCCL {} reads its debug settings once; 2.24 and "
                                      "later tell algorithm and protocol",
                                      nccl.version));
}

}  // namespace railgauge::nccl
