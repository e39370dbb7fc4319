// The time of making a communicator and of ending it, as a job has it when it starts: the join
// (ncclCommInitRankConfig, from call to usable handle), the first all-reduce, which connects, the
// split of the communicator into another one of the same ranks, and the orderly end of both. Each
// round has a unique id of its own. A step begins when this rank has ended the one before, and a
// figure is that of the slowest rank. The first round is a point of its own: the library loads its
// parts then.
//
// Both all-reduces are verified: a communicator that carries wrong numbers is no communicator.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/info_builder.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stats/stats.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/session/session.h"
#include "kernels/gpu/timing.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/nccl/communicator/environment.h"
#include "kernels/nccl/communicator/log.h"
#include "kernels/nccl/communicator/meeting.h"
#include "kernels/nccl/communicator/team.h"
#include "kernels/nccl/communicator/worker.h"

namespace railgauge::nccl {
namespace {

constexpr std::array kInitMetrics{"init_ns", "first_call_ns", "split_ns", "end_ns"};
using Times = std::array<double, kInitMetrics.size()>;

constexpr double kSecond = 1e9;
constexpr double kAbortNs = 1e9;
constexpr std::int64_t kRounds = 7;  // six after the first: enough for an interval
constexpr unsigned char kUnwritten = 0xa5;
constexpr std::chrono::microseconds kLook{20};
constexpr double kInitPrecision = 0.1;

// The state of the worker's calls; an abandoned call keeps it alive.
struct InitState {
  gpu::Session session;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  GpuBuffer words;  // one to send, one to receive
  gpu::Stream stream;
  gpu::Event event;
  Communicator comm;
  Status right;  // what was received; wrong numbers end their round orderly, with all ranks
};

// The numbers of one all-reduce.
constexpr std::size_t kNumbers = 16;
using Numbers = std::array<std::int32_t, kNumbers>;

// Whole numbers, other ones for each rank, place and round of many. Their sum does not overflow.
std::int32_t number_of(std::uint32_t rank, std::uint64_t round, std::size_t place) {
  return static_cast<std::int32_t>(1 + rank + place + 1000 * (round % 100));
}
Numbers numbers_of(std::uint32_t rank, std::uint64_t round) {
  Numbers numbers{};
  for (std::size_t place = 0; place < kNumbers; ++place)
    numbers[place] = number_of(rank, round, place);
  return numbers;
}
Numbers sums_of(std::uint32_t ranks, std::uint64_t round) {
  Numbers sums{};
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::size_t place = 0; place < kNumbers; ++place)
      sums[place] += number_of(rank, round, place);
  return sums;
}

// Polls, so that a call that never ends can be stopped.
Status wait_for_event(const InitState& state, const std::string& act) {
  while (true) {
    const cu::Return returned = loaded_cuda().event_query(state.event.get());
    if (returned == cu::kSuccess) return {};
    if (returned != cu::kNotReady) return cuda_status(loaded_cuda(), returned, act);
    if (state.progress->stopped()) return state.progress->stopped_at(act);
    std::this_thread::sleep_for(kLook);
  }
}

// One all-reduce of a few numbers. Returns its time until the GPU has ended it, in ns; a wrong
// result is noted.
Result<double> reduce_once(InitState& state, const TickClock& clock, std::uint32_t ranks,
                           std::uint32_t rank, std::uint64_t round) {
  const gpu::Gpu& gpu = state.session.gpu();
  const Cuda& cuda = loaded_cuda();
  const std::string act = gpu.name() + ": first all-reduce";
  const Numbers mine = numbers_of(rank, round);
  const cu::DevicePtr receive = state.words.data() + GpuBuffer::kPageBytes / 2;
  RG_TRY_OK(gpu_status(gpu, cuda.memcpy_htod(state.words.data(), mine.data(), sizeof mine),
                       "write the numbers to reduce"));
  RG_TRY_OK(gpu_status(gpu, cuda.memset_d8(receive, kUnwritten, sizeof mine),
                       "make the received numbers wrong"));
  RG_TRY_OK(gpu_status(gpu, cuda.stream_synchronize(nullptr), "wait for the numbers"));
  const std::uint64_t begin = clock.ticks();
  // NOLINTBEGIN(performance-no-int-to-ptr): addresses are numbers in CUDA's interface
  RG_TRY_OK(state.comm.done(
      loaded_nccl().all_reduce(reinterpret_cast<void*>(state.words.data()),
                               reinterpret_cast<void*>(receive), kNumbers, nc::kInt32, nc::kSum,
                               state.comm.get(), state.stream.get()),
      act));
  // NOLINTEND(performance-no-int-to-ptr)
  RG_TRY_OK(gpu_status(gpu, cuda.event_record(state.event.get(), state.stream.get()), "stamp"));
  RG_TRY_OK(wait_for_event(state, act));
  const double took_ns = clock.to_ns(clock.ticks() - begin);
  Numbers found{};
  RG_TRY_OK(gpu_status(gpu, cuda.memcpy_dtoh(found.data(), receive, sizeof found),
                       "read the reduced numbers"));
  const Numbers expected = sums_of(ranks, round);
  const auto [wrong, right] = std::ranges::mismatch(found, expected);
  if (wrong != found.end() && state.right)
    state.right =
        fail(Code::kDataLoss, "{}: rank {}: element {} is {}, expected {} (the sum of {} ranks)",
             act, rank, wrong - found.begin(), *wrong, *right, ranks);
  state.progress->beat();
  return took_ns;
}

// One round on this rank.
Result<Times> one_round(InitState& state, const TickClock& clock, std::uint32_t ranks,
                        std::uint32_t rank, std::uint64_t round, const std::string& unique_id) {
  Times times{};
  const auto timed = [&](std::size_t which, auto step) -> Status {
    const std::uint64_t begin = clock.ticks();
    RG_TRY_OK(step());
    times[which] = clock.to_ns(clock.ticks() - begin);
    state.progress->beat();
    return {};
  };
  RG_TRY_OK(timed(0, [&]() -> Status {
    state.comm =
        RG_TRY(Communicator::join(state.session.gpu(), *state.progress, ranks, rank, unique_id));
    return {};
  }));
  times[1] = RG_TRY(reduce_once(state, clock, ranks, rank, 2 * round));
  RG_TRY_OK(timed(2, [&] { return state.comm.split(0, rank); }));
  static_cast<void>(RG_TRY(reduce_once(state, clock, ranks, rank, 2 * round + 1)));
  RG_TRY_OK(timed(3, [&] { return state.comm.finish(); }));
  RG_TRY_OK(state.right);
  return times;
}

// One rank. The kernel's thread agrees with the others; a Worker makes every call of NCCL.
class InitBench final : public Kernel {
 public:
  ~InitBench() override {
    give_up();
    if (opened_) static_cast<void>(state_->session.gpu().make_current());
  }

