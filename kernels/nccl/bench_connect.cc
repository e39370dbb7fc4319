// How the ranks of a collective come together: parameters, library, GPU, communicator.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/sampling.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/session/session.h"
#include "kernels/nccl/bench.h"

namespace railgauge::nccl {
namespace {

constexpr double kMaxSizeBytes = 8.0 * (1U << 30U);
constexpr const char* kSizes = "8,1KiB,64KiB,1MiB,16MiB,128MiB,512MiB";
constexpr std::int64_t kMinSamples = 40;
constexpr std::int64_t kMaxSamples = 10'000;
constexpr std::int64_t kGraphCalls = 20;
constexpr std::int64_t kMaxRoot = 65'535;
constexpr double kSecondNs = 1e9;
constexpr double kAllocateNs = 60e9;
// Of the time until the deadline: for leaving a call, the others' words and the end; for the end.
constexpr double kLastWordsNs = (kTellSeconds + 3) * kSecondNs;
constexpr double kEndNs = 2 * kSecondNs;
constexpr double kLastWordsShare = 0.2;  // where there is little
constexpr double kEndShare = 0.05;
constexpr int kFirstReducingFloat8 = 90;  // compute capability

// The same text on ranks of one host (or of one container), another one elsewhere.
std::string host_name() {
  std::array<char, 256> name{};
  static_cast<void>(gethostname(name.data(), name.size() - 1));
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return fmt::format("{} {}", name.data(), boot);
}

std::string identity_of(const gpu::Gpu& gpu) {
  return gpu.uuid().empty() ? gpu.pci_address() : gpu.uuid();
}

// Two ranks on one GPU would wait for each other for ever.
Status check_gpus(const std::vector<Told>& all) {
  std::map<std::string, std::size_t> users;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto [first, is_first] =
        users.try_emplace(all[rank].host() + " " + all[rank].gpu(), rank);
    if (!is_first)
      return fail(Code::kFailedPrecondition,
                  fmt::format("ranks {} and {}: both use {}; NCCL needs a GPU for each rank",
                              first->second, rank, all[rank].gpu()));
  }
  return {};
}

// Of the ranks of a host that were given no GPU, the first takes gpu0, and so on. Nothing where
// each is the only one of its host.
void number_gpus(const std::vector<Told>& all, Told& told) {
  std::map<std::string, std::uint32_t> next;
  std::vector<std::uint32_t> numbers;
  bool any = false;
  for (const Told& one : all) {
    numbers.push_back(one.chosen() ? 0 : next[one.host()]++);
    any = any || numbers.back() != 0;
  }
  if (any) told.mutable_gpus()->Assign(numbers.begin(), numbers.end());
}

Status check_alike(const std::vector<Told>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].parameters() != all[0].parameters())
      return fail(Code::kInvalidArgument,
                  fmt::format("rank {}: its parameters are not those of rank 0", rank));
    if (all[rank].nccl() != all[0].nccl())
      return fail(Code::kFailedPrecondition,
                  fmt::format("rank {}: it has NCCL {}, rank 0 has {}; install the same on all",
                              rank, all[rank].nccl(), all[0].nccl()));
  }
  return {};
}

// What one sample is the time of.
std::string sample_in_words(std::uint64_t graph_calls, std::uint64_t repeat) {
  if (graph_calls != 0) return fmt::format("mean of the {} calls of a graph", graph_calls);
  if (repeat == 0) return "mean of calls in a row: as many as last 1 ms, at most 20";
  return repeat == 1 ? "one call, with the stamp at its end"
                     : fmt::format("mean of {} calls in a row", repeat);
}

}  // namespace

KernelInfo info_of(const Operation& operation) {
  InfoBuilder builder(operation.name, 3, operation.summary);
  builder.ranks(1, 0)
      .endpoint("gpu")
      .metrics({"latency_ns", "algbw_bytes_per_second", "busbw_bytes_per_second"})
      .sizes(kSizes)
      .choice("datatype", "", "type of the elements", datatype_names())
      .identity();
  if (operation.reduces)
    builder.choice("reduction", "", "how elements are reduced", reduction_names()).identity();
  if (operation.rooted)
    builder.integer("root", "rank that gives, or gets", 0, 0, kMaxRoot).identity();
  if (operation.in_place)
    builder.boolean("in_place", "the result replaces the input", false).identity();
  builder.choice("mode", "", "calls one by one, or as a CUDA graph", {"events", "graph"})
      .identity()
      .integer("graph_calls", "calls in one graph", kGraphCalls, 1, 1000)
      .identity()
      .boolean("registered", "memory by NCCL, registered with the communicator", false)
      .identity()
      .integer("repeat",
               "calls in a row that share a sample, which is their mean; 0: as many as last 1 ms, "
               "at most 20",
               1, 0, 1000)
      .identity()
      .duration("stall_timeout", "give up when one sample takes longer", "60s", kSecondNs / 10,
                3600 * kSecondNs)
      .duration("join_timeout", "give up when the ranks have not joined by then", "120s",
                kSecondNs / 10, 3600 * kSecondNs)
      .boolean(
          "tell_choice",
          "one more call of each size, outside the timed ones, to learn algorithm and protocol",
          true)
      .apply(add_environment_parameters)
      .sampling("iterations", kMinSamples, kMaxSamples)
      .apply(gpu::add_session_parameters);
  KernelInfo info = builder.build();
  for (ParameterInfo& parameter : *info.mutable_parameters())
    if (parameter.name() == "sizes") parameter.set_maximum(kMaxSizeBytes);
  return info;
}

