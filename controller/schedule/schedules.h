// Starts suites by schedule and answers what people ask about schedules. Called on worker threads;
// what is decided stands in the store, so that nothing here has to survive.
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

run::ScheduleText schedule_text_of(const store::ScheduleRow& row);

class Schedules {
 public:
  static constexpr std::size_t kMaxSchedules = 200;
  static constexpr std::uint32_t kShownDues = 20;
  static constexpr double kRetrySeconds = 5;    // at least so often is tick() called
  static constexpr std::size_t kMostRests = 3;  // of one due time

  // Everything outlives it.
  Schedules(fleet::EventLoop& loop, run::Director& director, Control& control, store::Store& store)
      : loop_(loop), director_(director), control_(control), store_(store) {}

  // Decides what became due up to `now` (unix seconds). One that cannot be started is tried again
  // at the next tick as long as it would be in time, and is a missed one then. One that makes up
  // for a missed one is tried for as long from its first try on: after a power cut the controller
  // is there before its nodes are.
  // First of all it goes on with runs that the controller before broke off, by its stop or its
  // crash: what a due time's run left is measured by a run that takes its place, once for each
  // time that it was broken off and at most kMostRests times. Where that is not sound any more the
  // due time is a missed one, with the reason.
  void tick(double now);

  Result<api::ScheduleList> list(const std::string& name);
  Result<api::ScheduleInfo> add(const api::ScheduleSpec& spec, const std::string& who);
  Result<api::ScheduleInfo> set_paused(const std::string& name, bool paused);
  Result<api::ScheduleInfo> remove(const std::string& name);
  Result<api::RunSummary> run_now(const std::string& name, const std::string& who);

 private:
  void go_on(double now);
  bool go_on_with(const store::ScheduleRow& row, const store::BrokenOffRow& broken, double now);
  Result<std::string> why_not(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                              std::size_t rests, double now);
  Result<std::size_t> rests_before(std::string run_id);
  Result<bool> has_a_rest(const std::string& run_id);
  Result<bool> waits_for_nodes(const std::string& run_id, double now);
  Status start_rest(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                    std::size_t rests);
  void give_up(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
               const std::string& why);
  void decide(const store::ScheduleRow& row, double now);
  void carry_out(const store::ScheduleRow& row, const run::Decision& decision, double start_at,
                 double now, std::optional<std::uint64_t> spent = {});
  Result<api::RunSummary> start(const store::ScheduleRow& row, const std::string& who,
                                store::ScheduleClaim claim);
  [[nodiscard]] bool may_try_again(const store::ScheduleRow& row, const run::Decision& decision,
                                   double start_at, double now);
  void report(const store::ScheduleRow& row, const run::Decision& decision);
  Result<store::ScheduleRow> find(const std::string& name);
  Result<api::ScheduleInfo> info(const std::string& name);
  bool under_way(const store::ScheduleRow& row);

  fleet::EventLoop& loop_;
  run::Director& director_;
  Control& control_;
  store::Store& store_;
  struct LateStart {
    double due_at = 0;
    double tried_at = 0;  // first
  };
  std::mutex mutex_;                              // one tick at a time; guards all below
  std::map<std::string, LateStart> late_starts_;  // that could not be made up for yet, by schedule
  bool all_gone_on_ = false;  // with what the controller before broke off; none comes in our life
  double first_tick_at_ = 0;
};

}  // namespace railgauge