  // In the order of the collectives' kernels: the GPU, the environment that NCCL reads once, NCCL.
  Status prepare(Context& context) override {
    parameters_ = context.params.effective();
    rounds_ = static_cast<std::uint64_t>(context.params.integer("iterations"));
    stall_ns_ = context.params.duration_ns("join_timeout");
    keep_sites_hardware_queues();
    if (context.endpoint.empty())
      static_cast<void>(RG_TRY(gpu::Gpu::count()));
    else
      RG_TRY_OK(open(context));
    RG_TRY_OK(apply_environment(context));
    log_.begin();
    const Nccl& nccl = *RG_TRY(load_nccl());
    RG_TRY_OK(check_environment(context.params, nccl.synthetic));
    context.reporter.fact("nccl", nccl.version);
    context.reporter.fact("nccl_path", nccl.path);
    context.reporter.fact("reported", "the slowest rank of each round");
    return {};
  }

  // Meets the others and makes what all rounds share; nothing of NCCL's is timed yet.
  Status connect(Context& context, Group& group) override {
    if (opened_) RG_TRY_OK(state_->session.gpu().make_current());
    Team team(group, words_until(context));
    const Attendant mine{.parameters = &parameters_, .chosen = opened_};
    static_cast<void>(RG_TRY(meet_ranks(
        team, mine,
        [&](const std::string& endpoint) {
          if (!endpoint.empty()) context.endpoint = endpoint;
          return opened_ ? Status{} : open(context);
        },
        [this]() -> const gpu::Gpu& { return state_->session.gpu(); })));
    const gpu::Gpu& gpu = state_->session.gpu();
    state_->words = RG_TRY(GpuBuffer::allocate(gpu.name(), GpuBuffer::kPageBytes));
    state_->stream = RG_TRY(gpu::make_stream(gpu));
    state_->event = RG_TRY(gpu::make_event(gpu));
    worker_ = std::make_unique<Worker>(state_->progress);
    return {};
  }

  // After an error the communicator is aborted, which frees the other ranks.
  Status measure(Context& context, Group& group) override {
    Team team(group, words_until(context));
    Status measured = measure_rounds(context, team);
    if (!measured) give_up();
    return measured;
  }

 private:
  Status open(Context& context) {
    state_->session = RG_TRY(gpu::Session::open(context));
    opened_ = true;
    return {};
  }
  // Until when the ranks wait for each other's words: a part of the time is for the end.
  static double words_until(const Context& context) {
    const double left = std::max(0.0, context.deadline_monotonic_ns - monotonic_now_ns());
    return context.deadline_monotonic_ns - std::min(2 * kSecond, left / 10);
  }

  // All ranks make every round, rank 0 keeps the times.
  Status measure_rounds(Context& context, Team& team) {
    RG_TRY_OK(state_->session.gpu().make_current());
    state_->session.begin_point();
    std::array<std::vector<double>, kInitMetrics.size()> slowest;
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      const Times times = RG_TRY(agreed_round(context, team, round));
      for (std::size_t i = 0; i < times.size(); ++i) slowest[i].push_back(times[i]);
    }
    state_->session.end_point();
    if (team.leads())
      for (std::size_t i = 0; i < slowest.size(); ++i)
        report(context, kInitMetrics[i], slowest[i], team.size());
    return {};
  }

