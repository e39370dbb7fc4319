#include "controller/console/reader.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "controller/console/service_stubs.h"
#include "controller/console/views/report_page.h"
#include "controller/report/gather.h"
#include "controller/report/proposal.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::console {
namespace {

constexpr double kUsualHours = 24;
constexpr double kMostHours = 24 * 92;
constexpr double kHourSeconds = 3600;
constexpr double kReportSeconds = 25;  // below what the server grants an answer

// The calls of one report, which share its time.
struct Calls {
  Reader& reader;
  double end_ns = 0;
};

// Makes one call of a service.
template <class Service, class Request, class Answer>
Result<Answer> ask(const Calls& calls, std::unique_ptr<Service> Stubs::*service,
                   grpc::Status (Service::*method)(grpc::ClientContext*, const Request&, Answer*),
                   const Request& request) {
  const double left = (calls.end_ns - monotonic_now_ns()) / 1e9;
  if (left <= 0)
    return fail(Code::kDeadlineExceeded,
                fmt::format("the report takes more than {} s; `railgauge report` has more time",
                            kReportSeconds));
  Answer answer;
  RG_TRY_OK(calls.reader.call(
      [&](const Stubs& stubs, grpc::ClientContext& context) {
        return ((*(stubs.*service)).*method)(&context, request, &answer);
      },
      left));
  return answer;
}

using Control = api::Control::StubInterface;
using Archive = api::Archive::StubInterface;
using Judge = api::Judge::StubInterface;

template <class Request>
Request limited(std::uint32_t limit) {
  Request request;
  request.set_limit(limit);
  return request;
}

template <class Request>
Request of_run(const std::string& run_id) {
  Request request;
  request.set_run_id(run_id);
  return request;
}

// The calls about findings, upgrades and what happened.
void add_judgements(const Calls& calls, report::Source& source) {
  source.findings = [calls](const std::string& state, std::uint32_t limit) {
    auto request = limited<api::ListFindingsRequest>(limit);
    request.set_state(state);
    return ask(calls, &Stubs::judge, &Judge::ListFindings, request);
  };
  source.finding = [calls](const std::string& id) {
    api::FindingRef request;
    request.set_finding_id(id);
    return ask(calls, &Stubs::judge, &Judge::GetFinding, request);
  };
  source.upgrades = [calls](std::uint32_t limit) {
    return ask(calls, &Stubs::judge, &Judge::ListUpgrades,
               limited<api::ListUpgradesRequest>(limit));
  };
  source.upgrade = [calls](const std::string& id) {
    api::UpgradeRef request;
    request.set_upgrade_id(id);
    return ask(calls, &Stubs::judge, &Judge::GetUpgrade, request);
  };
  source.events = [calls](double since, std::uint32_t limit) {
    auto request = limited<api::EventsRequest>(limit);
    request.set_since_unix_seconds(since);
    return ask(calls, &Stubs::archive, &Archive::ListEvents, request);
  };
  source.proposals = [calls](std::uint32_t limit) {
    auto request = limited<api::EventsRequest>(limit);
    request.set_kinds(std::string(report::kProposedKind));
    return ask(calls, &Stubs::archive, &Archive::ListEvents, request);
  };
}

report::Source source_of(const Calls& calls) {
  report::Source source;
  source.nodes = [calls] {
    return ask(calls, &Stubs::control, &Control::ListNodes, api::ListNodesRequest());
  };
  source.runs = [calls](std::uint32_t limit) {
    return ask(calls, &Stubs::control, &Control::ListRuns, limited<api::ListRunsRequest>(limit));
  };
  source.groups = [calls](const std::string& run_id) {
    return ask(calls, &Stubs::archive, &Archive::GetTaskGroups,
               of_run<api::TaskGroupsRequest>(run_id));
  };
  source.suspects = [calls](const std::string& run_id) {
    return ask(calls, &Stubs::archive, &Archive::GetSuspects, of_run<api::PairsRequest>(run_id));
  };
  source.schedules = [calls](const std::string& name) {
    api::ListSchedulesRequest request;
    request.set_name(name);
    return ask(calls, &Stubs::control, &Control::ListSchedules, request);
  };
  add_judgements(calls, source);
  return source;
}

}  // namespace

// The controller's clock made the times of what it stored.
Result<api::ReportPage> read_report(Reader& reader, const api::ReportRequest& request) {
  const int scopes = (request.run_id().empty() ? 0 : 1) + (request.upgrade_id().empty() ? 0 : 1) +
                     (request.hours() == 0 ? 0 : 1);
  if (scopes > 1)
    return fail(Code::kInvalidArgument, "one of run_id, upgrade_id and hours is needed");
  if (!(request.hours() >= 0 && request.hours() <= kMostHours))
    return fail(Code::kInvalidArgument,
                fmt::format("hours {}: 1 to {} are possible", request.hours(), kMostHours));
  const Calls calls{.reader = reader, .end_ns = monotonic_now_ns() + kReportSeconds * 1e9};
  const api::Installation told =
      RG_TRY(ask(calls, &Stubs::control, &Control::GetInstallation, api::InstallationRequest()));
  const std::optional<double> now = parse_calendar(told.now_at());
  if (!now) return fail(Code::kInternal, "the controller did not say what time it is");
  const report::Source source = source_of(calls);
  const double hours = request.hours() == 0 ? kUsualHours : request.hours();
  auto gathered = !request.run_id().empty() ? report::gather_run(source, request.run_id(), *now)
                  : !request.upgrade_id().empty()
                      ? report::gather_upgrade(source, request.upgrade_id(), *now)
                      : report::gather_since(source, *now - hours * kHourSeconds, *now);
  if (!gathered) return tl::unexpected(gathered.error());
  return page_of_report(report::make_report(gathered->material));
}

}  // namespace railgauge::console
