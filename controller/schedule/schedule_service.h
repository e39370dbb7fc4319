// Starts suites by schedule and answers the calls about schedules. Called on worker threads. Every
// decision is written to the store, so no state here has to survive a restart.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "controller/api/control.pb.h"
#include "controller/control/control.h"
#include "controller/fleet/event_loop.h"
#include "controller/schedule/schedule.h"
#include "controller/store/store.h"

namespace railgauge {

// Thread safe: one tick runs at a time, and calls work on the store.
class ScheduleService {
 public:
  // The most schedules of a controller.
  static constexpr std::size_t kMaxSchedules = 200;
  // The due times that list() shows for one schedule, the newest first.
  static constexpr std::uint32_t kShownDues = 20;
  static constexpr double kRetrySeconds = 5;         // longest time between two calls of tick()
  static constexpr std::size_t kMaxResumedRuns = 3;  // of one due time

  // All references outlive it.
  ScheduleService(fleet::EventLoop& loop, run::Director& director, Control& control,
                  store::Store& store)
      : loop_(loop), director_(director), control_(control), store_(store) {}
  // Set it before the first tick.
  void on_act(OwnAct record) { record_ = std::move(record); }

  // Decides each schedule that became due up to `now` (unix seconds). A start that fails is tried
  // again at the next tick while it is still in time; after that the due time counts as missed. A
  // late start for a missed due time gets the same length of time from its first try, because after
  // a power cut the controller is up before its nodes are.
  // The first ticks also resume runs, those of run_now() too, that a stop or crash of the previous
  // controller interrupted: a new run measures the missing tasks, once for each interruption and at
  // most kMaxResumedRuns times. If a resumed run would no longer be valid, the due time counts as
  // missed, with the reason.
  void tick(double now);
  // When a schedule starts next after `now`; absent: none does.
  [[nodiscard]] std::optional<double> next_start(double now) const;

  // All schedules, or the named one with its newest due times. kInvalidArgument: no such schedule.
  Result<api::ScheduleList> list(const std::string& name);
  // kInvalidArgument: a wrong schedule or suite, or the name is taken. kResourceExhausted:
  // kMaxSchedules.
  Result<api::ScheduleInfo> add(const api::ScheduleSpec& spec, const std::string& who);
  Result<api::ScheduleInfo> set_paused(const std::string& name, bool paused);
  Result<api::ScheduleInfo> remove(const std::string& name);
  // Starts the schedule's suite at once; no due time is decided by it.
  Result<api::RunSummary> run_now(const std::string& name, const std::string& who);

 private:
  // Resumes unfinished runs of the previous controller, until each is resumed or given up.
  void resume_runs(double now);
  bool resume_run(const store::ScheduleRow& row, const store::BrokenOffRow& broken, double now);
  Result<bool> try_to_resume(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                             double now);
  Result<bool> waits_for_nodes(const std::string& run_id, double now);
  void decide(const store::ScheduleRow& row, double now);
  // Starts, skips or misses a due time. `spent`: the number of a slice that is skipped.
  void carry_out(const store::ScheduleRow& row, const run::Decision& decision, double start_at,
                 double now, std::optional<std::uint64_t> spent = {});
  [[nodiscard]] bool may_try_again(const store::ScheduleRow& row, const run::Decision& decision,
                                   double start_at, double now);
  bool under_way(const store::ScheduleRow& row);

  fleet::EventLoop& loop_;
  run::Director& director_;
  Control& control_;
  store::Store& store_;
  OwnAct record_ = [](const std::string&, const std::string&, const Status&) {};
  // A start for a missed due time that failed and is tried again.
  struct LateStart {
    double due_at = 0;
    double tried_at = 0;  // the first try, unix seconds
  };
  std::mutex mutex_;                              // one tick at a time; guards the members below
  std::map<std::string, LateStart> late_starts_;  // by schedule
  bool all_resumed_ = false;                      // the interrupted runs; later ticks have none
  double first_tick_at_ = 0;
};

}  // namespace railgauge
