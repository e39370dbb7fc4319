// run: plan, start, wait, report
#include <array>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/live/follow.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/report/run_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr int kNodesWithoutAsking = 16;
constexpr double kLongestWaitSeconds = 24 * 3600;

// Prints the plan before anything starts. Errors: a run on many nodes that nobody named.
Status plan(Session& session, const RunRequest& request, bool all) {
  const RunPlan planned = RG_TRY(plan_run(session, request));
  print_notice(session.output, plan_line(planned));
  // A whole cluster is never used by accident.
  if (request.node_set().empty() && !all && planned.nodes_size() > kNodesWithoutAsking)
    return fail(
        Code::kInvalidArgument,
        fmt::format("suite {} would use all {} nodes; name them (--nodes SET) or give --all",
                    planned.suite(), planned.nodes_size()));
  return {};
}

// The flags of every start. Force only with its reason, and no reason without it: it would be
// thought to do something.
Result<RunRequest> request_of(const Arguments& arguments) {
  if (arguments.has("force") != arguments.has("reason"))
    return fail(Code::kInvalidArgument,
                arguments.has("force") ? "--force needs --reason TEXT, which is kept with the run"
                                       : "--reason says why a run is forced; it needs --force");
  RunRequest request;
  request.set_trigger("cli");
  request.set_exclusive(arguments.has("exclusive"));
  request.set_force(arguments.has("force"));
  request.set_force_reason(arguments.value("reason"));
  return request;
}

// After the first Ctrl-C: detach, unless the second comes soon.
Result<int> detach_or_cancel(Session& session, const std::string& run_id) {
  const int seen = session.interrupts.presses();
  // The first Ctrl-C detaches; a second one within linger_seconds cancels.
  if (seen < 2) {
    print_notice(session.output,
                 fmt::format("run {} continues; cancel it with: {} (or press Ctrl-C again within "
                             "{:.0f} s)",
                             run_id, cancel_command(session, run_id), session.linger_seconds));
    session.interrupts.wait_beyond(seen, session.linger_seconds);
  }
  if (session.interrupts.presses() < 2)
    return fail(Code::kCancelled, fmt::format("detached from run {}, which continues", run_id));
  print_notice(session.output, fmt::format("run {}: cancelling", run_id));
  const auto cancelled = cancel_run(session, run_id);
  if (!cancelled) {
    // Interrupted it was, whatever became of the cancel: 130 comes first of a mixture.
    return fail(Code::kCancelled, cancelled.error().message);
  }
  const int outcome = RG_TRY(report_run(session, run_id));
  return combine_exit_codes(std::array{+kExitInterrupted, outcome});
}

Detail detail_of(const Arguments& arguments) {
  return arguments.has("verbose") ? Detail::kAll : Detail::kSummary;
}

// Waits and maps the end to an exit code. `owner` is the process that started the run: only its
// Ctrl-C may cancel.
Result<int> follow_to_the_end(Session& session, const std::string& run_id, double wait_seconds,
                              Detail detail, bool owner) {
  const Followed followed = RG_TRY(follow_run(session, run_id, wait_seconds, 0, detail));
  switch (followed.end) {
    case FollowEnd::kRunEnded:
      return report_run(session, run_id);
    case FollowEnd::kInterrupted:
      if (owner) return detach_or_cancel(session, run_id);
      return fail(Code::kCancelled,
                  fmt::format("stopped waiting; run {} continues; cancel it with: {}", run_id,
                              cancel_command(session, run_id)));
    case FollowEnd::kTerminated:
      return fail(Code::kCancelled, fmt::format("terminated; run {} continues; cancel it with: {}",
                                                run_id, cancel_command(session, run_id)));
    case FollowEnd::kTimeUp:
      break;
  }
  return fail(Code::kDeadlineExceeded,
              fmt::format("run {}: still \"{}\" after {}; it continues; cancel it with: {}", run_id,
                          followed.run.state(), seconds_text(wait_seconds),
                          cancel_command(session, run_id)));
}

// The start ignores Ctrl-C: it has to be known whether the run exists.
Result<int> start(Session& session, const Arguments& arguments, const RunRequest& request,
                  double wait_seconds) {
  const auto started = RG_TRY(call_through(session, rpc::kStartRun, request));
  if (arguments.has("detach")) {
    const Output& output = session.output;
    if (output.format == Format::kJson || output.format == Format::kNdjson)
      print_message(output, started);
    else
      print_value(output, started.run_id());
    return kExitPassed;
  }
  std::string rest;
  if (!request.resume_run_id().empty())
    rest = fmt::format(": {} that run {} left", counted(started.tasks_total(), "task"),
                       request.resume_run_id());
  print_notice(session.output, fmt::format("run {} started{}", started.run_id(), rest));
  for (const std::string& text : started.left_out()) print_notice(session.output, text);
  return follow_to_the_end(session, started.run_id(), wait_seconds, detail_of(arguments), true);
}

}  // namespace

// Options are checked before the plan, so that wrong use costs no call.
Result<int> run_suite(Session& session, const Arguments& arguments) {
  RunRequest request = RG_TRY(request_of(arguments));
  *request.mutable_suite() = RG_TRY(suite_to_run(arguments));
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  const double wait_seconds = RG_TRY(seconds_of(arguments, "wait", kLongestWaitSeconds));
  RG_TRY_OK(plan(session, request, arguments.has("all")));
  if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted, nothing ran");
  return start(session, arguments, request, wait_seconds);
}

// Starts a new run of the tasks that the stopped run left; the plan stays.
Result<int> resume_run(Session& session, const Arguments& arguments) {
  RunRequest request = RG_TRY(request_of(arguments));
  request.set_resume_run_id(arguments.operand(0));
  const double wait_seconds = RG_TRY(seconds_of(arguments, "wait", kLongestWaitSeconds));
  return start(session, arguments, request, wait_seconds);
}

// The run is asked for first, so that a wrong name ends at once instead of after a watch.
Result<int> wait_run(Session& session, const Arguments& arguments) {
  const double wait_seconds = RG_TRY(seconds_of(arguments, "wait", kLongestWaitSeconds));
  // A run that is not there is wrong use; asked first, since a watch could only say "lost".
  RG_TRY_OK(call(session, rpc::kGetRun, request_for<RunRef>(arguments.operand(0))));
  return follow_to_the_end(session, arguments.operand(0), wait_seconds, detail_of(arguments),
                           false);
}

}  // namespace railgauge::cli
