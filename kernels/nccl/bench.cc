#include "kernels/nccl/bench.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/sampling.h"
#include "kernels/core/text/units.h"

namespace railgauge::nccl {
namespace {

constexpr std::uint64_t kBatch = 20;           // iterations between two meetings of the ranks
constexpr std::uint64_t kWallIterations = 20;  // in one sample of the aggregate, as nccl-tests has
constexpr std::uint64_t kWallSamples = 5;
// Where the task asks for it (repeat=0), a sample lasts this long, as a stamp between two costs up
// to 2 us; at most so many iterations share one, as many as nccl-tests divides by.
constexpr double kSampleNs = 1e6;
constexpr std::uint64_t kMostRepeat = 20;
constexpr double kOwnWorkNs = 60e9;  // filling, verifying, allocating: waits for no other rank
constexpr double kEndNs = 1e9;       // of the deadline's grace, for an orderly or forced end

// The last point that it is given.
struct Kept final : Reporter {
  void point(Point point) override { last = std::move(point); }
  void note(std::string_view, std::string) override {}
  void fact(std::string_view, std::string) override {}
  Point last;
};

}  // namespace

Status CollectiveBench::guarded(std::string step, double allowed_ns, Comm comm,
                                std::function<Status(Rig&)> job) {
  Watch watch{.deadline_monotonic_ns = stop_monotonic_ns_, .stall_ns = allowed_ns};
  if (plan_.ranks > 1)
    watch.hint = rig_->comm ? "another rank is gone or stuck"
                            : "a rank is missing, or its address cannot be reached "
                              "(NCCL_SOCKET_IFNAME)";
  if (comm == Comm::kWatched) watch.health = [rig = rig_] { return rig->comm.health(); };
  return worker_->run(
      fmt::format("{}: {}", rig_->session.gpu().name(), step),
      [rig = rig_, job = std::move(job)]() -> Status {
        RG_TRY_OK(rig->session.gpu().make_current());
        return job(*rig);
      },
      watch);
}

void CollectiveBench::give_up() {
  if (worker_ == nullptr || worker_->lost() || !rig_->comm) return;
  stop_monotonic_ns_ = std::max(stop_monotonic_ns_, monotonic_now_ns() + kEndNs);
  const Status ended =
      guarded("abort the communicator", kEndNs, Comm::kUnwatched, [](Rig& rig) -> Status {
        if (rig.stage != nullptr) rig.stage->give_up();
        rig.comm = {};
        return {};
      });
  if (!ended) fmt::print(stderr, "railgauge: {}\n", ended.error().message);
}

// What an error leaves on the GPU waits for ranks that no longer come: it is ended at once.
Status CollectiveBench::measure(Context& context, Group& group) {
  Team team(group, words_monotonic_ns_);
  Status measured = measure_all(context, team);
  if (!measured) give_up();
  return measured;
}

Team::Perform CollectiveBench::performer() {
  return [this](const Order& order, std::vector<double>& samples_ns) {
    return perform(order, samples_ns);
  };
}

Status CollectiveBench::measure_all(Context& context, Team& team) {
  RG_TRY_OK(rig_->session.gpu().make_current());
  for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, team, size));
  team.begin_step("end the communicator");
  const Status finished = guarded(team.step(), plan_.stall_timeout_ns, Comm::kUnwatched,
                                  [](Rig& rig) { return rig.stage->finish(); });
  RG_TRY(team.agree(finished));
  return {};
}

Status CollectiveBench::perform(const Order& order, std::vector<double>& samples_ns) {
  const auto taken = std::make_shared<std::vector<double>>();
  Status done;
  switch (order.command) {
    case Command::kReady:
      done = guarded("make the data fresh", kOwnWorkNs, Comm::kWatched,
                     [](Rig& rig) { return rig.stage->reset_data(); });
      if (done) rig_->session.begin_point();
      return done;
    case Command::kCall:
      return guarded("a call", plan_.stall_timeout_ns, Comm::kWatched,
                     [](Rig& rig) { return rig.stage->call(); });
    case Command::kBatch:
      if (order.count > Stage::kMaxBatch || order.repeat == 0)
        return fail(Code::kInternal, fmt::format("rank 0: ordered a batch of {} times {}",
                                                 order.count, order.repeat));
      done = guarded("a batch", plan_.stall_timeout_ns, Comm::kWatched, [order, taken](Rig& rig) {
        return rig.stage->batch(order.count, order.repeat, *taken);
      });
      break;
    case Command::kWall:
      done = guarded("iterations in a row", plan_.stall_timeout_ns, Comm::kWatched,
                     [order, taken](Rig& rig) { return rig.stage->wall(order.count, *taken); });
      break;
    default:
      return fail(Code::kInternal, "rank 0: ordered what nobody knows");
  }
  // Of an error nothing is kept: a call that was left behind may still write there.
  if (done) samples_ns.insert(samples_ns.end(), taken->begin(), taken->end());
  return done;
}