std::unique_ptr<Kernel> make_kernel(const Operation& operation) {
  return std::make_unique<CollectiveBench>(operation);
}

// GPU objects are released under their context, whichever thread ends the kernel.
CollectiveBench::~CollectiveBench() {
  give_up();
  if (opened_) static_cast<void>(rig_->session.gpu().make_current());
}

Status CollectiveBench::read_parameters(const Params& params) {
  sizes_ = params.bytes_list("sizes");
  options_ = RG_TRY(sampler_options(params));
  plan_.type = datatype_of(params.text("datatype"));
  if (operation_->reduces) plan_.reduction = reduction_of(params.text("reduction"));
  if (operation_->rooted) plan_.root = static_cast<std::uint32_t>(params.integer("root"));
  plan_.in_place = operation_->in_place && params.boolean("in_place");
  plan_.registered = params.boolean("registered");
  plan_.verify = params.boolean("verify");
  if (params.text("mode") == "graph")
    plan_.graph_calls = static_cast<std::uint64_t>(params.integer("graph_calls"));
  plan_.stall_timeout_ns = params.duration_ns("stall_timeout");
  join_timeout_ns_ = params.duration_ns("join_timeout");
  tell_choice_ = params.boolean("tell_choice");
  asked_repeat_ = static_cast<std::uint64_t>(params.integer("repeat"));
  parameters_ = params.effective();
  return {};
}

Status CollectiveBench::check_library(const Nccl& nccl) const {
  if (is_float8(plan_.type) && nccl.version_code < nc::kFirstWithFloat8)
    return fail(Code::kUnimplemented, fmt::format("NCCL {}: it has no 8-bit floating-point types; "
                                                  "2.24 and later have",
                                                  nccl.version));
  return {};
}

Status CollectiveBench::prepare(Context& context) {
  RG_TRY_OK(read_parameters(context.params));
  keep_sites_hardware_queues();
  if (context.endpoint.empty()) {
    static_cast<void>(RG_TRY(gpu::Gpu::count()));  // which one is known when the ranks have met
  } else {
    RG_TRY_OK(open_gpu(context));
  }
  RG_TRY_OK(apply_environment(context));
  log_.begin();
  const Nccl& nccl = *RG_TRY(load_nccl());
  RG_TRY_OK(check_environment(context.params, nccl.synthetic));
  RG_TRY_OK(check_library(nccl));
  context.reporter.fact("nccl", nccl.version);
  context.reporter.fact("nccl_path", nccl.path);
  context.reporter.fact("implementation", operation_->implementation(nccl));
  context.reporter.fact("buffers", plan_.registered ? "by NCCL, registered" : "by CUDA");
  context.reporter.fact("reported", "the slowest rank's iterations, by CUDA events");
  context.reporter.fact("sample", sample_in_words(plan_.graph_calls, asked_repeat_));
  return {};
}

Status CollectiveBench::connect(Context& context, Group& group) {
  if (opened_) RG_TRY_OK(rig_->session.gpu().make_current());
  const double left_ns = std::max(0.0, context.deadline_monotonic_ns - monotonic_now_ns());
  stop_monotonic_ns_ =
      context.deadline_monotonic_ns - std::min(kLastWordsNs, left_ns * kLastWordsShare);
  words_monotonic_ns_ = context.deadline_monotonic_ns - std::min(kEndNs, left_ns * kEndShare);
  Team team(group, words_monotonic_ns_);
  plan_.ranks = team.size();
  plan_.rank = team.rank();
  Status joined = join_all(context, team);
  if (!joined) give_up();
  return joined;
}

Status CollectiveBench::join_all(Context& context, Team& team) {
  const std::string unique_id = RG_TRY(meet(context, team));
  RG_TRY_OK(set_stage(context, team, unique_id));
  return first_calls(context, team);
}

