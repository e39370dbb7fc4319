#include "controller/schedule/schedules.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

void to_api(const store::DueRow& due, api::ScheduleDue& message) {
  message.set_due_at(rfc3339(due.due_at));
  message.set_result(due.result);
  if (!due.run_id.empty()) message.set_run_id(due.run_id);
  if (!due.reason.empty()) message.set_reason(due.reason);
}

api::ScheduleInfo to_api(const store::ScheduleRow& row, double now) {
  api::ScheduleInfo info;
  info.set_schema_version(kSchemaVersion);
  info.set_name(row.name);
  info.set_suite(row.suite);
  info.set_state(row.paused ? "paused" : "active");
  info.set_cron(row.cron);
  info.set_zone(row.zone);
  info.set_missed(row.missed);
  info.set_node_set(row.node_set);
  info.set_jitter_seconds(row.jitter_seconds);
  info.set_windows(row.windows);
  info.set_blackouts(row.blackouts);
  info.set_concurrency(row.concurrency);
  info.set_catch_up_seconds(row.catch_up_seconds);
  info.set_exclusive(row.exclusive);
  info.set_created_by(row.created_by);
  if (row.last) to_api(*row.last, *info.mutable_last());
  const auto schedule = run::compile(schedule_text_of(row));
  if (!schedule) {
    info.set_state("broken");
    info.set_error(schedule.error().message);
  } else if (!row.paused) {
    if (const auto next = run::next_start(*schedule, std::max(row.decided_until, now)))
      info.set_next_at(rfc3339(next->start_at));
  }
  return info;
}

Error as_wrong_use(Error error) {
  if (error.code == Code::kNotFound || error.code == Code::kAlreadyExists)
    error.code = Code::kInvalidArgument;
  return error;
}

}  // namespace

run::ScheduleText schedule_text_of(const store::ScheduleRow& row) {
  return {.name = row.name,
          .cron = row.cron,
          .zone = row.zone,
          .jitter_seconds = row.jitter_seconds,
          .windows = row.windows,
          .blackouts = row.blackouts,
          .concurrency = row.concurrency,
          .catch_up_seconds = row.catch_up_seconds};
}

// --- starting
// -------------------------------------------------------------------------------------

void Schedules::tick(double now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // the tick before is still at it
  go_on(now);
  const auto rows = store_.list_schedules();
  if (!rows) return spdlog::warn("schedules: {}", rows.error().message);
  std::erase_if(late_starts_, [&](const auto& one) {
    return std::ranges::find(*rows, one.first, &store::ScheduleRow::name) == rows->end();
  });
  for (const store::ScheduleRow& row : *rows)
    if (!row.paused) decide(row, now);
}

bool Schedules::under_way(const store::ScheduleRow& row) {
  if (!row.last) return false;
  return loop_.call([&] { return director_.summary(row.last->run_id).has_value(); });
}

void Schedules::decide(const store::ScheduleRow& row, double now) {
  const auto schedule = run::compile(schedule_text_of(row));
  if (!schedule) return;  // `schedules list` says it is broken: its zone is gone from tzdata
  const run::ScheduleState idle{.decided_until = row.decided_until};
  if (run::decide(*schedule, idle, now).empty()) return;
  const run::ScheduleState state{.decided_until = row.decided_until,
                                 .run_under_way = under_way(row)};
  for (const run::Decision& decision : run::decide(*schedule, state, now))
    carry_out(row, decision, decision.due_at + run::jitter_of(*schedule, decision.due_at), now);
}

void Schedules::carry_out(const store::ScheduleRow& row, const run::Decision& decision,
                          double start_at, double now, std::optional<std::uint64_t> spent) {
  if (decision.kind != run::Decision::Kind::kStart) {
    const bool missed = decision.kind == run::Decision::Kind::kMiss;
    const Status decided = store_.decide_due(row.name, {.due_at = decision.due_at,
                                                        .result = missed ? "missed" : "skipped",
                                                        .reason = decision.reason,
                                                        .spent = spent});
    if (!decided) return spdlog::warn("schedule {}: {}", row.name, decided.error().message);
    return report(row, decision);
  }
  const auto started =
      start(row, fmt::format("schedule {}", row.name),
            {.schedule = row.name, .due_at = decision.due_at, .reason = decision.reason});
  // Only once the new one waits behind it: what cannot be replaced goes on.
  if (started && decision.replace && row.last) {
    const auto cancelled = control_.cancel_run(
        row.last->run_id, fmt::format("schedule {}, for run {}", row.name, started->run_id()));
    if (!cancelled) spdlog::warn("schedule {}: {}", row.name, cancelled.error().message);
  }
  if (started || started.error().code == Code::kAlreadyExists) return;
  spdlog::warn("schedule {}: {}", row.name, started.error().message);
  if (may_try_again(row, decision, start_at, now)) return;
  // A slice of which nobody is there must not be waited for: the others would never be measured.
  const bool nobody = started.error().code == Code::kOutOfRange;
  carry_out(row,
            {run::Decision::Kind::kMiss, decision.due_at,
             fmt::format("not started: {}", started.error().message)},
            start_at, now, nobody ? std::optional(row.started) : std::nullopt);
}

