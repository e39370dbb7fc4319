// The steps of one kernel, with the clock, the records and the phases around them.
#include "kernels/runner/task/run.h"

#include <algorithm>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/slice_words.h"
#include "kernels/core/text/text.h"
#include "kernels/runner/task/phase_timer.h"
#include "kernels/runner/task/slices.h"

namespace railgauge {
namespace {

// Long enough for 50 ppm against two reads of some 100 ns, short enough to hide in prepare; the
// whole run is checked again at its end.
constexpr double kCalibrationSeconds = 0.02;
// A preempted read shows as drift once; real drift shows every time.
constexpr int kDriftReads = 5;

// A clock that is calibrated during prepare and the wait for the other ranks, which need only
// coarse time: until adopt(), clock() reads CLOCK_MONOTONIC_RAW.
class BackgroundClock {
 public:
  // Starts the calibration at once.
  BackgroundClock()
      : thread_([this] {
          calibrated_ = TickClock::calibrate({.calibration_seconds = kCalibrationSeconds});
        }) {}
  ~BackgroundClock() {
    if (thread_.joinable()) thread_.join();
  }

  TickClock& clock() { return clock_; }
  // Waits for the calibration; from here on clock() reads the CPU's counter where that is sound.
  void adopt() {
    thread_.join();
    clock_ = calibrated_;
  }

 private:
  TickClock clock_;
  TickClock calibrated_;
  std::thread thread_;
};

// A reporter that converts a kernel's reports to records; facts are collected until started().
class RecordReporter final : public Reporter {
 public:
  // `records` outlives it.
  RecordReporter(RecordWriter& records, bool raw_samples, KernelInfo info, Started started)
      : records_(records),
        raw_samples_(raw_samples),
        on_gpu_(info.endpoint_kind() == "gpu"),
        info_(std::move(info)),
        started_(std::move(started)) {}
  // The controller takes declared metrics only.
  void point(Point point) override {
    RG_CHECK(std::ranges::find(info_.metrics(), point.metric()) != info_.metrics().end());
    if (!raw_samples_) point.clear_samples();
    records_.point(std::move(point));
  }
  void note(std::string_view severity, std::string text) override {
    records_.note(severity, std::move(text));
  }
  // The started record is written once, so a late fact becomes a note.
  void fact(std::string_view name, std::string value) override {
    if (taken_)  // too late for the started record, but not lost
      return note("info", fmt::format("{}: {}", name, value));
    (*started_.mutable_facts())[std::string(name)] = std::move(value);
  }
  [[nodiscard]] const KernelInfo& kernel() const { return info_; }
  // The slices that this rank's facts name; "" without one.
  [[nodiscard]] std::string slices() const {
    return value_of(started_.facts(), std::string(kSliceFact));
  }
  // The slices of the task, for the identity of its series; before started().
  void set_slices(std::string slices) {
    (*started_.mutable_parameters())[std::string(kSliceParameter)] = std::move(slices);
  }
  // Once; later calls do nothing.
  void started() {
    if (taken_) return;
    taken_ = true;
    name_endpoint();
    records_.started(std::move(started_));
  }

 private:
  // As opened: the request may name no port, or nothing at all.
  void name_endpoint() {
    const std::string device = value_of(started_.facts(), "device");
    const std::string port = value_of(started_.facts(), "port");
    if (!device.empty() && !port.empty())
      started_.set_endpoint(device + ":" + port);
    else if (!device.empty() && on_gpu_)
      started_.set_endpoint(device);
  }