// Gives the unique id of rank 0, which alone hears what all ranks are and tells what comes of it.
Result<std::string> CollectiveBench::meet(Context& context, Team& team) {
  team.begin_step("meeting");
  Told hello;
  hello.set_host(stack_hash({{"host", host_name()}}));
  hello.set_chosen(opened_);
  hello.set_nccl(loaded_nccl().version);
  hello.set_parameters(stack_hash(parameters_));
  Status ready;
  if (plan_.root >= plan_.ranks)
    ready = fail(Code::kInvalidArgument,
                 fmt::format("parameter root: {} is no rank of {}", plan_.root, plan_.ranks));
  if (ready && team.leads()) {
    auto unique_id = make_unique_id();
    if (unique_id)
      hello.set_unique_id(*unique_id);
    else
      ready = tl::unexpected(unique_id.error());
  }
  const auto met = RG_TRY(team.agree(ready, hello));
  Told numbers;
  if (team.leads()) number_gpus(met, numbers);
  const auto numbered =
      RG_TRY(team.agree(team.leads() ? check_alike(met) : Status{}, std::move(numbers)));
  Status opened;
  if (!opened_) {
    const auto& gpus = numbered.front().gpus();
    const int rank = static_cast<int>(team.rank());
    context.endpoint = fmt::format("gpu{}", rank < gpus.size() ? gpus[rank] : 0);
    opened = open_gpu(context);
  }
  Told own;
  own.set_host(hello.host());
  if (opened) own.set_gpu(identity_of(rig_->session.gpu()));
  const auto chosen = RG_TRY(team.agree(opened, own));
  RG_TRY(team.agree(team.leads() ? check_gpus(chosen) : Status{}));
  return met.front().unique_id();
}

Status CollectiveBench::open_gpu(Context& context) {
  rig_->session = RG_TRY(gpu::Session::open(context));
  opened_ = true;
  const gpu::Gpu& gpu = rig_->session.gpu();
  if (operation_->reduces && is_float8(plan_.type) && gpu.capability() < kFirstReducingFloat8)
    return fail(Code::kUnimplemented,
                fmt::format("{}: NCCL reduces 8-bit floating-point types on GPUs of compute "
                            "capability 9.0 and later; it has {}.{}",
                            gpu.name(), gpu.capability() / 10, gpu.capability() % 10));
  return {};
}

Status CollectiveBench::set_stage(Context& context, Team& team, const std::string& unique_id) {
  team.begin_step("joining the communicator");
  worker_ = std::make_unique<Worker>(rig_->progress);
  const Status joined =
      guarded(fmt::format("join {} rank{} as rank {}", plan_.ranks, plan_.ranks == 1 ? "" : "s",
                          plan_.rank),
              join_timeout_ns_, Comm::kUnwatched, [unique_id, plan = plan_](Rig& rig) -> Status {
                rig.comm = RG_TRY(Communicator::join(rig.session.gpu(), *rig.progress, plan.ranks,
                                                     plan.rank, unique_id));
                return {};
              });
  RG_TRY(team.agree(joined));
  team.begin_step("allocating memory");
  const std::uint64_t most = share_of_size(*operation_, *std::ranges::max_element(sizes_),
                                           bytes_of(plan_.type), plan_.ranks);
  const TickClock& clock = tick_clock(context);
  const Status made =
      guarded(team.step(), kAllocateNs, Comm::kWatched,
              [most, &clock, plan = plan_, operation = operation_](Rig& rig) -> Status {
                rig.stage = RG_TRY(Stage::create(rig.session.gpu(), clock, *operation, plan,
                                                 rig.comm, *rig.progress, most));
                return {};
              });
  RG_TRY(team.agree(made));
  return {};
}

// NCCL connects at the first calls, and tells then by what. Each rank sees its own connections
// only, so the path is put together of what all tell.
Status CollectiveBench::first_calls(Context& context, Team& team) {
  team.begin_step("first calls");
  const std::uint64_t count = share_of_size(*operation_, *std::ranges::max_element(sizes_),
                                            bytes_of(plan_.type), plan_.ranks);
  const Status called = guarded(team.step(), plan_.stall_timeout_ns, Comm::kWatched,
                                [count](Rig& rig) { return rig.stage->begin_size(count); });
  const Seen seen = parse_log(log_.read_new());
  Told told;
  for (std::string& kind : kinds_of(seen)) told.add_transports(std::move(kind));
  std::set<std::string> kinds;
  for (const Told& one : RG_TRY(team.agree(called, std::move(told))))
    kinds.insert(one.transports().begin(), one.transports().end());
  Told path;
  if (team.leads()) path.set_path(path_of(kinds));
  report_facts(context, seen, RG_TRY(team.agree({}, std::move(path))).front().path());
  return {};
}

void CollectiveBench::report_facts(Context& context, const Seen& seen, const std::string& path) {
  if (const std::string runs_on = rig_->stage->data_runs_on(); !runs_on.empty())
    context.reporter.fact("verified_on", runs_on);
  nccl::report(seen, context.reporter);
  if (!path.empty()) context.reporter.fact("path", path);
  const Nccl& nccl = loaded_nccl();
  if (tell_choice_ && nccl.reset_debug_init == nullptr)
    context.reporter.fact("nccl_choice",
                          fmt::format("not told: NCCL {} reads its debug settings once; 2.24 and "
                                      "later tell algorithm and protocol",
                                      nccl.version));
}

}  // namespace railgauge::nccl
