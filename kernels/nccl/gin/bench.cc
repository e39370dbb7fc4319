// The class behind the three kernels: one rank's steps, its orders and its figures.
#include "kernels/nccl/gin/bench.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "kernels/core/proof/proof_plan.h"
#include "kernels/core/sampling.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/session/session.h"
#include "kernels/nccl/communicator/environment.h"
#include "kernels/nccl/communicator/meeting.h"
#include "kernels/nccl/communicator/team.h"
#include "kernels/nccl/communicator/worker.h"
#include "kernels/nccl/gin/side.h"

namespace railgauge::nccl {
namespace {

constexpr double kGinOwnWorkNs = 60 * kGinSecond;  // waits for no other rank
// Rounds of one launch of the proof: enough that the launch itself is a small part of its time.
constexpr std::uint64_t kProofRounds = 128;
// The state of the worker's calls; an abandoned call keeps it alive.
struct GinState {
  gpu::Session session;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  Communicator comm;
  std::unique_ptr<GinSide> side;  // ends before the communicator
};

// One rank. The kernel's thread agrees with the others; a Worker makes every call of NCCL.
class GinBench final : public Kernel {
 public:
  explicit GinBench(GinVerb verb) : verb_(verb) {}
  ~GinBench() override {
    give_up();
    if (opened_) static_cast<void>(state_->session.gpu().make_current());
  }

  // In the order of the collectives' kernels: the GPU, the environment that NCCL reads once, NCCL.
  Status prepare(Context& context) override {
    RG_TRY_OK(read_parameters(context.params));
    keep_sites_hardware_queues();
    if (context.endpoint.empty())
      static_cast<void>(RG_TRY(gpu::Gpu::count()));
    else
      RG_TRY_OK(open(context));
    RG_TRY_OK(apply_environment(context));
    const Nccl& nccl = *RG_TRY(load_nccl());
    RG_TRY_OK(check_environment(context.params, nccl.synthetic));
    RG_TRY_OK(check_library(nccl));
    context.reporter.fact("nccl", nccl.version);
    context.reporter.fact("nccl_path", nccl.path);
    context.reporter.fact("memory", "gpu");
    context.reporter.fact("timed_by", "rank 0's GPU: its clock around each round");
    return {};
  }

  Status connect(Context& context, Group& group) override {
    if (opened_) RG_TRY_OK(state_->session.gpu().make_current());
    Team team(group, words_until(context));
    Status connected = connect_all(context, team);
    if (!connected) give_up();
    return connected;
  }

  // After an error the communicator is aborted, which frees the other ranks.
  Status measure(Context& context, Group& group) override {
    Team team(group, words_until(context));
    Status measured = measure_all(context, team);
    if (!measured) give_up();
    return measured;
  }

 private:
  Status open(Context& context) {
    state_->session = RG_TRY(gpu::Session::open(context));
    opened_ = true;
    return {};
  }

  Status read_parameters(const Params& params) {
    parameters_ = params.effective();
    sizes_ = verb_ == GinVerb::kSignal ? std::vector<std::uint64_t>{0} : params.bytes_list("sizes");
    for (const std::uint64_t size : sizes_)
      if (size % sizeof(std::uint64_t) != 0)
        return invalid("parameter sizes: {} is no multiple of 8 bytes", size);
    options_ = RG_TRY(sampler_options(params));
    options_.batch = std::min(options_.batch, GinSide::kMaxRounds);
    if (verb_ == GinVerb::kPut) proof_time_ns_ = params.duration_ns("proof_time");
    verify_ = params.boolean("verify");
    stall_ns_ = params.duration_ns("stall_timeout");
    join_ns_ = params.duration_ns("join_timeout");
    return {};
  }

  // Checks all that does not depend on the GPU's code, which is loaded when the ranks have met. A
  // library before 2.28.7 waives here, and one whose makers left the device side out.
  static Status check_library(const Nccl& nccl) {
    if (nccl.version_code < nc::kFirstWithGin) return check_headers({}, nccl.version_code);
    if (nccl.dev_comm_create != nullptr && nccl.dev_comm_destroy != nullptr) return {};
    return fail(Code::kUnimplemented,
                "NCCL {}: {} has no ncclDevCommCreate, by which GPUs get at a communicator",
                nccl.version, nccl.path);
  }