Status CollectiveBench::measure_size(Context& context, Team& team, std::uint64_t size) {
  const std::uint64_t bytes = bytes_of(plan_.type);
  const std::uint64_t count = share_of_size(*operation_, size, bytes, plan_.ranks);
  Measured measured;
  measured.asked_bytes = size;
  measured.moved_bytes = moved_bytes(*operation_, count, bytes, plan_.ranks);
  measured.ranks = plan_.ranks;
  measured.precision = options_.relative_half_width;
  measured.verified = plan_.verify;
  measured.raw_samples = context.raw_samples;
  measured.synthetic = loaded_cuda().synthetic || loaded_nccl().synthetic;
  const std::string name = format_bytes(static_cast<double>(size));
  team.begin_step("first call of " + name);
  const Status begun = guarded("first call of " + name, plan_.stall_timeout_ns, Comm::kWatched,
                               [count](Rig& rig) { return rig.stage->begin_size(count); });
  RG_TRY(team.agree(begun));
  team.begin_step("sampling " + name);
  RG_TRY_OK(team.leads() ? lead(context, team, measured) : team.follow(performer()));
  Told told = health(context, team);
  team.begin_step("verifying " + name);
  const auto all = RG_TRY(team.agree(plan_.verify ? verify(name) : Status{}, std::move(told)));
  if (team.leads()) report(context, measured, all);
  return {};
}

// Only the call waits for other ranks: a rank that is lost then is missed as soon as in any other.
Status CollectiveBench::verify(const std::string& size) {
  RG_TRY_OK(guarded("make the data of " + size + " fresh", kOwnWorkNs, Comm::kWatched,
                    [](Rig& rig) { return rig.stage->reset_data(); }));
  RG_TRY_OK(guarded("verify " + size, plan_.stall_timeout_ns, Comm::kWatched,
                    [](Rig& rig) { return rig.stage->call_to_verify(); }));
  return guarded("check the data of " + size, kOwnWorkNs, Comm::kWatched,
                 [](Rig& rig) { return rig.stage->check_data(); });
}

// Of a GPU that waits for this one, while the size was measured; rank 0's own goes with the points.
Told CollectiveBench::health(const Context& context, const Team& team) {
  Told told;
  if (team.leads()) return told;
  Kept kept;
  Context own{.params = context.params,
              .reporter = kept,
              .clock = context.clock,
              .endpoint = context.endpoint,
              .deadline_monotonic_ns = context.deadline_monotonic_ns,
              .raw_samples = false,
              .rank = context.rank};
  rig_->session.report(own, {});
  told.set_throttled(kept.last.throttled());
  if (told.throttled()) told.set_throttle_reasons((*kept.last.mutable_facts())["throttle_reasons"]);
  return told;
}

Status CollectiveBench::lead(Context& context, Team& team, Measured& measured) {
  Status done = tell_choice_ ? learn_choice(team, measured.moved_bytes) : Status{};
  if (done) done = choose_repeat(team);
  measured.repeat = repeat_;
  if (done) done = sample(context, team, measured);
  if (done) done = sample_wall(team, measured);
  rig_->session.end_point();
  if (!done && team.broken()) return done;  // they know
  return team.end_orders(done);
}

// One call with what NCCL tells of its choices turned on: beside the timed region, in which each
// line of output would cost. Never a graph's: NCCL chooses when a graph is captured. Nor is there
// another all-reduce in it, as that which aligns the ranks.
Status CollectiveBench::learn_choice(Team& team, std::uint64_t moved) {
  choice_.reset();
  if (*operation_->log_name == '\0' || !log_.tell_choices(true)) return {};
  const auto ordered = team.order({.command = Command::kCall}, performer());
  const Seen seen = parse_log(log_.read_new());
  static_cast<void>(log_.tell_choices(false));
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
                RG_TRY(team.order({.command = Command::kReady}, perform));
                return {};
              });
  measured.sampled = RG_TRY(std::move(sampled));
  return {};
}

// Outside the kept samples.
Status CollectiveBench::sample_wall(Team& team, Measured& measured) {
  const Team::Perform perform = performer();
  const std::vector<double>& samples = measured.by_rank_ns[slowest_rank(measured.by_rank_ns)];
  double mean_ns = 0;
  for (const double sample : samples) mean_ns += sample / static_cast<double>(samples.size());
  const double in_cap =
      options_.time_cap_ns /
      std::max(1.0, mean_ns * static_cast<double>(std::max<std::uint64_t>(plan_.graph_calls, 1)));
  std::uint64_t iterations = kWallIterations;
  std::uint64_t loops = kWallSamples;
  if (options_.fixed_samples != 0) {
    iterations = std::min(iterations, options_.fixed_samples);
    loops = 1;
  } else if (in_cap < static_cast<double>(iterations * loops)) {
    iterations = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(in_cap), 1, iterations);
    loops = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(in_cap) / iterations, 1, loops);
  }
  measured.wall_iterations = iterations;
  measured.wall_by_rank_ns.assign(team.size(), {});
  for (std::uint64_t loop = 0; loop < loops; ++loop) {
    const auto all = RG_TRY(team.order({.command = Command::kWall, .count = iterations}, perform));
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      measured.wall_by_rank_ns[rank].push_back(all[rank].front());
  }
  return {};
}

// A GPU that is slowed down slows all.
void CollectiveBench::report(Context& context, const Measured& measured,
                             const std::vector<Told>& all) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> throttled;
  for (std::size_t rank = 1; rank < all.size() && throttled.size() < kNamed; ++rank)
    if (all[rank].throttled())
      throttled.push_back(fmt::format("{} ({})", rank, all[rank].throttle_reasons()));
  for (Point& point : points_of(*operation_, measured)) {
    auto& facts = *point.mutable_facts();
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
      facts["verified_call"] = plan_.graph_calls != 0 && !(plan_.in_place && operation_->reduces)
                                   ? "one more launch of the graph, on fresh data"
                                   : "one more, on fresh data";
    rig_->session.report(context, std::move(point));
  }
}

}  // namespace railgauge::nccl
