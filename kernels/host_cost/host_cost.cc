// A look before, a recorder beside, and a point of the slots.
#include "kernels/host_cost/host_cost.h"

#include <chrono>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/sampling.h"

namespace railgauge {
namespace {

// Long against the 10 ms in which the Linux kernel counts; ten slots in the 2 s of a rate.
constexpr double kSlotNs = 200e6;

// A container shares its host's, as it shares the CPU times.
std::string own_boot() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace

void add_host_cost(InfoBuilder& builder) {
  builder.boolean(kHostCostParameter,
                  "also measure the CPU time of the whole host for each byte, at both ends: "
                  "threads, softirqs and interrupts; needs hosts that are otherwise idle, and says "
                  "most with poll=events where that is a parameter",
                  false);
}

bool wants_host_cost(const Params& params) {
  const auto found = params.effective().find(kHostCostParameter);
  return found != params.effective().end() && params.boolean(kHostCostParameter);
}

void HostCostMeter::look_before() {
  if (!wanted_) return;
  words_ = {};
  words_.set_boot(own_boot());
  words_.set_slot_ns(kSlotNs);
  const auto before = read_host_cpu();
  const double begin_ns = monotonic_now_ns();
  std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(kSlotNs));
  const auto after = read_host_cpu();
  if (!before || !after) {
    words_.set_reason((before ? after : before).error().message);
    return;
  }
  words_.set_busy_before((after->busy_ns - before->busy_ns) / (monotonic_now_ns() - begin_ns));
  if (words_.busy_before() > kMostBusyBefore)
    words_.set_reason(
        fmt::format("{:.2f} CPUs are busy without it, at most {} may be: the host is "
                    "not idle",
                    words_.busy_before(), kMostBusyBefore));
}

void HostCostMeter::start() {
  if (!wanted_ || !words_.reason().empty() || recorder_ != nullptr) return;
  auto started = HostCpuRecorder::start(kSlotNs);
  if (started)
    recorder_ = std::move(*started);
  else
    words_.set_reason(started.error().message);
}

HostCostWords HostCostMeter::stop() {
  if (recorder_ == nullptr) return words_;
  const HostCpuSlots slots = recorder_->stop();
  recorder_.reset();
  words_.mutable_busy()->Assign(slots.busy.begin(), slots.busy.end());
  words_.set_softirq(slots.mean_softirq);
  words_.set_irq(slots.mean_irq);
  if (slots.busy.empty())
    words_.set_reason(
        fmt::format("the transfer was shorter than a slot of {:.0f} ms", kSlotNs / 1e6));
  return words_;
}

std::optional<Point> host_cost_point(const HostCostWords& words, double bytes_per_second,
                                     const std::string& end, std::uint64_t message_bytes,
                                     std::string& refusal) {
  HostCpuSlots slots;
  slots.busy.assign(words.busy().begin(), words.busy().end());
  Sampled sampled;
  sampled.samples = cost_per_byte(slots, words.busy_before(), bytes_per_second);
  refusal = words.reason();
  if (refusal.empty() && sampled.samples.empty()) refusal = "nothing moved";
  if (!refusal.empty()) return std::nullopt;
  sampled.stop_reason = "iterations";
  sampled.measure_ns = words.slot_ns() * static_cast<double>(sampled.samples.size());
  Point point = make_point({.metric = kHostCostMetric, .meaning = end, .unit = "ns_per_byte"},
                           message_bytes, sampled, false, false);
  auto& facts = *point.mutable_facts();
  facts["busy_cpus_before"] = fmt::format("{:.3f}", words.busy_before());
  facts["softirq_cpus"] = fmt::format("{:.3f}", words.softirq());
  facts["interrupt_cpus"] = fmt::format("{:.3f}", words.irq());
  facts["slot_ms"] = fmt::format("{:.0f}", words.slot_ns() / 1e6);
  return point;
}

void report_host_costs(Reporter& reporter, const std::string& who,
                       std::span<const HostCostWords> by_rank, const CostlyTransfer& transfer) {
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const std::string end = rank == 0 ? "initiator" : "target";
    std::string refusal;
    auto point = host_cost_point(by_rank[rank], transfer.bytes_per_second, end,
                                 transfer.message_bytes, refusal);
    if (!point) {
      reporter.note("warning",
                    fmt::format("{}: no {} of the {}: {}", who, kHostCostMetric, end, refusal));
      continue;
    }
    if (transfer.is_synthetic) point->set_synthetic(true);
    const bool is_one_host = by_rank.size() > 1 && by_rank.front().boot() == by_rank.back().boot();
    (*point->mutable_facts())["hosts"] =
        is_one_host ? "one, whose CPUs do the work of both ends" : "one of each end";
    reporter.point(std::move(*point));
  }
}

}  // namespace railgauge
