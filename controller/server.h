// The whole controller as one object: store, event loop, fleet, runs, services and ports.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "controller/api/synthetic_mark.h"
#include "controller/audit/audit_log.h"
#include "controller/backup_keeper.h"
#include "controller/certificate/evidence/certifier.h"
#include "controller/config.h"
#include "controller/console/console.h"
#include "controller/control/control.h"
#include "controller/control/director.h"
#include "controller/enrol/enroller.h"
#include "controller/enrol/tokens.h"
#include "controller/exporter/metrics_feed.h"
#include "controller/fast_forward.h"
#include "controller/findings/run_judge.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/preflight_service.h"
#include "controller/fleet/worker_pool.h"
#include "controller/gate/upgrade_watch.h"
#include "controller/history/pair_matrices.h"
#include "controller/http/http_server.h"
#include "controller/listen/members.h"
#include "controller/listen/unix_listener.h"
#include "controller/log/service_manager.h"
#include "controller/memory_guard.h"
#include "controller/metric/controller_metrics.h"
#include "controller/mirror/mirror.h"
#include "controller/mirror/month_index.h"
#include "controller/nodes/site_words.h"
#include "controller/reporter.h"
#include "controller/rpc/gate.h"
#include "controller/rpc/services.h"
#include "controller/schedule/schedule_service.h"
#include "controller/standby/role_service.h"
#include "controller/store/data_mark.h"
#include "controller/store/store.h"
#include "controller/tcp_port.h"
#include "controller/tls.h"

namespace railgauge {

// Thread safe. Destroying it stops everything and waits for the threads.
class Server {
 public:
  // Threads for the calls of Control.
  static constexpr std::size_t kWorkers = 4;
  // Threads for queries and for verdicts; slow queries delay no cancel, and verdicts no query.
  static constexpr std::size_t kQueryWorkers = 2;
  static constexpr std::size_t kVerdictWorkers = 2;
  // Threads for the calls of viewers, so that they delay no operator.
  static constexpr std::size_t kViewerWorkers = 2;
  // Seconds between two looks at due schedules.
  static constexpr double kScheduleSeconds = 1;
  // Seconds after the start before schedules begin, and confirming runs: agents attach first, and a
  // run takes the attached nodes.
  static constexpr double kFirstScheduleSeconds = 20;
  // Likewise after a takeover: the agents know where to go.
  static constexpr double kFirstAfterTakeoverSeconds = 8;
  // Seconds between two looks at changed stacks.
  static constexpr double kUpgradeSeconds = 30;
  // Seconds between two looks for upgrades whose reports are to be sent, and the age from which on
  // no report is sent.
  static constexpr double kReportSeconds = 30;
  static constexpr double kUnjudgedSeconds = 600;
  static constexpr double kBackupLookSeconds = 60;
  static constexpr double kReportPastSeconds = 24 * 3600;
  // Seconds between two looks for streams and calls of revoked certificates.
  static constexpr double kRevokedSeconds = 1;
  // Attached agents whose certificate ends within so many seconds are counted.
  static constexpr double kExpiringSeconds = 14 * 24 * 3600;
  // Seconds between two reports to the service manager.
  static constexpr double kLifeSeconds = 1;
  // Seconds between two counts of all nodes.
  static constexpr double kNodesSeconds = 1;
  // Seconds between two looks for room on a full disk.
  static constexpr double kSpaceSeconds = 1;
  // Seconds between two times at which free memory of the heap goes back to the kernel.
  static constexpr double kGiveBackSeconds = 30;
  // Seconds between two reads of the store for the metrics.
  static constexpr double kStatsSeconds = 5;
  // Seconds between two prunings; a pruning waits until no run is active.
  static constexpr double kPruneSeconds = 24 * 3600;
  // The longest wait for a pause, since a fleet may always be measuring.
  static constexpr double kPruneGraceSeconds = 2 * kPruneSeconds;
  // The largest share that one pruning deletes: a clock far ahead must not delete everything.
  static constexpr double kLargestPrunedShare = 0.5;
  // Seconds from the start to the first pruning.
  static constexpr double kFirstPruneSeconds = 600;
  // Seconds that calls get to end by themselves at shutdown.
  static constexpr double kShutdownSeconds = 0.5;

