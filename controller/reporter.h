// Sends reports to the targets of the settings: of each run that a schedule started, once it was
// judged, and of each run or upgrade that confirmed a finding.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/control/control.h"
#include "controller/deliver/courier.h"
#include "controller/deliver/targets.h"
#include "controller/findings/finding_service.h"
#include "controller/history/archive.h"
#include "controller/report/gather.h"
#include "controller/schedule/schedule_service.h"

namespace railgauge {

// All outlive the source. It is used on a worker thread, never on the event loop.
struct ReportServices {
  Control& control;
  Archive& archive;
  ScheduleService& schedules;
  store::Store& store;
  LeafSource leaves{};
};
// The calls of a report, answered by the controller's own services.
report::Source report_source(const ReportServices& services);

// Thread safe. Its functions block for a report's queries: call them on a worker thread.
class Reporter {
 public:
  struct Site {
    store::Store& store;
    metric::Registry& series;
    deliver::Note note;
  };
  // `targets` from deliver::read_targets(). `post_program`: send.h. All of `site` outlives it.
  Reporter(std::vector<deliver::Target> targets, const std::string& post_program, Site site,
           report::Source source);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  [[nodiscard]] bool has_targets() const { return !couriers_.empty(); }
  // Queues the report of the run where it is one to send.
  void run_judged(const std::string& run_id);
  // Queues the reports of upgrades that confirmed a finding since `since`, in unix seconds. A
  // second call with the same ones queues nothing.
  void look_for_upgrades(double since);

 private:
  // A report that is to be sent: scope and subject as in report::Material.
  struct Wanted {
    std::string delivery_id{};
    std::string cause{};
    std::vector<std::string> confirmed{};
  };
  void queue(const Wanted& wanted, const Result<report::Gathered>& gathered);
  [[nodiscard]] bool is_queued(const std::string& delivery_id) const;

  const std::vector<deliver::Target> targets_;
  const Site site_;
  const report::Source source_;
  std::vector<std::unique_ptr<deliver::Courier>> couriers_;  // one for each of targets_
};

}  // namespace railgauge
