// One use of the CLI: the controller, the output, and the deadlines. Not thread safe.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"
#include "controller/api/control.pb.h"
#include "controller/api/enrolment.pb.h"
#include "controller/api/judge.pb.h"
#include "controller/cli/input/interrupts.h"
#include "controller/cli/render/output.h"
#include "kernels/core/base/result.h"

namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace railgauge::cli {

struct SeenController;  // input/controllers.h

struct Stubs;  // input/stubs.h: the only header of the CLI that includes gRPC

// The surroundings of one verb. All references outlive it. Durations are seconds.
struct Session {
  const Stubs& stubs;  // outlives the session
  const Output& output;
  Interrupts& interrupts;
  std::string address;              // of the controller, for messages
  std::function<bool()> connected;  // whether the controller is reached right now
  // Asks all controllers that the settings name for their role.
  std::function<std::vector<SeenController>()> see_controllers{};
  std::string tls_cert{};           // file of this user's certificate; "": none
  std::string channel_fault{};      // why no call is possible, as a broken certificate; "": it is
  std::string again;                // how a person calls this program for the same controller
  double answer_seconds = 15;       // deadline of one call
  double linger_seconds = 3;        // after the first Ctrl-C, for the second
  double cancel_seconds = 90;       // for a cancel to be verified: the controller's own bounds
  double reconnect_seconds = 30;    // to wait for a controller that went away during a run
  double watch_slice_seconds = 30;  // a watch is asked for anew this often: a dead link shows
};

// One unary call of the controller's services: which stub and which of its functions. The types of
// request and answer travel with it, so that a caller cannot mix them up.
template <class Request, class Answer>
struct Rpc {
  grpc::Status (*send)(const Stubs& stubs, grpc::ClientContext& context,
                       const google::protobuf::Message& request, google::protobuf::Message& answer);
};

// Every unary call, one row each: service, function, request, answer. session.cc binds the rows to
// the stubs, so that only that file compiles gRPC.
// clang-format off
#define RAILGAUGE_CLI_CALLS(CALL) \
  CALL(Control, ListNodes, api::ListNodesRequest, api::NodeList) \
  CALL(Control, RenameNode, api::RenameNodeRequest, api::NodeList) \
  CALL(Control, PauseNodes, api::PauseNodesRequest, api::NodeList) \
  CALL(Control, ResumeNodes, api::ResumeNodesRequest, api::NodeList) \
  CALL(Control, ListKernels, api::ListKernelsRequest, KernelList) \
  CALL(Control, ListSuites, api::ListSuitesRequest, api::SuiteList) \
  CALL(Control, CheckSuite, api::SuiteSource, api::SuiteCheck) \
  CALL(Control, PlanRun, api::RunRequest, api::RunPlan) \
  CALL(Control, StartRun, api::RunRequest, api::RunSummary) \
  CALL(Control, CancelRun, api::RunRef, api::RunSummary) \
  CALL(Control, ListRuns, api::ListRunsRequest, api::RunList) \
  CALL(Control, GetRun, api::RunRef, api::RunDetail) \
  CALL(Control, QueryResults, api::ResultsRequest, api::ResultList) \
  CALL(Control, GetVersion, api::VersionRequest, api::VersionInfo) \
  CALL(Control, GetInstallation, api::InstallationRequest, api::Installation) \
  CALL(Control, RunPreflight, api::PreflightRequest, api::PreflightReport) \
  CALL(Control, ListSchedules, api::ListSchedulesRequest, api::ScheduleList) \
  CALL(Control, AddSchedule, api::ScheduleSpec, api::ScheduleInfo) \
  CALL(Control, PauseSchedule, api::ScheduleRef, api::ScheduleInfo) \
  CALL(Control, ResumeSchedule, api::ScheduleRef, api::ScheduleInfo) \
  CALL(Control, RemoveSchedule, api::ScheduleRef, api::ScheduleInfo) \
  CALL(Control, RunSchedule, api::ScheduleRef, api::RunSummary) \
  CALL(Archive, FindPoints, api::PointsRequest, api::ResultList) \
  CALL(Archive, ListSeries, api::PointsRequest, api::SeriesList) \
  CALL(Archive, GetHistory, api::HistoryRequest, api::History) \
  CALL(Archive, CompareRuns, api::CompareRequest, api::Comparison) \
  CALL(Archive, RunSql, api::SqlRequest, api::SqlTable) \
  CALL(Archive, GetTasks, api::TasksRequest, api::TaskPage) \
  CALL(Archive, GetBundlePart, api::BundleRequest, api::BundlePart) \
  CALL(Archive, GetSpace, api::SpaceRequest, api::Space) \
  CALL(Archive, CheckDatabase, api::CheckRequest, api::DatabaseCheck) \
  CALL(Archive, BackUp, api::BackUpRequest, api::BackUpReport) \
  CALL(Archive, Prune, api::PruneRequest, api::PruneReport) \
  CALL(Archive, GetMatrix, api::PairsRequest, api::PairMatrix) \
  CALL(Archive, GetSuspects, api::PairsRequest, api::SuspectList) \
  CALL(Archive, ListEvents, api::EventsRequest, api::EventList) \
  CALL(Archive, GetTaskGroups, api::TaskGroupsRequest, api::TaskGroups) \
  CALL(Archive, ListAudit, api::AuditRequest, api::AuditList) \
  CALL(Judge, PrepareUpgrade, api::PrepareRequest, api::Upgrade) \
  CALL(Judge, GateUpgrade, api::GateRequest, api::GateStep) \
  CALL(Judge, JudgeUpgrade, api::UpgradeRef, api::Upgrade) \
  CALL(Judge, ListUpgrades, api::ListUpgradesRequest, api::UpgradeList) \
  CALL(Judge, GetUpgrade, api::UpgradeRef, api::Upgrade) \
  CALL(Judge, ListFindings, api::ListFindingsRequest, api::FindingList) \
  CALL(Judge, GetFinding, api::FindingRef, api::Finding) \
  CALL(Judge, StepFinding, api::FindingStepRequest, api::Finding) \
  CALL(Judge, MeasureFinding, api::MeasureFindingRequest, api::Finding) \
  CALL(Judge, PinBaselines, api::PinRequest, api::BaselineList) \
  CALL(Judge, ListBaselines, api::ListBaselinesRequest, api::BaselineList) \
  CALL(Judge, GetCertificate, api::CertificateRequest, api::CertificateDocument) \
  CALL(Console, OpenConsole, api::OpenConsoleRequest, api::ConsoleTicket) \
  CALL(Enrolment, CreateToken, api::CreateTokenRequest, api::NewToken) \
  CALL(Enrolment, ListTokens, api::ListTokensRequest, api::TokenList) \
  CALL(Enrolment, RevokeToken, api::TokenRef, api::TokenInfo)
// clang-format on

namespace rpc {
#define RAILGAUGE_DECLARE(service, name, request, answer) extern const Rpc<request, answer> k##name;
RAILGAUGE_CLI_CALLS(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}  // namespace rpc

// A request that is about one thing: its first field is the thing's name.
template <class Request>
Request request_for(const std::string& name) {
  Request request;
  request.GetReflection()->SetString(&request, request.GetDescriptor()->field(0), name);
  return request;
}

// Whether Ctrl-C ends a call. kNo is for changes whose result has to be known.
enum class EndsAtInterrupt { kNo, kYes };

// The body of every unary call below, without types. Errors: theirs.
using Send = decltype(Rpc<api::RunRef, api::RunDetail>::send);
Status send_call(Session& session, Send send, const google::protobuf::Message& request,
                 google::protobuf::Message& answer, double seconds, EndsAtInterrupt ends);

// One call with a deadline of exactly `seconds`. Errors: kCancelled after Ctrl-C; the controller's
// own code and message; for a controller that was not reached address, cause and remedy.
template <class Request, class Answer>
Result<Answer> call_within(Session& session, const Rpc<Request, Answer>& rpc,
                           const Request& request, double seconds) {
  Answer answer;
  RG_TRY_OK(send_call(session, rpc.send, request, answer, seconds, EndsAtInterrupt::kYes));
  return answer;
}

// One call with the session's deadline, or with `least_seconds` where that is longer: for calls
// that read much data. Errors: call_within's.
template <class Request, class Answer>
Result<Answer> call(Session& session, const Rpc<Request, Answer>& rpc, const Request& request,
                    double least_seconds = 0) {
  return call_within(session, rpc, request, std::max(session.answer_seconds, least_seconds));
}

// One call that Ctrl-C does not end. Errors: call_within's without kCancelled.
template <class Request, class Answer>
Result<Answer> call_through(Session& session, const Rpc<Request, Answer>& rpc,
                            const Request& request) {
  Answer answer;
  RG_TRY_OK(
      send_call(session, rpc.send, request, answer, session.answer_seconds, EndsAtInterrupt::kNo));
  return answer;
}

// Makes the texts of an answer safe for a terminal where the format does not escape them by itself.
// Every answer passes here: those of the calls above, and each message of a stream.
void make_safe(const Output& output, google::protobuf::Message& answer);

// Reads stored points page by page, `seconds` at most, so that any number fits. `take` returns
// false when it wants no more; the stream then ends without an error. Errors: call_within's; pages
// before the error were taken.
Status stream_points(Session& session, const api::PointsRequest& request, double seconds,
                     const std::function<bool(const api::ResultList& page)>& take);

}  // namespace railgauge::cli
