#include "controller/reporter.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/findings/run_judge.h"
#include "controller/fleet/event_loop.h"
#include "controller/store/data_mark.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_judge.h"

namespace railgauge {

report::Source report_source(const ReportServices& services) {
  Control& control = services.control;
  Archive& archive = services.archive;
  ScheduleService& schedules = services.schedules;
  store::Store& store = services.store;
  const auto findings = std::make_shared<FindingService>(store, services.leaves);
  return {
      .is_synthetic = [mark = std::make_shared<store::DataMark>(
                           store)] { return mark->is_synthetic().value_or(true); },
      .nodes = [&control] { return control.list_nodes({}); },
      .runs =
          [&control](std::uint32_t limit) {
            api::ListRunsRequest request;
            request.set_limit(limit);
            return control.list_runs(request);
          },
      .groups =
          [&archive](const std::string& run_id) {
            api::TaskGroupsRequest request;
            request.set_run_id(run_id);
            return archive.get_task_groups(request);
          },
      .suspects =
          [&archive](const std::string& run_id) {
            api::PairsRequest request;
            request.set_run_id(run_id);
            return archive.get_suspects(request);
          },
      .findings =
          [findings](const std::string& state, std::uint32_t limit) {
            api::ListFindingsRequest request;
            request.set_state(state);
            request.set_limit(limit);
            return findings->list(request, fleet::unix_seconds());
          },
      .finding =
          [findings](const std::string& id) { return findings->get(id, fleet::unix_seconds()); },
      .upgrades = [&store](std::uint32_t limit) -> Result<api::UpgradeList> {
        auto list = new_document<api::UpgradeList>();
        for (const store::UpgradeRow& row : RG_TRY(store.read(store::read_upgrades, limit)))
          *list.add_upgrades() = summary_of(row);
        return list;
      },
      .upgrade = [&store](const std::string& id) { return upgrade_report(store, id); },
      .schedules = [&schedules](const std::string& name) { return schedules.list(name); },
      .events =
          [&archive](double since, std::uint32_t limit) {
            api::EventsRequest request;
            request.set_since_unix_seconds(since);
            request.set_limit(limit);
            return archive.list_events(request);
          },
      .proposals =
          [&archive](std::uint32_t limit) {
            api::EventsRequest request;
            request.set_kinds(std::string(report::kProposedKind));
            request.set_limit(limit);
            return archive.list_events(request);
          },
  };
}

Reporter::Reporter(std::vector<deliver::Target> targets, const std::string& post_program, Site site,
                   report::Source source)
    : targets_(std::move(targets)), site_(std::move(site)), source_(std::move(source)) {
  std::vector<std::string> names;
  for (const deliver::Target& target : targets_) names.push_back(target.name);
  deliver::drop_of_gone_targets(site_.store, names, site_.note);
  for (const deliver::Target& target : targets_)
    couriers_.push_back(std::make_unique<deliver::Courier>(
        deliver::Courier::Options{.target = target.name, .where = target.where}, site_.store,
        deliver::sender_of(target, post_program), site_.series, site_.note));
}

// All attempts end at the same time, not one after the other.
Reporter::~Reporter() {
  for (const auto& courier : couriers_) courier->begin_stop();
}

// Runs of people and of upgrades are theirs to ask for, unless they confirmed a finding. The
// judge's own runs measure again what a report named already.
void Reporter::run_judged(const std::string& run_id) {
  if (!has_targets()) return;
  const auto run = site_.store.run_summary(run_id);
  if (!run) return spdlog::warn("run {}: no report is sent: {}", run_id, run.error().message);
  Wanted wanted{.delivery_id = "run-" + run_id, .cause = "run"};
  if (const auto rows = site_.store.read(store::read_confirmed, run->run.created_at))
    for (const store::ConfirmedRow& row : *rows)
      if (row.run_id == run_id && row.upgrade_id.empty())
        wanted.confirmed.push_back(row.finding_id);
  const bool is_scheduled = run->run.trigger == "schedule" && run->run.requested_by != kRunJudgeWho;
  if (!is_scheduled && wanted.confirmed.empty()) return;
  if (!is_scheduled) wanted.cause = "finding";
  if (is_queued(wanted.delivery_id)) return;
  const double now = fleet::unix_seconds();
  queue(wanted, is_scheduled ? report::gather_morning(source_, run_id, now)
                             : report::gather_run(source_, run_id, now));
}

void Reporter::look_for_upgrades(double since) {
  if (!has_targets()) return;
  const auto rows = site_.store.read(store::read_confirmed, since);
  if (!rows) return spdlog::warn("no reports of upgrades are sent: {}", rows.error().message);
  std::map<std::string, Wanted> wanted;  // by upgrade
  for (const store::ConfirmedRow& row : *rows) {
    if (row.upgrade_id.empty()) continue;
    Wanted& one = wanted[row.upgrade_id];
    one.cause = "finding";
    one.confirmed.push_back(row.finding_id);
    // Another run that confirms another finding makes another report.
    one.delivery_id = fmt::format("upgrade-{}-{}", row.upgrade_id, row.run_id);
  }
  for (const auto& [upgrade_id, one] : wanted)
    if (!is_queued(one.delivery_id))
      queue(one, report::gather_upgrade(source_, upgrade_id, fleet::unix_seconds()));
}

bool Reporter::is_queued(const std::string& delivery_id) const {
  return std::ranges::all_of(targets_, [&](const deliver::Target& target) {
    return site_.store.read(store::has_delivery, target.name, delivery_id).value_or(false);
  });
}

void Reporter::queue(const Wanted& wanted, const Result<report::Gathered>& gathered) {
  const auto failed = [&](const std::string& cause) {
    site_.series.add("railgauge_deliveries_total", {{"target", "none"}, {"outcome", "failed"}});
    spdlog::error("{}{}: its report is not made: {}",
                  deliver::subject_of_delivery(wanted.delivery_id), wanted.delivery_id, cause);
    site_.note("delivery_failed",
               fmt::format("{}: its report is not made: {}", wanted.delivery_id, cause));
  };
  if (!gathered) return failed(gathered.error().message);
  const api::SiteReport report = report::make_report(gathered->material);
  const deliver::Dispatch dispatch{.delivery_id = wanted.delivery_id,
                                   .cause = wanted.cause,
                                   .confirmed = wanted.confirmed,
                                   .report = report};
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    deliver::MailHead mail = targets_[i].mail;
    mail.at = fleet::unix_seconds();
    const Status queued = couriers_[i]->put(
        {.delivery_id = wanted.delivery_id,
         .body = deliver::body_of(dispatch, targets_[i].format, targets_[i].wording, mail)});
    if (!queued) failed(fmt::format("{}: {}", targets_[i].name, queued.error().message));
  }
}

}  // namespace railgauge
