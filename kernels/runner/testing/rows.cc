#include "kernels/runner/testing/rows.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/stats/stats.h"

namespace railgauge::testing_rows {
namespace {

constexpr double kExchangeSeconds = 10;

double left_seconds(const Context& context) {
  return std::min(kExchangeSeconds, (context.deadline_monotonic_ns - monotonic_now_ns()) / 1e9);
}

// Acts at the named step: "none", or "STEP_WHAT". The parameter `act` applies to all ranks; where
// it is "none", an endpoint applies to its own rank.
Status act(const Context& context, std::string_view step) {
  const std::string& given = context.params.text("act");
  const std::string& asked = context.endpoint.empty() || given != "none" ? given : context.endpoint;
  if (!asked.starts_with(step)) return {};
  const std::string what = asked.substr(step.size() + 1);
  if (what == "waive") return fail(Code::kNotFound, "device none0: not found");
  if (what == "corrupt") return fail(Code::kDataLoss, "byte 17 is 0x00; 0x2a was written");
  if (what == "throw") throw std::runtime_error("a library's exception");
  if (what == "kill") std::raise(SIGKILL);  // a sanitizer would catch SIGSEGV
  if (what == "exit") std::exit(0);         // as libraries do
  if (what == "hang") {
    context.reporter.note("info", "hanging");
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if (what == "print") std::puts("a library prints here");
  return {};
}

class TestKernel : public Kernel {
 public:
  explicit TestKernel(bool bandwidth) : bandwidth_(bandwidth) {}
  Status prepare(Context& context) override {
    context.reporter.fact("memory", "host");
    context.reporter.fact("path", "none");
    if (bandwidth_) context.reporter.fact("port_rate_bits_per_second", "100000000000");
    return act(context, "prepare");
  }
  Status connect(Context& context, Group& group) override {
    RG_TRY_OK(act(context, "connect"));
    const std::string mine = fmt::format("from {}", group.rank());
    const auto all = RG_TRY(group.exchange(mine, left_seconds(context)));
    for (std::uint32_t i = 0; i < group.size(); ++i)
      if (all[i] != fmt::format("from {}", i))
        return fail(Code::kInternal, "rank {} sent \"{}\"", i, all[i]);
    return {};
  }
  Status measure(Context& context, Group& group) override {
    if (group.rank() == 0)
      for (const std::uint64_t size : context.params.bytes_list("sizes")) report(context, size);
    RG_TRY_OK(act(context, "measure"));
    const auto pause = std::chrono::duration<double>(context.params.number("seconds"));
    std::this_thread::sleep_for(pause);
    return group.barrier(left_seconds(context));
  }

 private:
  // Made-up samples, marked so.
  void report(Context& context, std::uint64_t size) const {
    Point point;
    point.set_metric(bandwidth_ ? "bandwidth_bytes_per_second" : "latency_ns");
    point.set_meaning(bandwidth_ ? "unidirectional" : "half_rtt");
    point.set_unit(bandwidth_ ? "bytes_per_second" : "ns");
    point.set_larger_is_better(bandwidth_);
    point.set_message_bytes(static_cast<double>(size));
    point.set_synthetic(true);
    point.set_verified(true);
    point.set_converged(true);
    point.set_stop_reason("converged");
    std::vector<double> samples;
    constexpr int kSamples = 1000;
    samples.reserve(kSamples);
    for (int i = 0; i < kSamples; ++i)
      samples.push_back(bandwidth_ ? 11e9 + 1e6 * i
                                   : 1500 + i % 100 + static_cast<double>(size) / 8);
    summarize(samples, point);
    point.mutable_samples()->Assign(samples.begin(), samples.end());
    context.reporter.point(std::move(point));
  }
  const bool bandwidth_;
};

void add_parameter(KernelInfo& info, const char* name, const char* type, const char* value,
                   const char* summary) {
  ParameterInfo& parameter = *info.add_parameters();
  parameter.set_name(name);
  parameter.set_type(type);
  parameter.set_default_value(value);
  parameter.set_summary(summary);
}

KernelInfo info_of(const char* name, const char* summary, std::uint32_t ranks, bool bandwidth) {
  KernelInfo info;
  info.set_name(name);
  info.set_revision(1);
  info.set_summary(summary);
  info.set_min_ranks(ranks);
  info.set_max_ranks(ranks);
  info.set_endpoint_kind("nic");
  info.add_metrics(bandwidth ? "bandwidth_bytes_per_second" : "latency_ns");
  add_parameter(info, "sizes", "bytes_list", "8,64KiB", "message sizes");
  info.mutable_parameters(0)->set_unit("bytes");
  info.mutable_parameters(0)->set_minimum(1);
  info.mutable_parameters(0)->set_maximum(1 << 20);
  info.mutable_parameters(0)->set_identity(true);
  add_parameter(info, "seconds", "number", "0", "how long measuring pretends to take");
  info.mutable_parameters(1)->set_minimum(0);
  info.mutable_parameters(1)->set_maximum(60);
  add_parameter(info, "act", "text", "none", "what goes wrong: STEP_WHAT");
  add_parameter(info, "relaxed_ordering", "boolean", "false", "a switch");
  return info;
}

template <bool kBandwidth>
std::unique_ptr<Kernel> make() {
  return std::make_unique<TestKernel>(kBandwidth);
}

}  // namespace

std::span<const KernelRow> rows() {
  static constexpr std::array kRows{
      KernelRow{[] { return info_of("test.bandwidth", "pretends bandwidth", 2, true); },
                make<true>},
      KernelRow{[] { return info_of("test.latency", "pretends latency", 2, false); }, make<false>},
      KernelRow{[] { return info_of("test.local", "pretends alone", 1, false); }, make<false>}};
  return kRows;
}

}  // namespace railgauge::testing_rows
