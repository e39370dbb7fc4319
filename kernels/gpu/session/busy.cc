// The judgement of other users of a GPU, before and during a measurement.
#include "kernels/gpu/session/busy.h"

#include <time.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include <fmt/format.h>

#include "kernels/gpu/reuse.h"

namespace railgauge::gpu {
namespace {

// Utilisation up to this percentage counts as idle.
constexpr unsigned kIdlePercent = 10;
// The driver's utilisation covers up to one second. The load of a moment ago fades within these
// tries: 15 naps of 100 ms.
constexpr int kSettleTries = 15;
constexpr long kSettleNapNs = 100'000'000;

// The GPUs, by PCI address, that this process measured on. NVML's view of the last second may be
// its own work there, where contexts are kept from one kernel to the next. Thread safe.
class MeasuredHere {
 public:
  bool contains(const std::string& address) {
    const std::lock_guard lock(mutex_);
    return addresses_.contains(address);
  }
  void add(const std::string& address) {
    const std::lock_guard lock(mutex_);
    addresses_.insert(address);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> addresses_;
};
// The process's one set.
MeasuredHere& measured_here() {
  static MeasuredHere measured;
  return measured;
}

// Percent of the time, if it stays above kIdlePercent for longer than a job of a moment ago can
// explain; else 0.
unsigned lasting_utilization(const Gpu& gpu) {
  for (int tries = 0;; ++tries) {
    const auto percent = gpu_utilization_percent(gpu.pci_address());
    if (!percent || *percent <= kIdlePercent) return 0;
    if (tries == kSettleTries) return *percent;
    const timespec nap{.tv_sec = 0, .tv_nsec = kSettleNapNs};
    nanosleep(&nap, nullptr);
  }
}

// Words for the other users of the GPU, or "". Without a process that NVML shows, a lasting load
// counts as a user.
std::string other_use(const Gpu& gpu, GpuUsage usage, std::span<const unsigned> partners) {
  const std::size_t all = usage.processes.size();
  std::erase_if(usage.processes, [&](const ml::Process& process) {
    return std::ranges::find(partners, process.pid) != partners.end();
  });
  if (!usage.processes.empty()) return users_in_words(usage);
  // A partner's work before this process looked may be the load.
  if (all != 0 || (warm() && measured_here().contains(gpu.pci_address()))) return "";
  if (const unsigned percent = lasting_utilization(gpu); percent != 0)
    return fmt::format("a process that NVML does not show ({} % of the time)", percent);
  return "";
}

// Waives for a partitioned GPU of which no slice was taken, and for a used one unless `busy` is
// measure. Then the use is a fact and a warning.
Status judge(const Context& context, const Gpu& gpu, const GpuUsage& usage,
             std::span<const unsigned> partners) {
  if (usage.mig && gpu.slice().empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: open: the GPU is partitioned (MIG is on), and a slice has a part "
                            "of the copy engines and of the memory; measure with MIG off",
                            gpu.name()));
  if (!gpu.slice().empty())
    context.reporter.note("warning",
                          fmt::format("{}: a slice ({}) of a partitioned GPU, whose other slices "
                                      "share its PCIe link",
                                      gpu.name(), gpu.slice()));
  const std::string users = other_use(gpu, usage, partners);
  if (users.empty()) {
    if (!usage.told)
      context.reporter.fact(gpu.name() + "_in_use_by",
                            "unknown: NVML does not tell its processes here");
    return {};
  }
  if (context.params.text("busy") == "waive")
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: it is in use by {}; wait until it is free, or measure beside it "
                            "with busy=measure",
                            gpu.name(), users));
  context.reporter.fact(gpu.name() + "_in_use_by", users);
  context.reporter.note("warning",
                        fmt::format("{}: measured while in use by {}", gpu.name(), users));
  return {};
}

}  // namespace

void add_busy_parameter(InfoBuilder& builder, WhenBusy when) {
  std::vector<std::string> words{"waive", "measure"};
  if (when == WhenBusy::kMeasure) std::ranges::reverse(words);
  builder.choice("busy", "", "what to do when another process uses the GPU", words);
}

Status judge_newcomers(const Context& context, const Gpu& gpu, const std::string& users) {
  if (context.params.text("busy") == "waive")
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: {} came to use it while it was measured, so the figure is not "
                            "kept; measure again when it is free, or beside it with busy=measure",
                            gpu.name(), users));
  context.reporter.note(
      "warning", fmt::format("{}: {} came to use it while it was measured", gpu.name(), users));
  return {};
}

// A GPU that NVML does not know is not judged.
Status check_busy(const Context& context, const Gpu& gpu, const std::vector<GpuUsage>& before,
                  std::span<const unsigned> partners) {
  const auto usage = std::ranges::find(before, gpu.pci_address(), &GpuUsage::pci_address);
  // Without an entry NVML gives no answer.
  if (usage != before.end()) RG_TRY_OK(judge(context, gpu, *usage, partners));
  measured_here().add(gpu.pci_address());  // only once it was accepted
  return {};
}

}  // namespace railgauge::gpu
