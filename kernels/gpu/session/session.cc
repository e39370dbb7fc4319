// The session's opening and its judgement of each interval.
#include "kernels/gpu/session/session.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "kernels/core/slice_words.h"
#include "kernels/core/text/text.h"
#include "kernels/dl/nvml.h"
#include "kernels/gpu/ceiling/link_ceiling.h"
#include "kernels/gpu/session/busy.h"
#include "kernels/gpu/session/health.h"
#include "kernels/gpu/session/placement.h"
#include "kernels/gpu/session/usage.h"
#include "kernels/gpu/slice.h"
#include "kernels/memory/numa.h"

namespace railgauge::gpu {
namespace {

// The GPUs of the parameter `gpus`: "all", or a list in the syntax of CPU lists. A GPU named twice
// is kInvalidArgument.
// The GPUs of these UUIDs, in that order.
Result<std::vector<Gpu>> open_named(const std::string& chosen, Slices slices) {
  std::vector<Gpu> all = RG_TRY(Gpu::open_all(slices));
  std::vector<Gpu> gpus;
  for (const std::string_view uuid : split(chosen, ',')) {
    if (std::ranges::find(gpus, uuid, &Gpu::uuid) != gpus.end())
      return fail(Code::kInvalidArgument, fmt::format("gpus: {} is named twice", in_quotes(uuid)));
    const auto gpu = std::ranges::find(all, uuid, &Gpu::uuid);
    if (gpu == all.end())
      return fail(Code::kInvalidArgument,
                  fmt::format("gpus: no GPU here has the UUID {}; `nvidia-smi -L` lists them",
                              in_quotes(uuid)));
    gpus.push_back(std::move(*gpu));
    all.erase(gpu);
  }
  return gpus;
}

Result<std::vector<Gpu>> open_chosen(const std::string& chosen, Slices slices) {
  if (chosen == "all") return Gpu::open_all(slices);
  if (chosen.starts_with("GPU-")) return open_named(chosen, slices);
  const auto indexes = parse_cpu_list(chosen);
  if (!indexes || indexes->empty())
    return fail(Code::kInvalidArgument,
                fmt::format("gpus: {} is neither \"all\" nor a list as \"0,2,3\" or of UUIDs",
                            in_quotes(chosen)));
  std::vector<Gpu> gpus;
  for (const int index : *indexes) {
    if (std::ranges::find(gpus, index, &Gpu::index) != gpus.end())
      return fail(Code::kInvalidArgument, fmt::format("gpus: gpu{} is named twice", index));
    gpus.push_back(RG_TRY(Gpu::open(fmt::format("gpu{}", index), slices)));
  }
  return gpus;
}

// Kernels without the parameter open no session, and refuse slices.
Slices slices_of(const Context& context) {
  return context.params.text(kSlicesParameter) == kMeasureSlices ? Slices::kTake : Slices::kRefuse;
}

// Adds the present and the best PCIe link as a fact, where the machine reports them.
void report_link(Reporter& reporter, const Gpu& gpu, const std::string& fact) {
  if (const std::string words = link_in_words(gpu.pci_address()); !words.empty())
    reporter.fact(fact, words);
}

// Facts of the first GPU, as of a single one; facts of several have the GPU's name in front.
void report_facts(Reporter& reporter, std::span<const Gpu> gpus) {
  gpus.front().report_facts(reporter);
  if (gpus.size() == 1) {
    report_link(reporter, gpus.front(), "pcie_link");
    return;
  }
  std::string all;
  for (const Gpu& gpu : gpus) {
    all += (all.empty() ? "" : ",") + gpu.name();
    reporter.fact(gpu.name() + "_pci_address", gpu.pci_address());
    report_link(reporter, gpu, gpu.name() + "_pcie_link");
    if (!gpu.uuid().empty()) reporter.fact(gpu.name() + "_uuid", gpu.uuid());
    if (gpu.model() != gpus.front().model()) reporter.fact(gpu.name() + "_model", gpu.model());
  }
  reporter.fact("device", all);
}

// By the slices' UUIDs, whose figures would mix without them. Nothing for whole GPUs.
Status report_slices(Reporter& reporter, std::span<const Gpu> gpus) {
  std::string all;
  for (const Gpu& gpu : gpus) {
    const std::string slice = RG_TRY(slice_uuid(gpu));
    if (!slice.empty()) all += (all.empty() ? "" : ",") + slice;
  }
  if (!all.empty()) reporter.fact(kSliceFact, std::move(all));
  return {};
}

// CUDA shows one slice, as gpu0 whatever GPU it is of. The series is of the slot of that name, so
// that a slice of another GPU must not get it. `known`: the host's GPUs in NVML's order, which
// names them.
Status check_slice_place(const Gpu& gpu, std::span<const GpuUsage> known) {
  if (gpu.slice().empty()) return {};
  const auto of = std::ranges::find(known, gpu.pci_address(), &GpuUsage::pci_address);
  if (of == known.end())
    return fail(Code::kFailedPrecondition,
                "{}: open: NVML does not list the GPU of this slice, at {}, so that its figures "
                "have no place",
                gpu.name(), gpu.pci_address());
  const std::string name = fmt::format("gpu{}", of - known.begin());
  if (name == gpu.name()) return {};
  return fail(Code::kFailedPrecondition,
              "{}: open: the slice that CUDA shows is of {}, at {}; its figures would be those of "
              "{}: slices are measured on a host's first GPU alone",
              gpu.name(), name, gpu.pci_address(), gpu.name());
}

}  // namespace

// Behind a pointer, so that the session can move while the watch's thread runs.
struct Session::State {
  std::vector<Gpu> gpus;
  Placement placement;
  std::optional<HealthWatch> watch;
  std::vector<GpuUsage> before;  // who used them when the session opened
  std::string in_use_by;         // who came in the interval that ended last
  bool synthetic = false;

