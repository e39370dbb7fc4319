// Writes and reads schedules. The writers run inside the writer's transaction, the readers inside a
// snapshot.
#pragma once

#include <string_view>
#include <vector>

#include "controller/store/rows/schedule_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

inline constexpr double kMissedDays = 30;          // span of a schedule's count of missed due times
inline constexpr std::uint32_t kMaxDueRows = 400;  // rows kept for each schedule

// Stores a new schedule. kAlreadyExists: the name is taken.
Status write_schedule(Connection& connection, const ScheduleRow& schedule);
// Pauses or resumes a schedule; after a resume, due times count from `now`. kNotFound: no such
// schedule.
Status write_schedule_paused(Connection& connection, std::string_view name, bool paused,
                             double now);
Status remove_schedule(Connection& connection, std::string_view name);  // kNotFound
// Claims a due time for a run. kNotFound: no such schedule. kFailedPrecondition: the schedule is
// paused; a start by hand is allowed. kAlreadyExists: the due time is decided already, or belongs
// to another run than the one that the claim resumes.
Status claim_due(Connection& connection, const ScheduleClaim& claim, std::string_view run_id,
                 double now);
// Stores the decision on a due time without a run. Errors: those of claim_due().
Status write_due(Connection& connection, std::string_view name, const DueRow& due, double now);
// Sets result and reason of a due time that was started with due.run_id. kNotFound: the due time
// was not started, or belongs to another run.
Status write_started_due(Connection& connection, std::string_view name, const DueRow& due);

Result<std::vector<ScheduleRow>> read_schedules(Connection& connection, double now);  // by name
Result<std::vector<DueRow>> read_dues(Connection& connection, std::string_view name,
                                      std::uint32_t limit);  // newest first
// Returns due times after `since` whose run lost tasks to a stop or a crash of the controller,
// oldest first. Covers all schedules; starts by hand are left out.
Result<std::vector<BrokenOffRow>> read_broken_off(Connection& connection, double since);

}  // namespace railgauge::store
