// schedules and its verbs
#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

// "" for a schedule that was never due.
std::string last_text(const ScheduleDue& due) {
  return due.due_at().empty() ? "" : fmt::format("{} {}", due.due_at(), due.run_id());
}

// "" for 0, which render_list leaves out.
std::string duration_text(double seconds) {
  return seconds > 0 ? fmt::format("{:.0f} s", seconds) : "";
}

// One line: what is next.
int print_one(const Output& output, const ScheduleInfo& schedule, const std::string& done) {
  std::string line = fmt::format("schedule {} {}", schedule.name(), done);
  if (!schedule.next_at().empty()) line += fmt::format(", next at {}", schedule.next_at());
  return print_page(output, schedule, line_of(line));
}

// One call that changes a schedule by name. Ctrl-C does not end it.
Result<int> change(Session& session, const Arguments& arguments,
                   const Rpc<ScheduleRef, ScheduleInfo>& method, const std::string& done) {
  const auto ref = request_for<ScheduleRef>(arguments.operand(0));
  return print_one(session.output, RG_TRY(call_through(session, method, ref)), done);
}

}  // namespace

Result<int> list_schedules(Session& session, const Arguments&) {
  const ScheduleList list = RG_TRY(call(session, rpc::kListSchedules, ListSchedulesRequest()));
  const Rows rows = rows_of(list.schedules(), [](const ScheduleInfo& schedule) {
    return Row({schedule.name(), schedule.suite(),
                schedule.node_set().empty() ? "all" : schedule.node_set(),
                state_cell(schedule.state()), schedule.cron(), schedule.zone(), schedule.next_at(),
                last_text(schedule.last()),
                Cell(schedule.missed() > 0 ? std::to_string(schedule.missed()) : "", Tone::kBad)});
  });
  return print_list(session.output, list, "schedules",
                    "SCHEDULE|SUITE|NODES|STATE|CRON|ZONE|NEXT|LAST|MISSED>", rows,
                    "no schedule yet; railgauge schedules add NAME SUITE --cron \"30 1 * * *\" "
                    "makes one");
}

Result<int> show_schedule(Session& session, const Arguments& arguments) {
  const ScheduleList list = RG_TRY(
      call(session, rpc::kListSchedules, request_for<ListSchedulesRequest>(arguments.operand(0))));
  if (print_document(session.output, list, "schedules")) return 0;
  const Output& output = session.output;
  for (const ScheduleInfo& schedule : list.schedules()) {
    output.out << render_list(
        {{"schedule", {schedule.name(), Tone::kHeading}},
         {"suite", schedule.suite()},
         {"nodes", schedule.node_set().empty() ? "all attached" : schedule.node_set()},
         {"state", state_cell(schedule.state())},
         {"error", {schedule.error(), Tone::kBad}},
         {"cron", fmt::format("{} ({})", schedule.cron(), schedule.zone())},
         {"jitter", duration_text(schedule.jitter_seconds())},
         {"windows", schedule.windows()},
         {"blackouts", schedule.blackouts()},
         {"concurrency", schedule.concurrency()},
         {"catch up", duration_text(schedule.catch_up_seconds())},
         {"exclusive", schedule.exclusive() ? "yes" : ""},
         {"by", schedule.created_by()},
         {"next", schedule.next_at()}},
        output.colour);
    const Rows rows = rows_of(schedule.dues(), [](const ScheduleDue& due) {
      return Row({due.due_at(), due.result(), due.run_id(), due.reason()});
    });
    output.out << render_section("DUE|RESULT|RUN|REASON", rows, output.colour);
  }
  return 0;
}

// Texts are passed on as they are: the controller parses and checks them.
Result<int> add_schedule(Session& session, const Arguments& arguments) {
  auto spec = request_for<ScheduleSpec>(arguments.operand(0));
  spec.set_suite(arguments.operand(1));
  spec.set_node_set(RG_TRY(node_set_of(arguments)));
  // The example in the message is complete and can be pasted.
  if (!arguments.has("cron"))
    return fail(Code::kInvalidArgument,
                "schedules add needs --cron, for example --cron \"30 1 * * *\"");
  spec.set_cron(arguments.value("cron"));
  spec.set_zone(arguments.value("zone"));
  spec.set_jitter_seconds(RG_TRY(seconds_of(arguments, "jitter", 0)));
  spec.set_windows(arguments.value("window"));
  spec.set_blackouts(arguments.value("blackout"));
  spec.set_concurrency(arguments.value("concurrency"));
  spec.set_catch_up_seconds(RG_TRY(seconds_of(arguments, "catch-up", 0)));
  spec.set_paused(arguments.has("paused"));
  spec.set_exclusive(arguments.has("exclusive"));
  const ScheduleInfo added = RG_TRY(call_through(session, rpc::kAddSchedule, spec));
  return print_one(session.output, added, spec.paused() ? "added, paused" : "added");
}

namespace {

// Its runs stay.
Result<int> remove_schedule(Session& session, const Arguments& arguments) {
  const auto ref = request_for<ScheduleRef>(arguments.operand(0));
  ScheduleInfo removed = RG_TRY(call_through(session, rpc::kRemoveSchedule, ref));
  removed.clear_next_at();  // there is none any more
  return print_one(session.output, removed, "removed");
}

}  // namespace

// Each word is a call of its own. Due times that passed during a pause are not made up for.
Result<int> set_schedule(Session& session, const Arguments& arguments) {
  const std::string word = arguments.operand(1);
  // The words are states: what the schedule is afterwards.
  if (word == "active") return change(session, arguments, rpc::kResumeSchedule, "resumed");
  if (word == "paused") return change(session, arguments, rpc::kPauseSchedule, "paused");
  if (word == "removed") return remove_schedule(session, arguments);
  const std::vector<std::string> known{"active", "paused", "removed"};
  return fail(Code::kInvalidArgument,
              fmt::format("schedules set: {} is none of active, paused, removed{}", in_quotes(word),
                          did_you_mean(word, known)));
}

// In addition to its due times.
Result<int> run_schedule_now(Session& session, const Arguments& arguments) {
  const auto ref = request_for<ScheduleRef>(arguments.operand(0));
  const auto started = RG_TRY(call_through(session, rpc::kRunSchedule, ref));
  if (session.output.format == Format::kTable)
    print_value(session.output, started.run_id());
  else
    print_message(session.output, started);
  return kExitPassed;
}

}  // namespace railgauge::cli