  // The order matters: the use of the GPUs is judged before anything is placed, and the watch
  // begins with contexts in place.
  static Result<std::unique_ptr<State>> make(Context& context, std::vector<Gpu> gpus,
                                             std::vector<GpuUsage> before, Apart apart) {
    auto state = std::make_unique<State>();
    state->gpus = std::move(gpus);
    report_facts(context.reporter, state->gpus);
    RG_TRY_OK(report_slices(context.reporter, state->gpus));
    for (const Gpu& gpu : state->gpus) RG_TRY_OK(check_slice_place(gpu, before));
    std::vector<std::string> addresses;
    for (const Gpu& gpu : state->gpus) addresses.push_back(gpu.pci_address());
    state->before = learn_own_number(std::move(before), addresses);
    for (const Gpu& gpu : state->gpus) RG_TRY_OK(check_busy(context, gpu, state->before));
    state->placement = RG_TRY(place(context, state->gpus, "/sys", apart));
    const bool still = context.params.text("watch") == "still";
    state->watch.emplace(state->gpus,
                         still ? HealthWatch::Watching::kStill : HealthWatch::Watching::kRunning);
    const std::string& blind = state->watch->blind();
    context.reporter.fact("nvml", blind.empty() ? loaded_nvml().version : "not asked: " + blind);
    state->synthetic = loaded_cuda().synthetic || (blind.empty() && loaded_nvml().synthetic);
    RG_TRY_OK(state->gpus.front().make_current());
    return state;
  }
};

namespace {

// `busy` changes no figure of an idle GPU; `watch` may move the tails of short ones. The first word
// of `watch` is its default.
void add_parameters(InfoBuilder& builder, const std::vector<std::string>& watch,
                    WhenBusy when_busy = WhenBusy::kWaive) {
  add_busy_parameter(builder, when_busy);
  builder
      .choice("numa", "", "NUMA node of the CPU's side, as seen from the GPU",
              {"near", "far", "any"})
      .identity()
      .choice(std::string(kSlicesParameter), "",
              "what to do with a slice of a partitioned GPU (MIG); measure: its figures are of the "
              "slice, a series of its own",
              {"waive", std::string(kMeasureSlices)})
      .identity()
      .text(std::string(kSliceParameter),
            "with slices=measure the slice to measure, by its UUID (MIG-3f1c...); empty takes the "
            "one that CUDA shows. The series has it in both cases",
            "")
      .identity()
      .integer("beside",
               "other GPUs of the node that are measured at the same time; a plan with together "
               "sets it",
               0, 0, 255)
      .identity()
      .choice("watch", "",
              "NVML beside the samples: running reads clocks every 5 to 100 ms; still reads before "
              "and after, and NVML's counters of throttled time cover the samples",
              watch)
      .identity();
}

}  // namespace

void add_session_parameters(InfoBuilder& builder) { add_parameters(builder, {"running", "still"}); }

void add_still_session_parameters(InfoBuilder& builder) {
  add_parameters(builder, {"still", "running"});
}

void add_shared_session_parameters(InfoBuilder& builder) {
  add_parameters(builder, {"still", "running"}, WhenBusy::kMeasure);
}

void add_gpus_parameter(InfoBuilder& builder) {
  builder.text("gpus", "which GPUs: all, or a list of numbers as 0,2,3 or of UUIDs", "all")
      .identity();
}

// Defined here, where State is complete.
Session::Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

// The usage is read before the context exists: afterwards this process is a user itself.
Result<Session> Session::open(Context& context) {
  auto before = gpu_usage();
  std::vector<Gpu> gpus;
  gpus.push_back(RG_TRY(Gpu::open(context.endpoint, slices_of(context))));
  Session session;
  session.state_ =
      RG_TRY(State::make(context, std::move(gpus), std::move(before), Apart::kUnbound));
  return session;
}

// The same for several GPUs. Fewer than `minimum` waive.
Result<Session> Session::open_several(Context& context, std::size_t minimum, Apart apart) {
  auto before = gpu_usage();
  std::vector<Gpu> gpus = RG_TRY(open_chosen(context.params.text("gpus"), slices_of(context)));
  if (gpus.size() < minimum)
    return fail(Code::kFailedPrecondition,
                fmt::format("gpus {}: {} of them, and this kernel measures between at least {}",
                            context.params.text("gpus"), gpus.size(), minimum));
  Session session;
  session.state_ = RG_TRY(State::make(context, std::move(gpus), std::move(before), apart));
  return session;
}

std::span<const Gpu> Session::gpus() const { return state_->gpus; }

Status Session::check_host_memory(Context& context, std::span<std::byte> memory,
                                  const std::string& fact) const {
  return check_host_pages(context.reporter, fact, state_->placement.host, gpu().name(), memory);
}

void Session::begin_point() {
  state_->in_use_by.clear();
  state_->watch->begin();
}

void Session::end_point() { state_->watch->end(); }

// Judges each GPU by itself; the fact in_use_by names all newcomers.
Status Session::check_undisturbed(Context& context) {
  for (const Gpu& gpu : gpus()) {
    const GpuUsage came =
        newcomers(state_->before, gpu.pci_address(), state_->watch->processes(gpu.name()));
    if (came.processes.empty()) continue;
    const std::string who = users_in_words(came);
    RG_TRY_OK(judge_newcomers(context, gpu, who));
    state_->in_use_by +=
        fmt::format("{}{}: {}", state_->in_use_by.empty() ? "" : "; ", gpu.name(), who);
  }
  return {};
}

Result<Sampled> Session::sample(Context& context, const SamplerOptions& options,
                                const Sampler::Batch& batch, const Sampler::Ready& ready) {
  Sampled sampled = RG_TRY(Sampler(context.clock, options).run(batch, [&]() -> Status {
    begin_point();
    return ready();
  }));
  end_point();
  RG_TRY_OK(check_undisturbed(context));
  return sampled;
}

// A point of an interval that is still open ends it.
void Session::report(Context& context, Point point) {
  state_->watch->end();
  state_->watch->add_to(point);
  if (!state_->in_use_by.empty()) (*point.mutable_facts())["in_use_by"] = state_->in_use_by;
  if (state_->synthetic) point.set_synthetic(true);
  context.reporter.point(std::move(point));
}

}  // namespace railgauge::gpu
