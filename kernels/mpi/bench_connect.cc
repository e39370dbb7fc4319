// What comes before an MPI task is timed: its memory, MPI itself, and whether that may be given
// device pointers.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/binding/launched.h"
#include "kernels/mpi/info.h"
#include "kernels/mpi/tunables.h"

namespace railgauge::mpi {
namespace {

// On how many CPUs this rank may run: what its launcher made of `binding`.
void report_binding(Reporter& reporter) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0)
    reporter.fact("bound_cpus", fmt::format("{}", CPU_COUNT(&cpus)));
}

std::string words_of(const std::optional<bool>& answer) {
  return answer ? (*answer ? "yes" : "no") : "does not say";
}

}  // namespace

Status Bench::prepare(Context& context) {
  mpi_ = linked();
  if (mpi_ == nullptr)
    return fail(Code::kUnimplemented,
                fmt::format("{0}: this program has no MPI; start `mpirun -n 2 "
                            "railgauge-runner-openmpi {0}` or `mpiexec -n 2 railgauge-runner-mpich "
                            "{0}`",
                            operation_.name));
  RG_TRY_OK(mpi_->load());
  if (const std::string& wanted = context.params.text("mpi"); wanted != mpi_->implementation())
    return fail(Code::kInvalidArgument,
                fmt::format("parameter mpi: this program has {}; railgauge-runner-{} has the other",
                            mpi_->implementation(), wanted));
  const auto launched = launched_rank(process_environment());
  if (!launched)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{0}: no launcher started this process; start `{1} -n 2 "
                    "railgauge-runner-{2} {0}`",
                    operation_.name, mpi_->implementation() == "mpich" ? "mpiexec" : "mpirun",
                    mpi_->implementation()));
  rank_ = launched->rank;
  ranks_ = launched->size;
  if (operation_.figure == Figure::kRate && ranks_ % 2 != 0)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{}: {} ranks make no pairs; name an even number", operation_.name, ranks_));
  const Params& params = context.params;
  sizes_ = operation_.sized ? params.bytes_list("sizes") : std::vector<std::uint64_t>{0};
  if (operation_.windowed) window_ = static_cast<std::uint64_t>(params.integer("window"));
  if (operation_.rooted) root_ = static_cast<std::uint32_t>(params.integer("root"));
  if (root_ >= ranks_)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: root {} is none of {} ranks", operation_.name, root_, ranks_));
  for (const std::uint64_t bytes : sizes_)
    if (operation_.reduces && bytes % sizeof(float) != 0)
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: a size of {} is no whole number of 32-bit floats",
                              operation_.name, canonical_bytes(bytes)));
  verify_ = params.boolean("verify");
  options_ = RG_TRY(sampler_options(params));
  context.reporter.fact("local_rank", fmt::format("{}", launched->local_rank));
  report_binding(context.reporter);
  RG_TRY_OK(set_tunables(context, launched->local_rank));
  return open_memory(context);
}

// Before MPI_Init, which reads them.
Status Bench::set_tunables(Context& context, std::uint32_t local_rank) {
  const auto& given = context.params.effective();
  bool any = false;
  for (const std::string_view name : kTunables) any = any || !context.params.is_default(name);
  // Of either side: an MPI that has to be told of GPUs is told so on both.
  const bool gpu =
      operation_.sized && context.params.text("gpu_path") == "direct" &&
      (context.params.text("memory") != "host" || (context.params.text("peer_memory") != "same" &&
                                                   context.params.text("peer_memory") != "host"));
  if (!any && !gpu) return {};
  std::set<std::string> known;
  if (any && mpi_->implementation() == "openmpi")
    known = RG_TRY(mpi_->controls_among(open_mpi_parameters()));
  const auto has = [&known](const std::string& name) { return known.contains(name); };
  const Flavour flavour = RG_TRY(flavour_of(mpi_->facts(), context.params.text("layer"), has));
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

Status Bench::open_memory(Context& context) {
  if (operation_.sized) {
    const std::string& peer = context.params.text("peer_memory");
    memory_ = memory_of(rank_ == 0 || peer == "same" ? context.params.text("memory") : peer);
    staged_ = context.params.text("gpu_path") == "staged";
    const std::string& target = peer == "same" ? context.params.text("memory") : peer;
    target_staged_ = staged_ && operation_.exposed != Exposed::kNothing && target != "host";
  }
  if (on_gpu()) {
    const auto launched = launched_rank(process_environment());
    std::string endpoint = context.endpoint;
    if (endpoint.empty()) {
      const int gpus = std::max(1, RG_TRY(gpu::Gpu::count()));
      endpoint = fmt::format("gpu{}", launched->local_rank % static_cast<std::uint32_t>(gpus));
    }
    gpu_ = RG_TRY(gpu::Gpu::open(endpoint));
    gpu_.report_facts(context.reporter);
  }
  std::uint64_t send_bytes = 0;
  std::uint64_t receive_bytes = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    send_bytes = std::max(send_bytes, operation_.send_bytes(share_of(i)));
    receive_bytes = std::max(receive_bytes, operation_.receive_bytes(share_of(i)));
  }
  send_ = RG_TRY(Area::allocate(memory_, staged_, gpu_.name(), send_bytes));
  receive_ = RG_TRY(Area::allocate(memory_, staged_, gpu_.name(), receive_bytes));
  context.reporter.fact("memory", send_.observed());
  if (on_gpu()) context.reporter.fact("gpu_path", staged_ ? "staged" : "direct");
  if (target_staged_)
    context.reporter.fact("one_sided_staging",
                          "the target copies to or from its GPU when a message tells it to, within "
                          "the time");
  return {};
}

Status Bench::connect(Context& context, Group& group) {
  RG_TRY_OK(mpi_->init());
  for (const auto& [name, value] : mpi_->facts()) context.reporter.fact(name, value);
  mpi_->reserve(2 * window_);
  ticks_.reserve(options_.batch + 1);
  RG_TRY_OK(check_same_mpi(group));
  const Status cuda = check_cuda(context);
  // Before one rank is left alone in a call.
  const auto all = RG_TRY(group.exchange(cuda ? "" : cuda.error().message, kExchangeSeconds));
  RG_TRY_OK(cuda);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty())
      return fail(Code::kFailedPrecondition, fmt::format("rank {}: {}", i, all[i]));
  return {};
}

Status Bench::check_same_mpi(Group& group) {
  const auto facts = mpi_->facts();
  const auto all = RG_TRY(group.exchange(facts.at("mpi_version"), kExchangeSeconds));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != all.front())
      return fail(Code::kFailedPrecondition,
                  fmt::format("rank 0 has {} and rank {} has {}; install the same on both nodes",
                              all.front(), i, all[i]));
  return {};
}

// Device pointers given to an MPI that does not know them end in a crash.
Status Bench::check_cuda(Context& context) {
  const CudaSupport support = mpi_->cuda_support();
  context.reporter.fact("mpi_built_with_cuda", words_of(support.built));
  context.reporter.fact("mpi_cuda_enabled", words_of(support.enabled));
  if (!on_gpu() || staged_ || support.usable()) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("{} ({}): not CUDA-aware: built with CUDA: {}, enabled here: {}; install "
                          "one built --with-cuda, or say gpu_path=staged",
                          mpi_->facts().at("mpi_version"), mpi_->facts().at("mpi_library"),
                          words_of(support.built), words_of(support.enabled)));
}

}  // namespace railgauge::mpi
