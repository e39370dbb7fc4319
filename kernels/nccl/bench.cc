#include "kernels/nccl/bench.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/sampling.h"
#include "kernels/core/units.h"

namespace railgauge::nccl {
namespace {

constexpr std::uint64_t kBatch = 20;           // iterations between two meetings of the ranks
constexpr std::uint64_t kWallIterations = 20;  // in one sample of the aggregate, as nccl-tests has
constexpr std::uint64_t kWallSamples = 5;

}  // namespace

// What an error leaves on the GPU waits for ranks that no longer come: it is ended at once.
Status CollectiveBench::measure(Context& context, Group& group) {
  Team team(context, group);
  Status measured = measure_all(context, team);
  if (!measured) stage_->give_up();
  return measured;
}

Team::Perform CollectiveBench::performer() {
  return [this](Command command, std::uint64_t count, std::vector<double>& samples_ns) {
    return perform(command, count, samples_ns);
  };
}

Status CollectiveBench::measure_all(Context& context, Team& team) {
  RG_TRY_OK(session_.gpu().make_current());
  for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, team, size));
  team.begin_step("end the communicator");
  const Status finished = stage_->finish();
  RG_TRY(team.agree(finished));
  return {};
}

Status CollectiveBench::perform(Command command, std::uint64_t count,
                                std::vector<double>& samples_ns) {
  switch (command) {
    case Command::kReady:
      return stage_->reset_data();
    case Command::kBatch:
      if (count > Stage::kMaxBatch)
        return fail(Code::kInternal, fmt::format("rank 0: ordered a batch of {}", count));
      return stage_->batch(count, samples_ns);
    case Command::kWall:
      return stage_->wall(count, samples_ns);
    default:
      return fail(Code::kInternal, "rank 0: ordered what nobody knows");
  }
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
  const Status begun = stage_->begin_size(count);
  RG_TRY(team.agree(begun));
  team.begin_step("sampling " + name);
  RG_TRY_OK(team.leads() ? lead(context, team, measured) : team.follow(performer()));
  team.begin_step("verifying " + name);
  const Status verified = stage_->verify();
  RG_TRY(team.agree(verified));
  if (team.leads()) report(context, measured);
  return {};
}

Status CollectiveBench::lead(Context& context, Team& team, Measured& measured) {
  Status done = tell_choice_ ? learn_choice(team, measured.moved_bytes) : Status{};
  if (done) done = sample(context, team, measured);
  if (done) done = sample_wall(team, measured);
  session_.end_point();
  if (!done && team.broken()) return done;  // they know
  return team.end_orders(done);
}

// One call with what NCCL tells of its choices turned on: beside the timed region, in which each
// line of output would cost.
Status CollectiveBench::learn_choice(Team& team, std::uint64_t moved) {
  choice_.reset();
  if (*operation_->log_name == '\0' || !log_.tell_choices(true)) return {};
  const auto ordered = team.order(Command::kBatch, 1, performer());
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

Status CollectiveBench::sample(Context& context, Team& team, Measured& measured) {
  measured.by_rank_ns.assign(team.size(), {});
  const Team::Perform perform = performer();
  SamplerOptions options = options_;
  options.batch = kBatch;
  auto sampled = Sampler(context.clock, options)
                     .run(
                         [&](std::uint64_t count, std::vector<double>& out) -> Status {
                           const auto all = RG_TRY(team.order(Command::kBatch, count, perform));
                           out.insert(out.end(), all.front().begin(), all.front().end());
                           for (std::size_t rank = 0; rank < all.size(); ++rank)
                             measured.by_rank_ns[rank].insert(measured.by_rank_ns[rank].end(),
                                                              all[rank].begin(), all[rank].end());
                           return {};
                         },
                         [&]() -> Status {
                           for (auto& samples : measured.by_rank_ns) samples.clear();
                           RG_TRY(team.order(Command::kReady, 0, perform));
                           session_.begin_point();
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
  const double in_cap = options_.time_cap_ns /
                        std::max(1.0, mean_ns * static_cast<double>(stage_->calls_in_sample()));
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
    const auto all = RG_TRY(team.order(Command::kWall, iterations, perform));
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
    session_.report(context, std::move(point));
  }
}

}  // namespace railgauge::nccl
