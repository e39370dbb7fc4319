// Going on with runs that a schedule had started and the controller's own end broke off.
#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/control/run_tasks.h"
#include "controller/plan/suite/suite.h"
#include "controller/schedule/schedules.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr double kLookBackSeconds = 7 * 24 * 3600.0;
constexpr std::uint32_t kNewestRuns = 500;  // among them is a rest that somebody started by hand

// A person, or the run that replaced it: then nobody wants the rest.
bool was_cancelled(const std::string& reason) {
  constexpr std::string_view kWords = "cancelled by ";
  return reason.starts_with(kWords) ||
         reason.find(fmt::format("; {}", kWords)) != std::string::npos;
}

// What is said of the due time, without what was said of its earlier rests and with more to come.
std::string said_before(const std::string& reason) {
  const std::string before = reason.substr(0, reason.find(run::rest_text("")));
  return before.empty() || before.ends_with("; ") ? before : before + "; ";
}

}  // namespace

void Schedules::go_on(double now) {
  if (all_gone_on_) return;
  if (first_tick_at_ == 0) first_tick_at_ = now;
  const auto rows = store_.list_schedules();
  const auto all = store_.broken_off(now - kLookBackSeconds);
  if (!rows || !all)
    return spdlog::warn("schedules: {}", (rows ? all.error() : rows.error()).message);
  bool all_gone_on = true;
  for (const store::BrokenOffRow& broken : *all) {
    const auto row = std::ranges::find(*rows, broken.schedule, &store::ScheduleRow::name);
    if (row != rows->end() && !go_on_with(*row, broken, now)) all_gone_on = false;
  }
  all_gone_on_ = all_gone_on;
}

// False: it is to be tried again at the next tick.
bool Schedules::go_on_with(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                           double now) {
  const std::string& run_id = broken.due.run_id;
  const auto again = [&](const Error& error) {
    spdlog::warn("schedule {}: the rest of run {}: {}", row.name, run_id, error.message);
    return false;
  };
  if (was_cancelled(broken.run_reason)) return true;
  const auto has_rest = has_a_rest(run_id);
  if (!has_rest) return again(has_rest.error());
  if (*has_rest) return true;
  const auto rests = rests_before(run_id);
  if (!rests) return again(rests.error());
  const auto why = why_not(row, broken, *rests, now);
  if (!why) return again(why.error());
  if (!why->empty()) {
    give_up(row, broken, *why);
    return true;
  }
  const auto waits = waits_for_nodes(run_id, now);
  if (!waits) return again(waits.error());
  if (*waits) return false;
  const Status started = start_rest(row, broken, *rests);
  if (started || started.error().code == Code::kAlreadyExists) return true;
  const bool may_pass = started.error().code == Code::kUnavailable ||
                        started.error().code == Code::kResourceExhausted;
  if (may_pass && now <= first_tick_at_ + run::kInTimeSeconds) return again(started.error());
  give_up(row, broken, started.error().message);
  return true;
}

// Why its rest is not to be measured; "": it is.
Result<std::string> Schedules::why_not(const store::ScheduleRow& row,
                                       const store::BrokenOffRow& broken, std::size_t rests,
                                       double now) {
  if (row.paused) return "the schedule is paused";
  const auto schedule = run::compile(schedule_text_of(row));
  if (!schedule) return schedule.error().message;
  std::string why = run::why_not_go_on(*schedule, broken.due.due_at, now);
  if (!why.empty()) return why;
  if (rests >= kMostRests) return fmt::format("it was gone on with {} times already", kMostRests);
  const bool by_hand_since =
      row.last && row.last->due_at > broken.due.due_at && row.last->result == "by_hand";
  if (by_hand_since && schedule->concurrency != run::Concurrency::kQueue)
    return fmt::format("run {} was started by hand since", row.last->run_id);
  const auto suite = control_.suite_text(row.suite);
  if (!suite) return suite.error().message;
  if (!plan::is_same_suite(RG_TRY(store_.read(store::read_suite_text, broken.due.run_id)), *suite))
    return fmt::format("suite {} has changed since", row.suite);
  return "";
}

// Of which the run is the rest, counted up to the most that matter.
Result<std::size_t> Schedules::rests_before(std::string run_id) {
  std::size_t rests = 0;
  for (; rests < kMostRests; ++rests) {
    run_id = RG_TRY(store_.run_summary(run_id)).run.parent_run_id;
    if (run_id.empty()) break;
  }
  return rests;
}

// That is not the due time's: somebody was faster.
Result<bool> Schedules::has_a_rest(const std::string& run_id) {
  const auto runs = RG_TRY(store_.list_runs(kNewestRuns));
  return std::ranges::any_of(
      runs, [&](const store::RunSummaryRow& row) { return row.run.parent_run_id == run_id; });
}

// What the tasks of a node want that is not there yet would be waived.
Result<bool> Schedules::waits_for_nodes(const std::string& run_id, double now) {
  if (now > first_tick_at_ + run::kInTimeSeconds - 2 * kRetrySeconds) return false;
  std::vector<std::string> nodes = RG_TRY(store_.run_summary(run_id)).run.nodes;
  const api::NodeList known = RG_TRY(control_.list_nodes({}));
  for (const api::NodeInfo& node : known.nodes())
    if (node.state() == "attached") std::erase(nodes, node.name());
  return !nodes.empty();
}

Status Schedules::start_rest(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                             std::size_t rests) {
  api::RunRequest request;
  request.set_resume_run_id(broken.due.run_id);
  request.set_exclusive(row.exclusive);
  request.set_trigger("schedule");
  store::ScheduleClaim claim{.schedule = row.name, .due_at = broken.due.due_at};
  claim.goes_on_with = broken.due.run_id;
  claim.note = fmt::format(", which a restart of the controller broke off ({} of at most {} rests)",
                           rests + 1, kMostRests);
  claim.reason = fmt::format("{}{}{}", said_before(broken.due.reason),
                             run::rest_text(broken.due.run_id), claim.note);
  const auto run = RG_TRY(control_.start_run(request, fmt::format("schedule {}", row.name), claim));
  const std::string text = fmt::format("schedule {}: due at {}: run {} is {}", row.name,
                                       rfc3339(broken.due.due_at), run.run_id(), claim.reason);
  spdlog::info("{}", text);
  static_cast<void>(store_.add_event({.at = fleet::unix_seconds(),
                                      .kind = "schedule_resumed",
                                      .run_id = run.run_id(),
                                      .text = text}));
  return {};
}

void Schedules::give_up(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                        const std::string& why) {
  const std::string& run_id = broken.due.run_id;
  const std::string reason = fmt::format(
      "{}run {} was broken off by a restart of the controller and is not gone on with: {}; "
      "railgauge runs resume {} measures its rest",
      said_before(broken.due.reason), run_id, why, run_id);
  const Status said = store_.say_of_started(
      row.name,
      {.due_at = broken.due.due_at, .result = "missed", .run_id = run_id, .reason = reason});
  if (!said) return spdlog::warn("schedule {}: {}", row.name, said.error().message);
  report(row, {run::Decision::Kind::kMiss, broken.due.due_at, reason});
}

}  // namespace railgauge