  // Until when the ranks wait for each other's words: a part of the time is for the end.
  static double words_until(const Context& context) {
    const double left = std::max(0.0, context.deadline_monotonic_ns - monotonic_now_ns());
    return context.deadline_monotonic_ns - std::min(2 * kGinSecond, left / 10);
  }

  // Each step ends with an agreement, so that one rank's lack ends all with its words.
  Status connect_all(Context& context, Team& team) {
    const Attendant mine{.parameters = &parameters_, .chosen = opened_};
    const Met met = RG_TRY(meet_ranks(
        team, mine,
        [&](const std::string& endpoint) {
          if (!endpoint.empty()) context.endpoint = endpoint;
          return opened_ ? Status{} : open(context);
        },
        [this]() -> const gpu::Gpu& { return state_->session.gpu(); }));
    worker_ = std::make_unique<Worker>(state_->progress);
    const std::uint32_t ranks = team.size();
    const std::uint32_t rank = team.rank();
    const std::uint64_t largest = *std::ranges::max_element(sizes_);
    const bool gets = verb_ == GinVerb::kGet;
    RG_TRY_OK(step(context, team, "loading the device code", kGinOwnWorkNs, Comm::kUnwatched,
                   [stall_ns = stall_ns_, gets](GinState& state) -> Status {
                     state.side =
                         RG_TRY(GinSide::create(state.session.gpu(), *state.progress, stall_ns));
                     return fit(*state.side, gets);
                   }));
    context.reporter.fact("nccl_headers", nccl_release(state_->side->headers().release));
    RG_TRY_OK(step(context, team, "joining the communicator", join_ns_, Comm::kUnwatched,
                   [=, id = met.unique_id](GinState& state) -> Status {
                     state.comm = RG_TRY(
                         Communicator::join(state.session.gpu(), *state.progress, ranks, rank, id));
                     return {};
                   }));
    RG_TRY_OK(step(context, team, "allocating memory", kGinOwnWorkNs, Comm::kWatched,
                   [=](GinState& state) { return state.side->allocate(largest, ranks); }));
    RG_TRY_OK(step(context, team, "connecting the GPUs", join_ns_, Comm::kWatched,
                   [](GinState& state) { return state.side->connect(state.comm); }));
    const auto kind = std::make_shared<std::string>();
    RG_TRY_OK(step(context, team, "asking for the kind", kGinOwnWorkNs, Comm::kWatched,
                   [kind](GinState& state) -> Status {
                     *kind = RG_TRY(state.side->kind());
                     return {};
                   }));
    context.reporter.fact("path", *kind);
    return {};
  }

  // The code's headers must fit the library, and have the verb.
  static Status fit(const GinSide& side, bool gets) {
    RG_TRY_OK(check_headers(side.headers(), loaded_nccl().version_code));
    if (!gets || side.headers().has_get) return {};
    return fail(
        Code::kUnimplemented,
        "NCCL {}: this build's device code is made of the headers of {}, which have no get; "
        "those of {} and later have",
        loaded_nccl().version, nccl_release(side.headers().release),
        nccl_release(nc::kFirstWithGet));
  }

  // Whether a communicator is there, whose errors end a job.
  enum class Comm : std::uint8_t { kWatched, kUnwatched };

  // One step of all ranks on their workers.
  Status step(const Context& context, Team& team, const std::string& name, double allowed_ns,
              Comm comm, std::function<Status(GinState&)> job) {
    team.begin_step(name);
    RG_TRY_OK(team.agree(guarded(context, name, allowed_ns, comm, std::move(job))));
    return {};
  }

