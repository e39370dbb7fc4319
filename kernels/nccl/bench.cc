#include "kernels/nccl/bench.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/clock.h"
#include "kernels/core/sampling.h"
#include "kernels/core/units.h"

namespace railgauge::nccl {
namespace {

constexpr std::uint64_t kBatch = 20;           // iterations between two meetings of the ranks
constexpr std::uint64_t kWallIterations = 20;  // in one sample of the aggregate, as nccl-tests has
constexpr std::uint64_t kWallSamples = 5;
// A sample lasts this long, as a stamp between two costs up to 2 us; at most so many iterations
// share one, as many as nccl-tests divides by.
constexpr double kSampleNs = 1e6;
constexpr std::uint64_t kMostRepeat = 20;
constexpr double kOwnWorkNs = 60e9;  // filling, verifying, allocating: waits for no other rank
constexpr double kEndNs = 1e9;       // of the deadline's grace, for an orderly or forced end

}  // namespace

Status CollectiveBench::guarded(std::string step, double allowed_ns, Comm comm,
                                std::function<Status(Rig&)> job) {
  Watch watch{.deadline_monotonic_ns = plan_.deadline_monotonic_ns, .stall_ns = allowed_ns};
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
  const double until_ns = monotonic_now_ns() + kEndNs;
  plan_.deadline_monotonic_ns = std::max(plan_.deadline_monotonic_ns, until_ns);
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
  Team team(context, group);
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
      return guarded("make the data fresh", kOwnWorkNs, Comm::kWatched,
                     [](Rig& rig) { return rig.stage->reset_data(); });
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
  const std::string name = canonical_bytes(size);
  team.begin_step("first call of " + name);
  const Status begun = guarded("first call of " + name, plan_.stall_timeout_ns, Comm::kWatched,
                               [count](Rig& rig) { return rig.stage->begin_size(count); });
  RG_TRY(team.agree(begun));
  team.begin_step("sampling " + name);
  RG_TRY_OK(team.leads() ? lead(context, team, measured) : team.follow(performer()));
  team.begin_step("verifying " + name);
  const Status verified = guarded("verify " + name, kOwnWorkNs, Comm::kWatched,
                                  [](Rig& rig) { return rig.stage->verify(); });
  RG_TRY(team.agree(verified));
  if (team.leads()) report(context, measured);
  return {};
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
// line of output would cost.
Status CollectiveBench::learn_choice(Team& team, std::uint64_t moved) {
  choice_.reset();
  if (*operation_->log_name == '\0' || !log_.tell_choices(true)) return {};
  const auto ordered = team.order({.command = Command::kBatch, .count = 1}, performer());
  const Seen seen = parse_log(log_.read_new());
  static_cast<void>(log_.tell_choices(false));
  if (!ordered) return tl::unexpected(ordered.error());
  for (const Choice& choice : seen.choices) {
    // The last one: the ranks' alignment, an all-reduce too, comes before.
    const bool ours =
        choice.operation.empty() ? choice.bytes == moved : choice.operation == operation_->log_name;
    if (ours) choice_ = choice;
  }
  return {};
}

// From nccl-tests' own figure, iterations in a row; a graph is repeated already.
Status CollectiveBench::choose_repeat(Team& team) {
  repeat_ = plan_.graph_calls != 0 ? 1 : asked_repeat_;
  if (repeat_ != 0) return {};
  const Order probe{.command = Command::kWall, .count = kMostRepeat / 4};
  double longest_ns = 1;
  for (const auto& samples : RG_TRY(team.order(probe, performer())))
    for (const double sample : samples) longest_ns = std::max(longest_ns, sample);
  repeat_ = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(kSampleNs / longest_ns)),
                                      1, kMostRepeat);
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
                rig_->session.begin_point();
                return {};
              });
  measured.sampled = RG_TRY(std::move(sampled));
  return {};
}

// Outside the kept samples: the data may be verified after it too, as the calls are the same.
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

void CollectiveBench::report(Context& context, const Measured& measured) {
  for (Point& point : points_of(*operation_, measured)) {
    auto& facts = *point.mutable_facts();
    if (choice_) {
      facts["algorithm"] = choice_->algorithm;
      facts["protocol"] = choice_->protocol;
      if (!choice_->channels.empty()) facts["channels"] = choice_->channels;
    }
    if (plan_.verify)
      facts["verified_call"] = plan_.in_place && operation_->reduces
                                   ? "one more, on fresh data"
                                   : "the last of the measured ones";
    rig_->session.report(context, std::move(point));
  }
}

}  // namespace railgauge::nccl
