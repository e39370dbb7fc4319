// The whole controller as one object: store, event loop, fleet, runs, services and ports.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "controller/config.h"
#include "controller/control/control.h"
#include "controller/control/director.h"
#include "controller/exporter/metrics_feed.h"
#include "controller/findings/run_judge.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/preflight_desk.h"
#include "controller/fleet/worker_pool.h"
#include "controller/gate/upgrade_watch.h"
#include "controller/history/pair_matrices.h"
#include "controller/http/server.h"
#include "controller/listen.h"
#include "controller/metric/controller_metrics.h"
#include "controller/rpc/agent_link.h"
#include "controller/rpc/archive_service.h"
#include "controller/rpc/control_service.h"
#include "controller/rpc/judge_service.h"
#include "controller/schedule/schedules.h"
#include "controller/store/store.h"

namespace railgauge {

class Server {
 public:
  static constexpr std::size_t kWorkers = 4;
  static constexpr std::size_t kQueryWorkers = 2;  // what is slow there keeps no `cancel` waiting
  static constexpr double kScheduleSeconds = 1;    // between two looks at what is due
  // After the start, for the agents to come back first: a run takes the nodes that are attached.
  static constexpr double kFirstScheduleSeconds = 20;
  static constexpr double kUpgradeSeconds = 30;  // between two looks at stacks that changed
  static constexpr double kStatsSeconds = 5;     // between two looks at the store for the metrics
  static constexpr double kPruneSeconds = 24 * 3600;  // between two prunings, when no run is active
  // So long it is waited for, since a fleet may always be measuring.
  static constexpr double kPruneGraceSeconds = 2 * kPruneSeconds;
  static constexpr double kLargestPrunedShare = 0.5;  // a clock far ahead must not take everything
  static constexpr double kFirstPruneSeconds = 600;   // after the start
  static constexpr double kShutdownSeconds = 0.5;     // for calls to end by themselves

  // Opens the database, ends what an earlier controller left open, then takes calls. Errors are one
  // line that names the setting at fault.
  static Result<std::unique_ptr<Server>> start(const Config& config,
                                               fleet::FleetOptions fleet_options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Not serving from now on for health checks; every run is cancelled. idle() tells when all ended.
  void begin_stop();
  [[nodiscard]] bool idle();
  // Starts what is due by schedule, as if it were `now` (unix seconds); by itself this happens each
  // second.
  void start_due(double now) { schedules_.tick(now); }
  // Sees to what changed and nobody gates, likewise; by itself each half minute.
  void see_to_upgrades(double now) { upgrade_watch_.tick(now); }
  [[nodiscard]] int tcp_port() const { return tcp_port_; }  // 0 without TCP
  [[nodiscard]] int metrics_port() const { return http_ ? http_->port() : 0; }

 private:
  Server(std::unique_ptr<store::Store> store, const Config& config, WatchPolicy upgrades,
         plan::Site site, fleet::FleetOptions fleet_options);
  Status end_interrupted_runs();
  Status start_grpc(const Config& config);
  Status start_http(const Config& config);
  void on_tick();
  void feed_metrics();
  void show_nodes();
  void show_rare_node_facts();
  void prune_store();
  void start_confirming(const std::vector<store::SeriesRow>& series);

  std::unique_ptr<store::Store> store_;
  const LeafSource leaves_;
  MatrixKeeper matrices_;  // outlives the loop, which asks it
  RunJudge run_judge_;     // likewise
  Metrics metrics_;
  auth::PeerBook peers_;
  fleet::EventLoop loop_;
  fleet::Fleet fleet_;
  PreflightDesk preflights_;
  run::Director director_;
  Control control_;
  Schedules schedules_;
  UpgradeWatch upgrade_watch_;
  MetricsFeed feed_;
  Archive archive_;
  const store::Retention retention_;
  std::unique_ptr<fleet::WorkerPool> pool_;     // control
  std::unique_ptr<fleet::WorkerPool> queries_;  // of the archive
  std::unique_ptr<fleet::WorkerPool> sql_;      // what people wrote themselves
  std::unique_ptr<fleet::WorkerPool> upkeep_;   // backup, check, pruning: one at a time
  std::unique_ptr<fleet::WorkerPool> starter_;  // of what is due by schedule
  std::unique_ptr<fleet::WorkerPool> feeder_;   // of the metrics
  AgentLinkService agent_link_;
  std::unique_ptr<grpc::Service> control_service_;
  std::unique_ptr<grpc::Service> archive_service_;
  std::unique_ptr<grpc::Service> judge_service_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<UnixListener> unix_;
  std::unique_ptr<http::Server> http_;
  int tcp_port_ = 0;
  double next_stats_ = 0;                                                       // on the loop
  double next_schedules_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;  // likewise
  double next_upgrades_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;   // likewise
  double next_prune_ = fleet::monotonic_seconds() + kFirstPruneSeconds;         // likewise
  bool is_ending_ = false;  // likewise: the pools may be gone
  std::atomic<bool> feeding_ = false;
  std::atomic<bool> stopping_ = false;
};

}  // namespace railgauge