  // Opens the database, ends the runs that an earlier controller left open, then takes calls.
  // Errors are one line that names the setting at fault.
  static Result<std::unique_ptr<Server>> start(const Config& config,
                                               fleet::FleetOptions fleet_options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Reports "not serving" to health checks and cancels every run. idle() is true when all have
  // ended.
  void begin_stop();
  [[nodiscard]] bool idle();
  // Whether the archive has all that is stored, or there is none.
  [[nodiscard]] bool is_archived() const { return mirror_lag_ <= 0; }
  // Reports to `manager` that the start is complete, and from then on state and life of the loop.
  // `manager` outlives this object.
  void report_to(ServiceManager& manager);
  // Reads the TLS files again at the next moment. Does nothing without them.
  void reload_tls();
  // Applies what `changes` names of `config`, and shows what waits for a restart. An error changes
  // nothing: kInvalidArgument for a window of upgrades that cannot be read.
  Status reload(const Config& config, const SettingChanges& changes);
  // Shows that the settings cannot be read again.
  void refuse_settings(const Error& error);
  // Ends the pauses of nodes that are over at `now` (unix seconds), then starts the suites that are
  // due. The server does so itself every second.
  void start_due(double now) {
    control_.pauses().tick(now);
    schedules_.tick(now);
  }
  // Starts and cancels runs, with the rights of the controller itself.
  Control& control() { return control_; }
  // Judges runs that a restart ended although all their results were stored: no further record will
  // have them judged. The server does so itself kFirstScheduleSeconds after its start.
  void judge_left_open();
  // Has runs judged that ended before `until` (unix seconds) and were not. The server does so
  // itself at its start and every kUnjudgedSeconds, while it judges no other.
  void judge_unjudged(double until);
  // Watches changed stacks that nobody gates. The server does so itself every kUpgradeSeconds.
  void watch_upgrades(double now);
  // Opens the audit log's file anew, for logrotate. After an error the old file stays in use.
  Status reopen_logs() { return audit_->reopen(); }
  [[nodiscard]] int tcp_port() const { return tcp_ ? tcp_->port() : 0; }  // 0 without TCP
  [[nodiscard]] int console_port() const { return console_http_ ? console_http_->port() : 0; }
  [[nodiscard]] int enroll_port() const { return enroll_http_ ? enroll_http_->port() : 0; }
  [[nodiscard]] int metrics_port() const { return http_ ? http_->port() : 0; }

 private:
  static store::Retention retention_of(const KeepDays& days);
  Server(std::unique_ptr<store::Store> store, std::unique_ptr<audit::AuditLog> audit,
         const Config& config, WatchPolicy upgrades, plan::Site site,
         fleet::FleetOptions fleet_options, std::string certificate_key);
  // By the simulated clock, in the place of what on_tick() does by the host's.
  void start_fast_forward();
  [[nodiscard]] bool is_idle_for_clock();
  void do_due(double now);
  void record_restores(const std::string& database);
  Status end_interrupted_runs();
  Status open_tls(const TcpOptions& tcp);
  Status start_grpc(const Config& config);
  Status open_tcp(const TcpOptions& options, grpc::ServerBuilder& builder);
  Status start_http(const Config& config);
  Status start_console(const Config& config);
  // Nodes that ask for certificates; both do nothing without a port for them.
  Status open_enrolment(const Config& config);
  Status start_enrolment(const Config& config);
  Result<api::ConsoleTicket> make_ticket(const auth::Peer& caller, const std::string& sudo_user);
  // Whether the host's database lets the user use the socket now.
  [[nodiscard]] Membership look_up(const std::string& user) const;
  [[nodiscard]] Result<console::Visitor> console_visitor(const http::Request& request) const;
  std::string introduce(const console::Visitor& visitor, const std::string& address);
  void note_refused_action(const console::Visitor* visitor, const std::string& address,
                           const console::Action& action, const std::string& subject,
                           const Error& reason);
  void let_console_act(const Config& config, console::Console::Options& options);
  void note_stranger(const std::string& user, const std::string& address, const std::string& act,
                     const std::string& subject, const Error& reason);
  [[nodiscard]] std::string remarks();
  [[nodiscard]] api::Installation describe(const Config& config, double started_at);
  void note(std::string kind, std::string text);  // stores an event of the controller itself
  OwnAct own_acts();  // writes acts of the controller to the audit trail
  void on_tick();
  void judge_late(double now);  // on the loop
  // On the loop: what the service manager shows of this controller.
  [[nodiscard]] std::string state_text();
  void feed_metrics();
  void show_nodes();
  void end_revoked();
  void show_rare_node_facts();
  void show_targets();
  [[nodiscard]] std::string targets_page();
  void show_pauses(const Pauses::Held& held);
  void show_port();
  // Hands the pairs that would say more about the run's suspects to `answer`, from a worker.
  void look_for_follow_ups(const std::string& run_id, const run::Director::PairsAnswer& answer);
  void prune_store();
  void look_for_room();
  // Notes what changes from here on, or, without a mirror, nothing any more.
  // False: the disk is full.
  static Result<bool> arm_mirror(const Config& config, store::Store& store);
  void start_mirror(const Config& config, bool is_armed);
  void turn_mirror_off();
  // The controller's part among those of its site, as others ask for it.
  [[nodiscard]] api::ControllerRole role() const;
  [[nodiscard]] std::string role_line() const;
  Status open_roles(const Config& config, const fleet::Term& term);
  // Where acts wait for the archive; absent where none do.
  struct ArchiveGates {
    std::shared_ptr<mirror::ArchiveGate> acknowledgements{};
    std::shared_ptr<mirror::ArchiveGate> starts{};   // of attempts
    std::shared_ptr<mirror::ArchiveGate> answers{};  // to people
  };
  // Completes the term by settings and database.
  static Result<ArchiveGates> begin_term(const Config& config, store::Store& store,
                                         fleet::Term& term);
  void keep_certificates(double now);
  void open_reporter(const Config& config, std::vector<deliver::Target> targets);
  void start_confirming(const std::vector<store::SeriesRow>& series);

  std::unique_ptr<store::Store> store_;
  store::DataMark data_mark_{*store_};
  std::unique_ptr<audit::AuditLog> audit_;
  const LeafSource leaves_;
  const certificate::Certifier certifier_;
  RunJudge run_judge_;     // outlives the matrices, which are judged, and the loop, which calls it
  MatrixKeeper matrices_;  // outlives the loop, which calls it
  std::mutex unjudged_lock_;
  UnjudgedRuns unjudged_{*store_};  // under the lock
  MemoryGuard memory_;
  Metrics metrics_;
  auth::PeerBook peers_;
  // Outlives the fleet, whose streams are calls.
  rpc::Gate gate_{peers_, *audit_, [this] { return api::data_kind_of(data_mark_.is_synthetic()); }};
  fleet::EventLoop loop_;
  fleet::Fleet fleet_;
  PreflightService preflights_;
  run::Director director_;
  Control control_;
  ScheduleService schedules_;
  UpgradeWatch upgrade_watch_;
  SiteWords site_words_;
  MetricsFeed feed_;
  Archive archive_;
  enrol::Tokens tokens_;
  std::unique_ptr<Reporter> reporter_;
  std::set<std::string> uncertifiable_{};           // on the feeder alone
  ArchiveGates gates_{};                            // outlive the mirror
  std::atomic<double> mirror_lag_ = 0;              // likewise
  std::unique_ptr<mirror::MirrorThread> mirror_{};  // absent without a mirror
  std::unique_ptr<mirror::MonthIndexer> months_{};  // likewise
  api::ControllerRole role_{};                      // set once, before the ports open
  std::mutex settings_mutex_;
  store::Retention retention_;      // under settings_mutex_, as the next two
  std::string waiting_settings_{};  // a line for people
  std::string refused_settings_{};  // likewise
  BackupKeeper backups_;
  std::unique_ptr<fleet::WorkerPool> viewers_;   // calls of viewers, but those of sql_ and whole_
  std::unique_ptr<fleet::WorkerPool> pool_;      // calls of Control
  std::unique_ptr<fleet::WorkerPool> plans_;     // suites read and planned for readers
  std::unique_ptr<fleet::WorkerPool> queries_;   // calls of Archive and Judge
  std::unique_ptr<fleet::WorkerPool> verdicts_;  // upgrades judged
  std::unique_ptr<fleet::WorkerPool> sql_;       // statements that people wrote
  std::unique_ptr<fleet::WorkerPool> whole_;     // reads of every page of the database
  std::unique_ptr<fleet::WorkerPool> upkeep_;    // backup, pruning: one at a time
  std::unique_ptr<fleet::WorkerPool> tickets_;   // of the console: they wait for the user database
  std::unique_ptr<fleet::WorkerPool> starter_;   // runs that are due by schedule
  std::unique_ptr<fleet::WorkerPool> feeder_;    // metrics from the store
  std::unique_ptr<grpc::Service> agent_link_;
  std::unique_ptr<grpc::Service> control_service_;
  std::unique_ptr<grpc::Service> archive_service_;
  std::unique_ptr<grpc::Service> judge_service_;
  std::unique_ptr<grpc::Service> console_service_;
  std::unique_ptr<grpc::Service> enrolment_service_;
  std::unique_ptr<grpc::Service> role_service_;
  std::unique_ptr<TlsKeeper> tls_;  // absent without certificates
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<UnixListener> unix_;
  std::unique_ptr<TcpPort> tcp_;  // absent without TCP
  std::mutex targets_mutex_;
  // The nodes of /sd; nullptr until those of the store are read.
  std::shared_ptr<const std::vector<ScrapeTarget>> targets_{};
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<console::Console> console_;  // with console_http_; none without its port
  std::string console_origin_{};
  Members members_{[this](const std::string& user) { return look_up(user); }};
  std::atomic<std::uint64_t> console_calls_ = 0;  // that visitors made
  std::unique_ptr<http::Server> console_http_;
  std::unique_ptr<enrol::Enroller> enroller_;  // with enroll_http_; none without its port
  std::unique_ptr<http::Server> enroll_http_;
  std::atomic<bool> has_console_ = false;  // calls may use console_ and console_origin_
  std::unique_ptr<FastForward> forward_;   // absent with the host's clock
  double next_stats_ = 0;                  // used on the loop only, as the next eight
  double next_life_ = 0;
  double next_nodes_ = 0;
  double next_revoked_ = 0;
  double next_schedules_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;
  double next_upgrades_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;
  double next_backup_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;
  double next_reports_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;
  double judges_left_open_ = fleet::monotonic_seconds() + kFirstScheduleSeconds;
  std::vector<std::string> left_open_{};  // runs for judge_left_open(), on the loop
  bool has_looked_for_unjudged_ = false;
  double next_unjudged_ = 0;
  // With a simulated clock it is the fast forward's, in calendar_seconds().
  double next_prune_ = fleet::monotonic_seconds() + kFirstPruneSeconds;
  double next_space_ = 0;                                                  // likewise
  double next_give_back_ = fleet::monotonic_seconds() + kGiveBackSeconds;  // likewise
  bool is_port_well_ = true;                // on the loop, as grpc.health has it
  bool is_ending_ = false;                  // on the loop: the pools may be gone
  ServiceManager* manager_ = nullptr;       // on the loop; nullptr: nobody asks
  std::atomic<bool> is_port_open_ = false;  // the loop may use tcp_ and grpc_
  std::atomic<bool> feeding_ = false;
  std::atomic<bool> has_mirror_ = false;
  std::atomic<bool> is_mirror_left_on_ = false;  // it could not be turned off on a full disk
  std::atomic<bool> is_behind_ = false;  // interrupted runs could not be ended: the disk is full
  std::atomic<bool> stopping_ = false;
};

}  // namespace railgauge