// Whether the next tick would still be in time for it.
bool Schedules::may_try_again(const store::ScheduleRow& row, const run::Decision& decision,
                              double start_at, double now) {
  constexpr double kMargin = 2 * kRetrySeconds;
  const bool makes_up = !decision.reason.empty();  // it was late before
  if (!makes_up) return now <= start_at + run::kInTimeSeconds - kMargin;
  LateStart& late = late_starts_[row.name];
  if (late.due_at != decision.due_at) late = {.due_at = decision.due_at, .tried_at = now};
  return now <= late.tried_at + run::kInTimeSeconds - kMargin &&
         now <= decision.due_at + row.catch_up_seconds - kMargin;
}

Result<api::RunSummary> Schedules::start(const store::ScheduleRow& row, const std::string& who,
                                         store::ScheduleClaim claim) {
  api::RunRequest request;
  request.mutable_suite()->set_name(row.suite);
  request.set_node_set(row.node_set);
  request.set_exclusive(row.exclusive);
  request.set_skip_absent(true);
  request.set_trigger("schedule");
  claim.number = row.started;
  return control_.start_run(request, who, std::move(claim));
}

void Schedules::report(const store::ScheduleRow& row, const run::Decision& decision) {
  const bool missed = decision.kind == run::Decision::Kind::kMiss;
  const std::string text = fmt::format("schedule {}: due at {}: {}", row.name,
                                       rfc3339(decision.due_at), decision.reason);
  if (!missed) return spdlog::info("{}", text);
  spdlog::warn("{}", text);
  static_cast<void>(
      store_.add_event({.at = fleet::unix_seconds(), .kind = "schedule_missed", .text = text}));
}

// --- what people ask
// ------------------------------------------------------------------------------

Result<store::ScheduleRow> Schedules::find(const std::string& name) {
  std::vector<std::string> names;
  for (store::ScheduleRow& row : RG_TRY(store_.list_schedules())) {
    if (row.name == name) return std::move(row);
    names.push_back(row.name);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("there is no schedule {}{}", in_quotes(name), did_you_mean(name, names)));
}

Result<api::ScheduleInfo> Schedules::info(const std::string& name) {
  return to_api(RG_TRY(find(name)), fleet::unix_seconds());
}

Result<api::ScheduleList> Schedules::list(const std::string& name) {
  api::ScheduleList list;
  list.set_schema_version(kSchemaVersion);
  if (!name.empty()) {
    api::ScheduleInfo& one = *list.add_schedules();
    one = RG_TRY(info(name));
    for (const store::DueRow& due : RG_TRY(store_.list_dues(name, kShownDues)))
      to_api(due, *one.add_dues());
    return list;
  }
  const double now = fleet::unix_seconds();
  for (const store::ScheduleRow& row : RG_TRY(store_.list_schedules()))
    *list.add_schedules() = to_api(row, now);
  return list;
}

Result<api::ScheduleInfo> Schedules::add(const api::ScheduleSpec& spec, const std::string& who) {
  const double now = fleet::unix_seconds();
  store::ScheduleRow row{.name = spec.name(),
                         .suite = spec.suite(),
                         .node_set = spec.node_set(),
                         .exclusive = spec.exclusive(),
                         .cron = spec.cron(),
                         .zone = spec.zone().empty() ? "UTC" : spec.zone(),
                         .jitter_seconds = spec.jitter_seconds(),
                         .windows = spec.windows(),
                         .blackouts = spec.blackouts(),
                         .concurrency = spec.concurrency().empty() ? "skip" : spec.concurrency(),
                         .catch_up_seconds = spec.catch_up_seconds(),
                         .paused = spec.paused(),
                         .created_at = now,
                         .created_by = who,
                         .decided_until = now};
  if (const auto sound = run::compile(schedule_text_of(row)); !sound)
    return tl::unexpected(sound.error());
  api::SuiteSource source;
  source.set_name(row.suite);
  if (const auto known = control_.check_suite(source); !known)
    return tl::unexpected(as_wrong_use(known.error()));
  if (RG_TRY(store_.list_schedules()).size() >= kMaxSchedules)
    return fail(
        Code::kResourceExhausted,
        fmt::format("there are {} schedules already, as many as there may be", kMaxSchedules));
  if (const Status added = store_.add_schedule(row); !added)
    return tl::unexpected(as_wrong_use(added.error()));
  return info(row.name);
}

Result<api::ScheduleInfo> Schedules::set_paused(const std::string& name, bool paused) {
  RG_TRY(find(name));
  RG_TRY_OK(store_.set_schedule_paused(name, paused));
  return info(name);
}

Result<api::ScheduleInfo> Schedules::remove(const std::string& name) {
  api::ScheduleInfo before = RG_TRY(info(name));
  RG_TRY_OK(store_.remove_schedule(name));
  return before;
}

Result<api::RunSummary> Schedules::run_now(const std::string& name, const std::string& who) {
  const store::ScheduleRow row = RG_TRY(find(name));
  return start(row, who,
               {.schedule = name,
                .due_at = fleet::unix_seconds(),
                .reason = fmt::format("by hand, {}", who),
                .by_hand = true});
}

}  // namespace railgauge
