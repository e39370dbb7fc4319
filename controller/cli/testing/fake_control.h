// A control service with fixed answers, for tests: over a real socket or inside the process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "kernels/core/base/result.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace railgauge::cli {

class FakeControl {
 public:
  static std::unique_ptr<FakeControl> create();
  virtual ~FakeControl() = default;
  FakeControl(const FakeControl&) = delete;
  FakeControl& operator=(const FakeControl&) = delete;

  // The answers of the calls; set before the first call.
  railgauge::api::NodeList nodes;
  railgauge::KernelList kernels;
  railgauge::api::SuiteList suites;
  railgauge::api::SuiteCheck check;
  railgauge::api::RunPlan plan;
  railgauge::api::RunList runs;
  railgauge::api::RunDetail detail;
  railgauge::api::ResultList results;
  railgauge::api::VersionInfo version;
  railgauge::api::ScheduleList schedules;  // the first one is what every change answers
  railgauge::api::PreflightReport preflight;
  railgauge::api::Installation installation;
  Status plan_status;                   // the error of PlanRun in place of a plan
  std::string outcome = "passed";       // of the run
  std::vector<std::string> failures{};  // texts of tasks that fail: "t3 verbs.write_bw n1: failed"
  std::uint32_t confirmed = 0;          // findings of the run
  std::optional<std::uint32_t> tasks_total{};  // of the run; absent: the sample's
  bool endless = false;                        // the run continues until it is cancelled
  bool deaf_to_cancel = false;                 // a cancel is taken, the run continues all the same
  int broken_watches = 0;          // so many watches end early as if the controller had died
  double nodes_delay_seconds = 0;  // before ListNodes answers

  // The requests so far.
  [[nodiscard]] railgauge::api::RunRequest last_request() const;
  [[nodiscard]] railgauge::api::ResultsRequest last_results() const;
  [[nodiscard]] railgauge::api::ScheduleSpec last_schedule() const;
  [[nodiscard]] std::string last_change() const;  // "pause nightly"
  [[nodiscard]] railgauge::api::PauseNodesRequest last_pause() const;
  [[nodiscard]] railgauge::api::PreflightRequest last_preflight() const;
  [[nodiscard]] int starts() const;
  [[nodiscard]] int cancels() const;
  // Waits until a watch has reported the run's first change; false after `seconds`.
  bool wait_until_watched(double seconds);

  // For a grpc::ServerBuilder; lives as long as this object.
  virtual grpc::Service& service() = 0;

 protected:
  FakeControl();  // filled with the sample answers

  railgauge::api::RunSummary summary(const std::string& state) const;  // with mutex_ held

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  railgauge::api::RunRequest last_request_;
  railgauge::api::ResultsRequest last_results_;
  railgauge::api::ScheduleSpec last_schedule_;
  std::string last_change_;
  railgauge::api::PauseNodesRequest last_pause_;
  railgauge::api::PreflightRequest last_preflight_;
  int starts_ = 0;
  int cancels_ = 0;
  int watches_ = 0;
  bool cancelled_ = false;
};

}  // namespace railgauge::cli
