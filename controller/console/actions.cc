#include "controller/console/actions.h"

#include <array>

#include <fmt/format.h>

#include "controller/api/archive_mark.h"
#include "controller/api/on_behalf.h"
#include "controller/console/query.h"
#include "controller/console/service_stubs.h"

namespace railgauge::console {
namespace {

using google::protobuf::Message;

constexpr std::string_view kControl = "railgauge.api.Control";
constexpr std::string_view kJudge = "railgauge.api.Judge";

template <class Type>
const Message& empty() {
  return Type::default_instance();
}

// The action of one call of a service.
#define ACTION(path, summary, service, name, stub, Request, Answer)                    \
  Action {                                                                             \
    "/api/v1/" path, summary, service, #name, empty<api::Request>, empty<api::Answer>, \
        [](const Stubs& stubs, grpc::ClientContext& context, const Message& request,   \
           Message& answer) {                                                          \
          return stubs.stub->name(&context, static_cast<const api::Request&>(request), \
                                  static_cast<api::Answer*>(&answer));                 \
        }                                                                              \
  }

constexpr std::array kActions{
    ACTION("findings/{finding_id}/steps",
           "a step of a finding: ack, investigate, downstream, accept, resolve, roll_back, "
           "dismiss, reopen, reset, comment, assign, tag, untag, nudge",
           kJudge, StepFinding, judge, FindingStepRequest, Finding),
    ACTION("findings/{finding_id}/runs",
           "measure a finding again: its own series, or as a control pairs that it does not touch",
           kJudge, MeasureFinding, judge, MeasureFindingRequest, Finding),
    ACTION("runs", "start a suite, on all attached nodes or on those of node_set", kControl,
           StartRun, control, RunRequest, RunSummary),
    ACTION("runs/{run_id}/cancel", "cancel a run; an ended one stays as it ended", kControl,
           CancelRun, control, RunRef, RunSummary),
    ACTION("nodes/{node_set}/pause", "maintenance: leave nodes out of runs and of judging",
           kControl, PauseNodes, control, PauseNodesRequest, NodeList),
    ACTION("nodes/{node_set}/resume", "end the maintenance of nodes", kControl, ResumeNodes,
           control, ResumeNodesRequest, NodeList),
    ACTION("nodes/{node_set}/preflight", "check whether nodes are fit, with remedies", kControl,
           RunPreflight, control, PreflightRequest, PreflightReport),
    ACTION("schedules/{name}/run", "start a schedule's suite now as well", kControl, RunSchedule,
           control, ScheduleRef, RunSummary),
    ACTION("schedules/{name}/pause", "let a schedule wait", kControl, PauseSchedule, control,
           ScheduleRef, ScheduleInfo),
    ACTION("schedules/{name}/resume", "let a schedule start its suite again", kControl,
           ResumeSchedule, control, ScheduleRef, ScheduleInfo),
};
#undef ACTION

}  // namespace

std::span<const Action> actions() { return kActions; }

Asked find_action(std::string_view path) {
  Asked asked;
  for (const Action& action : kActions)
    if (fits_path(action.path, path, asked.field, asked.value)) {
      asked.action = &action;
      break;
    }
  return asked;
}

std::string name_of(const Action& action) {
  const std::size_t dot = action.service.rfind('.');
  return fmt::format("{}.{}", action.service.substr(dot + 1), action.method);
}

Result<bool> carry_out(Reader& reader, const Action& action, const std::string& caller,
                       const Message& request, Message& answer) {
  bool is_archived = true;
  RG_TRY_OK(reader.call([&](const Stubs& stubs, grpc::ClientContext& context) {
    context.AddMetadata(api::kOnBehalfOf, caller);
    grpc::Status status = action.call(stubs, context, request, answer);
    is_archived = context.GetServerTrailingMetadata().count(api::kArchiveHeader) == 0;
    return status;
  }));
  return is_archived;
}

}  // namespace railgauge::console