  // Runs a job on the worker with the GPU's context current. `allowed_ns` is the longest time
  // without progress: a launch reports none between its begin and its end.
  Status guarded(const Context& context, const std::string& name, double allowed_ns, Comm comm,
                 std::function<Status(GinState&)> job) {
    Watch watch{.deadline_monotonic_ns = words_until(context),
                .stall_ns = allowed_ns,
                .hint = "another rank is gone or stuck"};
    if (comm == Comm::kWatched) watch.health = [state = state_] { return state->comm.health(); };
    return worker_->run(
        fmt::format("{}: {}", state_->session.gpu().name(), name),
        [state = state_, job = std::move(job)]() -> Status {
          RG_TRY_OK(state->session.gpu().make_current());
          return job(*state);
        },
        watch);
  }

  // Size after size, then the orderly end, in which all ranks take part: the device communicator
  // ends before the communicator that it was made of.
  Status measure_all(Context& context, Team& team) {
    RG_TRY_OK(state_->session.gpu().make_current());
    for (const std::uint64_t size : sizes_) RG_TRY_OK(measure_size(context, team, size));
    return step(context, team, "ending the communicator", stall_ns_, Comm::kUnwatched,
                [](GinState& state) -> Status {
                  state.side.reset();
                  return state.comm.finish();
                });
  }

  // Rank 0 orders each batch of rounds, and all ranks launch it: the token needs a running GPU on
  // each of them. Rank 0 alone reports.
  Status measure_size(Context& context, Team& team, std::uint64_t size) {
    size_ = size;
    team.begin_step("sampling " + format_bytes(static_cast<double>(size)));
    if (!team.leads()) return team.follow(performer(context));
    Sampled sampled;
    Status done = lead(context, team, sampled);
    if (!done && team.broken()) return done;  // they know
    RG_TRY_OK(team.end_orders(done));
    report(context, sampled, team.size());
    return {};
  }

  Team::Perform performer(const Context& context) {
    return [this, &context](const Order& order, std::vector<double>& samples_ns) {
      return perform(context, order, samples_ns);
    };
  }

  // The data are fresh before the first round, and again before the first kept one.
  Status lead(Context& context, Team& team, Sampled& sampled) {
    const Team::Perform perform = performer(context);
    const auto order = [&](Command command, std::uint64_t count) {
      return team.order({.command = command, .count = count, .repeat = fills_}, perform);
    };
    const auto freshen = [&]() -> Status {
      ++fills_;
      RG_TRY_OK(order(Command::kReady, 1));
      return {};
    };
    RG_TRY_OK(freshen());
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      const auto all = RG_TRY(order(Command::kBatch, count));
      out.insert(out.end(), all.front().begin(), all.front().end());
      return {};
    };
    auto ran = Sampler(context.clock, options_).run(batch, freshen);
    state_->session.end_point();
    sampled = RG_TRY(std::move(ran));
    RG_TRY_OK(state_->session.check_undisturbed(context));
    if (!verify_) return {};
    RG_TRY_OK(order(Command::kCheck, 1));
    return verb_ == GinVerb::kPut ? prove(context, order) : Status{};
  }

  // Rounds with numbers in their payload. Signals are counted in each launch, and each get shows
  // that its bytes came: neither has rounds of a proof.
  template <class Give>
  Status prove(const Context& context, const Give& order) {
    proved_ = 0;
    const ProofShare share = proof_share(proof_time_ns_, sizes_.size());
    const TickClock& clock = tick_clock(context);
    const std::uint64_t begin = clock.ticks();
    for (std::uint64_t rounds = 0;
         share.wants_round(rounds, proved_, clock.to_ns(clock.ticks() - begin)); ++rounds) {
      RG_TRY_OK(order(Command::kProve, kProofRounds));
      proved_ += kProofRounds;
    }
    return {};
  }