  RecordWriter& records_;
  const bool raw_samples_;
  const bool on_gpu_;  // the task's endpoint is one GPU, which has no port
  const KernelInfo info_;
  Started started_;
  bool taken_ = false;
};

// Runs one step of a kernel and converts exceptions to errors.
template <class Step>
Status guarded(const char* act, Step step) {
  try {
    return step();
  } catch (const std::exception& thrown) {
    return fail(Code::kInternal, "{}: threw {}", act, thrown.what());
  } catch (...) {
    return fail(Code::kInternal, "{}: threw no exception of std", act);
  }
}

// Adds the facts about the clock of this run.
void add_clock_facts(const TickClock& clock, Reporter& reporter) {
  reporter.fact("clock_source", clock.source());
  reporter.fact("clock_overhead_ns", fmt::format("{:.1f}", clock.overhead_ns()));
  reporter.fact("clock_granularity_ns", fmt::format("{:.1f}", clock.granularity_ns()));
  if (!clock.fallback_reason().empty())
    reporter.fact("clock_fallback_reason", clock.fallback_reason());
}

// The least of several reads counts.
Status check_drift(const TickClock& clock) {
  double drift = clock.drift_ppm();
  for (int i = 1; i < kDriftReads && std::fabs(drift) > TickClock::kMaxDriftPpm; ++i)
    drift = clock.drift_ppm();
  return drift_status(clock.source(), drift);
}

// Runs all steps of a kernel, from its creation to its destruction.
Status run_steps(const Task& task, Group& group, RecordWriter& records, const Ready& ready,
                 RecordReporter& reporter, PhaseTimer& timer, Kernel& kernel) {
  BackgroundClock clock;
  // The context is valid until the kernel is destroyed.
  Context context{
      task.params,      reporter,    clock.clock(), task.endpoint, task.deadline_monotonic_ns,
      task.raw_samples, group.rank()};
  // The clock calibrates meanwhile; prepare needs coarse time alone.
  const Status prepared = guarded("prepare", [&] { return kernel.prepare(context); });
  timer.lap(&Phases::set_open_ns);
  // Called after an error too, because the other ranks need it.
  const Status go = ready(prepared);
  if (prepared && go) clock.adopt();
  timer.lap(&Phases::set_wait_ns);
  RG_TRY_OK(prepared);
  RG_TRY_OK(go);
  add_clock_facts(clock.clock(), reporter);
  const Status connected = guarded("connect", [&]() -> Status {
    RG_TRY_OK(kernel.connect(context, group));
    std::string slices =
        RG_TRY(slices_of_task(context, group, reporter.kernel(), reporter.slices()));
    if (!slices.empty()) reporter.set_slices(std::move(slices));
    return {};
  });
  // After connect, whose facts belong to the started record.
  reporter.started();
  timer.lap(&Phases::set_exchange_ns);
  RG_TRY_OK(connected);
  const Status measured = guarded("measure", [&] { return kernel.measure(context, group); });
  timer.lap(&Phases::set_measure_ns);
  RG_TRY_OK(measured);
  // A kernel that passes without a figure would count as a healthy path.
  if (group.rank() == 0 && records.point_count() == 0)
    return fail(Code::kInternal, "measured nothing: the kernel reported no point");
  return check_drift(clock.clock());
}

}  // namespace

Status drift_status(std::string_view source, double drift_ppm) {
  if (std::fabs(drift_ppm) <= TickClock::kMaxDriftPpm) return {};
  return fail(Code::kInternal,
              "clock {}: drifted {:.0f} ppm against CLOCK_MONOTONIC_RAW during the run; at most "
              "{:.0f} are allowed",
              source, drift_ppm, TickClock::kMaxDriftPpm);
}

Started started_of(const Task& task, std::uint32_t ranks) {
  const KernelInfo info = task.row.info();
  Started started;
  started.set_kernel(info.name());
  started.set_revision(info.revision());
  started.set_size(ranks);
  started.set_endpoint(task.endpoint);
  started.mutable_parameters()->insert(task.params.effective().begin(),
                                       task.params.effective().end());
  auto& facts = *started.mutable_facts();
  facts["railgauge_version"] = RAILGAUGE_VERSION;
  for (const auto& [name, value] : task.facts) facts[name] = value;
  return started;
}

// The started record is written on every path, also for a kernel that could not be made.
Status run_kernel(const Task& task, Group& group, RecordWriter& records, const Ready& ready) {
  PhaseTimer timer(records, task);
  RecordReporter reporter(records, task.raw_samples, task.row.info(),
                          started_of(task, group.size()));
  std::unique_ptr<Kernel> kernel;
  Status ended = guarded("make", [&]() -> Status {
    kernel = task.row.make();
    return {};
  });
  show_slice(task.params, task.row.info());
  if (ended) ended = run_steps(task, group, records, ready, reporter, timer, *kernel);
  reporter.started();  // a waived task has a started record too
  // Teardown is a phase of its own; a crash in it leaves the points that were written before.
  kernel.reset();
  timer.lap(&Phases::set_stop_ns);
  return ended;
}

// The outcome and the exit code of an error's code.
int finish_task(const Status& ended, RecordWriter& records) {
  if (ended) {
    records.finish(kPassed, {});
    return kExitPassed;
  }
  records.finish(outcome_of(ended.error().code), ended.error().message);
  return exit_code_of(ended.error());
}

}  // namespace railgauge