  // A round of all ranks: rank 0's id, the work, the slowest rank's times (on rank 0).
  Result<Times> agreed_round(Context& context, Team& team, std::uint64_t round) {
    team.begin_step(fmt::format("round {}", round + 1));
    Told id;
    Status made;
    if (team.leads()) {
      auto unique_id = make_unique_id();
      if (unique_id)
        id.set_unique_id(*unique_id);
      else
        made = tl::unexpected(unique_id.error());
    }
    const std::string unique_id = RG_TRY(team.agree(made, std::move(id))).front().unique_id();
    const auto times = std::make_shared<Times>();
    const Status done =
        guarded(context, team.step(),
                [times, unique_id, round, ranks = team.size(), rank = team.rank(),
                 &clock = tick_clock(context)](InitState& state) -> Status {
                  *times = RG_TRY(one_round(state, clock, ranks, rank, round, unique_id));
                  return {};
                });
    Told told;
    if (done) told.mutable_samples_ns()->Assign(times->begin(), times->end());
    Times slowest{};
    for (const Told& one : RG_TRY(team.agree(done, std::move(told))))
      for (int i = 0; i < one.samples_ns_size() && i < static_cast<int>(slowest.size()); ++i)
        slowest[static_cast<std::size_t>(i)] =
            std::max(slowest[static_cast<std::size_t>(i)], one.samples_ns(i));
    return slowest;
  }

  // A word of the worker's progress is due within the time for joining.
  Status guarded(const Context& context, const std::string& step,
                 std::function<Status(InitState&)> job) {
    return worker_->run(
        fmt::format("{}: {}", state_->session.gpu().name(), step),
        [state = state_, job = std::move(job)]() -> Status {
          RG_TRY_OK(state->session.gpu().make_current());
          return job(*state);
        },
        {.deadline_monotonic_ns = words_until(context),
         .stall_ns = stall_ns_,
         .hint = "a rank is missing, or its address cannot be reached (NCCL_SOCKET_IFNAME)"});
  }

  // Does nothing where no communicator is open, or where the worker hangs in a call.
  void give_up() {
    if (worker_ == nullptr || worker_->lost() || !state_->comm) return;
    const Status ended = worker_->run(
        fmt::format("{}: abort the communicator", state_->session.gpu().name()),
        [state = state_]() -> Status {
          static_cast<void>(state->session.gpu().make_current());
          state->comm = {};
          return {};
        },
        {.deadline_monotonic_ns = monotonic_now_ns() + kAbortNs, .stall_ns = kAbortNs});
    if (!ended) fmt::print(stderr, "railgauge: {}\n", ended.error().message);
  }

  // The first round, then the others, where there are any.
  void report(Context& context, const char* metric, const std::vector<double>& times,
              std::uint32_t ranks) {
    const auto add = [&](const char* meaning, std::size_t begin, std::size_t end) {
      if (begin >= end) return;
      Sampled sampled;
      sampled.samples.assign(times.begin() + static_cast<std::ptrdiff_t>(begin),
                             times.begin() + static_cast<std::ptrdiff_t>(end));
      for (const double sample : sampled.samples) sampled.measure_ns += sample;
      sampled.stop_reason = "iterations";
      sampled.converged = is_precise(sampled.samples, 0, kInitPrecision);
      Point point =
          make_point({.metric = metric, .meaning = meaning, .unit = "ns"}, 0, sampled,
                     context.raw_samples, loaded_cuda().synthetic || loaded_nccl().synthetic);
      point.set_verified(true);
      (*point.mutable_facts())["ranks"] = std::to_string(ranks);
      state_->session.report(context, std::move(point));
    };
    add("first", 0, 1);
    add("again", 1, times.size());
  }

  std::shared_ptr<InitState> state_ = std::make_shared<InitState>();
  std::unique_ptr<Worker> worker_;
  std::map<std::string, std::string> parameters_;  // must be equal on all ranks
  std::uint64_t rounds_ = 0;
  double stall_ns_ = 0;
  bool opened_ = false;
  DebugOutput log_;
};

KernelInfo init_info() {
  InfoBuilder builder("nccl.init", 1,
                      "time until a communicator can be used, to split it and to end it");
  builder.ranks(1, 0)
      .endpoint("gpu")
      .metrics({kInitMetrics.begin(), kInitMetrics.end()})
      .integer("iterations", "communicators, one after the other; the first is a point of its own",
               kRounds, 1, 1000)
      .identity()
      .duration("join_timeout", "give up when a step has not ended by then", "120s", kSecond / 10,
                3600 * kSecond)
      .apply(add_environment_parameters)
      .apply(gpu::add_session_parameters);
  return builder.build();
}

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclInit{nccl::init_info, []() -> std::unique_ptr<Kernel> {
                                   return std::make_unique<nccl::InitBench>();
                                 }};
}  // namespace railgauge