  // One order of rank 0 on this rank. Samples go through a vector that the job owns: after a job
  // that was left behind the caller's vector may be gone.
  Status perform(const Context& context, const Order& order, std::vector<double>& samples_ns) {
    const auto taken = std::make_shared<std::vector<double>>();
    const std::uint32_t rank = context.rank;
    const GinRounds rounds{
        .message_bytes = size_, .count = order.count, .numbered = order.command == Command::kProve};
    switch (order.command) {
      case Command::kReady:
        RG_TRY_OK(guarded(context, "make the data fresh", kGinOwnWorkNs, Comm::kWatched,
                          [=, seed = order.repeat](GinState& state) {
                            return state.side->reset(rank, rounds.message_bytes, seed);
                          }));
        state_->session.begin_point();
        return {};
      case Command::kBatch:
      case Command::kProve:
        if (order.count == 0 || order.count > GinSide::kMaxRounds)
          return fail(Code::kInternal, "rank 0: ordered {} rounds", order.count);
        RG_TRY_OK(guarded(context, "rounds", stall_ns_, Comm::kWatched,
                          [=, verb = verb_](GinState& state) -> Status {
                            return run_rounds(state, verb, rank, rounds, *taken);
                          }));
        break;
      case Command::kCheck:
        if (rank != 0 || verb_ == GinVerb::kSignal) return {};
        return guarded(context, "check the data", kGinOwnWorkNs, Comm::kWatched,
                       [=, verb = verb_, seed = order.repeat](GinState& state) {
                         return verb == GinVerb::kGet
                                    ? state.side->check_gets(rounds.message_bytes, seed)
                                    : state.side->check_ring(rounds.message_bytes, seed);
                       });
      default:
        return fail(Code::kInternal, "rank 0: ordered what nobody knows");
    }
    if (order.command != Command::kBatch) return {};
    // Only rank 0's GPU times; a team has as many samples of each rank.
    if (rank != 0) taken->assign(order.count, 0);
    samples_ns.insert(samples_ns.end(), taken->begin(), taken->end());
    return {};
  }

  // A figure is a hop's of a round over all ranks, or a get's.
  static Status run_rounds(GinState& state, GinVerb verb, std::uint32_t rank,
                           const GinRounds& rounds, std::vector<double>& taken) {
    if (verb == GinVerb::kGet && rank != 0) return {};
    const GinTimed timed =
        RG_TRY(verb == GinVerb::kGet ? state.side->get(rounds) : state.side->ring(rank, rounds));
    const double hops = verb == GinVerb::kGet ? 1 : state.side->ranks();
    for (const double round_ns : timed.rounds_ns) taken.push_back(round_ns / hops);
    return {};
  }

  // One figure for all ranks.
  void report(Context& context, const Sampled& sampled, std::uint32_t ranks) {
    Point point = make_point({.metric = "latency_ns",
                              .meaning = verb_ == GinVerb::kGet ? "completion" : "hop",
                              .unit = "ns"},
                             size_, sampled, context.raw_samples,
                             loaded_cuda().synthetic || loaded_nccl().synthetic);
    point.set_verified(verify_);
    auto& facts = *point.mutable_facts();
    facts["ranks"] = std::to_string(ranks);
    if (proved_ > 0) facts["proved_rounds"] = std::to_string(proved_);
    state_->session.report(context, std::move(point));
  }

  // Does nothing where no communicator is open, or where the worker hangs in a call.
  void give_up() {
    if (worker_ == nullptr || worker_->lost() || (!state_->comm && state_->side == nullptr)) return;
    const Status ended = worker_->run(
        fmt::format("{}: abort the communicator", state_->session.gpu().name()),
        [state = state_]() -> Status {
          static_cast<void>(state->session.gpu().make_current());
          state->side.reset();
          state->comm = {};
          return {};
        },
        {.deadline_monotonic_ns = monotonic_now_ns() + kGinSecond, .stall_ns = kGinSecond});
    if (!ended) fmt::print(stderr, "railgauge: {}\n", ended.error().message);
  }

  const GinVerb verb_;
  std::shared_ptr<GinState> state_ = std::make_shared<GinState>();
  std::unique_ptr<Worker> worker_;
  std::map<std::string, std::string> parameters_;  // must be equal on all ranks
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  double proof_time_ns_ = 0;
  double stall_ns_ = 0;
  double join_ns_ = 0;
  bool verify_ = true;
  bool opened_ = false;
  std::uint64_t size_ = 0;    // that is measured
  std::uint64_t fills_ = 0;   // on rank 0: the seed of the data
  std::uint64_t proved_ = 0;  // rounds of the size
};

}  // namespace

std::unique_ptr<Kernel> make_gin(GinVerb verb) { return std::make_unique<GinBench>(verb); }

}  // namespace railgauge::nccl
