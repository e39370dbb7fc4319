#include "controller/server.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/clock/wall_clock.h"
#include "controller/findings/proof/proof_judge.h"
#include "controller/gate/open_proposals.h"
#include "controller/store/queries/data_kind.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/backup_folder.h"
#include "controller/trust/pem_files.h"
#include "controller/trust/signature.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

std::string suites_folder(const Config& config) {
  std::string folder = config.suites.empty() ? default_suites_folder() : config.suites;
  if (folder.empty()) spdlog::warn("no folder of suites beside the program; --suites names one");
  return folder;
}

// The preflight rules of the site. A traffic class that is no number is refused by the kernel that
// reads it.
PreflightSite preflight_site(const plan::Site& site) {
  PreflightSite rules{.lossless_priority = site.lossless_priority, .traffic_class = std::nullopt};
  if (const auto found = site.defaults.find("traffic_class"); found != site.defaults.end())
    if (const auto number = parse_integer(found->second); number && *number >= 0 && *number < 256)
      rules.traffic_class = static_cast<std::uint32_t>(*number);
  return rules;
}

// Marks the database before any modelled data arrives; `flag` wants that.
Status mark_synthetic_for(std::string_view flag, store::Store& store) {
  const Status marked = store.write(store::mark_synthetic);
  if (marked) return {};
  return fail(marked.error().code == Code::kFailedPrecondition ? Code::kInvalidArgument
                                                               : marked.error().code,
              fmt::format("{}: {}", flag, marked.error().message));
}

// A simulated clock is for modelled data alone.
Status begin_simulated_clock(store::Store& store, const Config& config) {
  // The clock first: a start that fails leaves the database as it was.
  const std::string path = clock_page_of(config);
  // Where the clock's file is gone, the time continues from what is stored.
  const double last = RG_TRY(store.read(store::read_last_time));
  auto page = RG_TRY(ClockPage::make(path, std::max(*config.simulated_clock, last)));
  RG_TRY_OK(mark_synthetic_for("--simulated-clock", store));
  use_simulated_clock(page);
  spdlog::warn("the clock is simulated and shows {}; railgauge clock {} moves it",
               rfc3339(page->now()), path);
  return {};
}

// The key that signs certificates; "": none is set. A key that cannot sign is refused now, not when
// somebody asks for a certificate.
Result<std::string> read_certificate_key(const Config& config) {
  if (config.certificate_key.empty()) return std::string();
  std::string key = RG_TRY(trust::read_key("certificate-key", config.certificate_key));
  if (const auto tried = trust::sign("", key); !tried)
    return fail(tried.error().code, fmt::format("--certificate-key {}: {}", config.certificate_key,
                                                tried.error().message));
  return key;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const Config& config,
                                              fleet::FleetOptions fleet_options) {
  WatchPolicy upgrades = RG_TRY(watch_policy_of(config.upgrade_policy, config.upgrade_window));
  plan::Site site;
  if (!config.site_profile.empty()) site = RG_TRY(plan::read_site_file(config.site_profile));
  fleet_options.kept_facts = facts_of_leaves(site.topology);
  fleet_options.kept_facts.emplace_back(api::kMetricsPortFact);
  std::vector<deliver::Target> targets = RG_TRY(deliver::read_targets(config.deliver));
  std::string certificate_key = RG_TRY(read_certificate_key(config));
  store::StoreOptions store_options;
  store_options.path = config.database;
  std::unique_ptr<store::Store> store = RG_TRY(store::Store::open(std::move(store_options)));
  const bool is_mirror_armed = RG_TRY(arm_mirror(config, *store));
  if (config.synthetic) RG_TRY_OK(mark_synthetic_for("--synthetic", *store));
  if (config.simulated_clock) RG_TRY_OK(begin_simulated_clock(*store, config));
  ArchiveGates gates = RG_TRY(begin_term(config, *store, fleet_options.term));
  std::unique_ptr<audit::AuditLog> audit =
      RG_TRY(audit::AuditLog::open(*store, {.file = audit_log_of(config)}));
  std::unique_ptr<Server> server(new Server(std::move(store), std::move(audit), config,
                                            std::move(upgrades), std::move(site), fleet_options,
                                            std::move(certificate_key)));
  if (!config.site_profile.empty()) spdlog::info("site profile {}", config.site_profile);
  server->gates_ = std::move(gates);
  RG_TRY_OK(server->open_roles(config, fleet_options.term));
  server->record_restores(config.database);
  server->open_reporter(config, std::move(targets));
  RG_TRY_OK(server->end_interrupted_runs());
  // A pause that ended while no controller ran ends before any run begins.
  RG_TRY_OK(server->control_.pauses().load());
  server->control_.pauses().tick(fleet::unix_seconds());
  server->site_words_.refresh();
  server->feed_.restore(fleet::unix_seconds());
  RG_TRY_OK(server->open_enrolment(config));
  RG_TRY_OK(server->start_grpc(config));
  RG_TRY_OK(server->start_http(config));
  RG_TRY_OK(server->start_console(config));
  RG_TRY_OK(server->start_enrolment(config));
  if (config.simulated_clock) server->start_fast_forward();
  server->start_mirror(config, is_mirror_armed);
  server->note("controller_started",
               fmt::format("the controller of version {} started", RAILGAUGE_VERSION));
  return server;
}

// The order of the members is the order of construction; threads start last.
Server::Server(std::unique_ptr<store::Store> store, std::unique_ptr<audit::AuditLog> audit,
               const Config& config, WatchPolicy upgrades, plan::Site site,
               fleet::FleetOptions fleet_options, std::string certificate_key)
    : store_(std::move(store)),
      audit_(std::move(audit)),
      leaves_([site](const std::vector<store::NodeRow>& nodes) { return leaves_of(site, nodes); },
              facts_of_leaves(site.topology)),
      certifier_(*store_, std::move(certificate_key), leaves_),
      run_judge_(*store_, leaves_),
      matrices_(*store_, leaves_),
      fleet_(loop_, *store_, std::move(fleet_options)),
      preflights_(loop_, fleet_, *store_, preflight_site(site)),
      director_(loop_, fleet_, *store_, metrics_),
      control_(loop_, fleet_, director_, *store_, preflights_, SuiteFolder(suites_folder(config)),
               site),
      schedules_(loop_, director_, control_, *store_),
      upgrade_watch_(std::move(upgrades), control_, *store_),
      site_words_(*store_, std::move(site)),
      feed_(metrics_, *store_, config.database, leaves_, [this] { return matrices_.done(); }),
      archive_(*store_, retention_of(config.keep_days), Archive::kExportRanks, leaves_,
               backup_folder_of(config)),
      tokens_(*store_, fleet::unix_seconds),
      retention_(retention_of(config.keep_days)),
      backups_(backup_folder_of(config), config.backups,
               {.store = *store_, .series = metrics_.series(), .did = own_acts()}),
      viewers_(std::make_unique<fleet::WorkerPool>(kViewerWorkers)),
      pool_(std::make_unique<fleet::WorkerPool>(kWorkers, viewers_.get())),
      plans_(std::make_unique<fleet::WorkerPool>(1, viewers_.get())),
      queries_(std::make_unique<fleet::WorkerPool>(kQueryWorkers, viewers_.get())),
      verdicts_(std::make_unique<fleet::WorkerPool>(kVerdictWorkers)),
      sql_(std::make_unique<fleet::WorkerPool>(1)),
      whole_(std::make_unique<fleet::WorkerPool>(1)),
      upkeep_(std::make_unique<fleet::WorkerPool>(1)),
      tickets_(std::make_unique<fleet::WorkerPool>(1)),
      starter_(std::make_unique<fleet::WorkerPool>(1)),
      feeder_(std::make_unique<fleet::WorkerPool>(1)),
      agent_link_(make_agent_link_service(fleet_, peers_, gate_)),
      control_service_(make_control_service(control_, schedules_, gate_, {*pool_, *plans_})),
      archive_service_(
          make_archive_service(archive_, gate_, {*queries_, *sql_, *whole_, *upkeep_})),
      judge_service_(make_judge_service(
          control_, *store_, gate_, {*queries_, *verdicts_},
          [this](const std::string& subject) { return certifier_.certify(subject); }, leaves_)),
      console_service_(make_console_service(
          [this](const auth::Peer& caller, const api::OpenConsoleRequest& request) {
            return make_ticket(caller, request.sudo_user());
          },
          gate_, *tickets_)),
      enrolment_service_(make_enrolment_service(tokens_, gate_, *pool_)) {
  schedules_.on_act(own_acts());
  upgrade_watch_.on_act(own_acts());
  control_.pauses().on_change([this](const Pauses::Held& held) { show_pauses(held); });
  control_.set_gate([this] { return memory_.check(); });
  control_.set_memory([this](double bytes) { return memory_.claim(bytes); });
  control_.set_installation(
      [this, config, started_at = fleet::unix_seconds()] { return describe(config, started_at); });
  archive_.set_gate([this](double bytes) { return memory_.check(bytes); });
  if (!config.sql_program.empty()) archive_.set_sql_program(config.sql_program);
  fleet_.set_listener(&director_);
  fleet_.set_audit(audit_.get());
  run_judge_.on_new(
      [this](const std::vector<store::SeriesRow>& series) { start_confirming(series); });
  // Parts are judged by the matrices.
  matrices_.on_done([this](const std::string& run_id) { run_judge_.want(run_id); });
  director_.on_figures([this](const std::string& run_id) { matrices_.want(run_id); });
  director_.on_follow_ups([this](const std::string& run_id, const auto& answer) {
    look_for_follow_ups(run_id, answer);
  });
  loop_.on_tick([this] { on_tick(); });
}

Membership Server::look_up(const std::string& user) const {
  return membership_of(user, ::geteuid(), unix_->group());
}

// Answers at once, with none, where the pools end.
void Server::look_for_follow_ups(const std::string& run_id,
                                 const run::Director::PairsAnswer& answer) {
  const auto work = [this, run_id, answer] {
    auto pairs = wanted_pairs(*store_, run_id, leaves_);
    if (!pairs)
      spdlog::warn("run {}: its suspects are not followed up: {}", run_id, pairs.error().message);
    answer(std::move(pairs).value_or(std::vector<plan::WantedPair>{}));
  };
  if (is_ending_ || !queries_->submit(work)) answer({});
}

// Stops in the reverse order: no new calls, then the pools, then the loop.
Server::~Server() {
  forward_.reset();
  mirror_.reset();
  months_.reset();
  loop_.call([this] { is_ending_ = true; });  // later ticks do not use the pools
  store_->stop_upkeep();                      // a backup or check may take longer than the stop
  if (unix_) unix_->stop();
  if (tcp_) tcp_->stop();  // nothing is handed to a server that ends
  http_.reset();
  enroll_http_.reset();
  if (console_) console_->stop();
  if (gates_.answers) gates_.answers->release_all();  // callers wait
  console_http_.reset();                              // before the server whose services it asks
  if (grpc_) {
    loop_.call([this] { fleet_.close_all("the controller is stopping"); });
    grpc_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(
                        std::chrono::duration<double>(kShutdownSeconds)));
    grpc_->Wait();
  }
  run_judge_.stop();
  for (auto* pool : {&pool_, &plans_, &queries_, &viewers_, &verdicts_, &sql_, &whole_, &upkeep_,
                     &tickets_, &starter_, &feeder_})
    pool->reset();    // before the loop, which their work may call
  reporter_.reset();  // its calls of services have ended with the pools
  loop_.stop();
  grpc_.reset();
  if (tcp_) tcp_->finish();  // gRPC has closed its ends: their last bytes reach the peers
}

// Restores happen while no controller runs. The notes stay until their rows are stored.
void Server::record_restores(const std::string& database) {
  constexpr double kSettleSeconds = 10;
  const auto notes = store::read_restore_notes(database);
  for (const store::RestoreNote& note : notes)
    audit_->did("restore", fmt::format("{} at {}: {}; the old file: {}", note.user, note.at,
                                       note.backup, note.kept.empty() ? "none" : note.kept));
  if (!notes.empty() && audit_->settle(kSettleSeconds)) store::remove_restore_notes(database);
}

// Ends runs that the previous controller left open as crashed.
Status Server::end_interrupted_runs() {
  const auto tried = store_->end_interrupted_runs();
  is_behind_ = !tried && tried.error().code == Code::kResourceExhausted;
  if (is_behind_) {
    store_->hold("runs that the last controller left open are not ended yet: " +
                 tried.error().message);
    spdlog::error("the controller starts read-only: {}", tried.error().message);
    return {};
  }
  store_->hold("");
  const std::vector<std::string> ended = RG_TRY(tried);
  if (ended.empty()) return {};
  std::vector<std::string> whole;
  for (const std::string& run_id : ended) {
    // The final records that are still to come have the other runs judged.
    matrices_.want_quietly(run_id);
    if (!store_->read(store::is_cut_short, run_id).value_or(true)) whole.push_back(run_id);
  }
  loop_.call([&] { left_open_.insert(left_open_.end(), whole.begin(), whole.end()); });
  const std::string runs = fmt::format("{}", fmt::join(ended, ", "));
  for (const std::string& run_id : ended)
    spdlog::warn("run {}: the last controller left it open; it ended as crashed", run_id);
  audit_->did("end_runs", fmt::format("left open by the last controller: {}", runs));
  return {};
}

OwnAct Server::own_acts() {
  return [this](std::string act, std::string subject, const Status& outcome) {
    audit_->did(std::move(act), std::move(subject), outcome);
  };
}

void Server::note(std::string kind, std::string text) {
  if (const Status added = store_->add_event({.kind = std::move(kind), .text = std::move(text)});
      !added)
    spdlog::warn("event not stored: {}", added.error().message);
}

// Before any run ends, so that no report finds it absent.
void Server::open_reporter(const Config& config, std::vector<deliver::Target> targets) {
  auto reporter = std::make_unique<Reporter>(
      std::move(targets), config.post_program,
      Reporter::Site{.store = *store_,
                     .series = metrics_.series(),
                     .note = [this](std::string kind,
                                    std::string text) { note(std::move(kind), std::move(text)); }},
      report_source({control_, archive_, schedules_, *store_, leaves_}));
  loop_.call([&] { reporter_ = std::move(reporter); });
  run_judge_.on_judged([this](const std::string& run_id) {
    if (const Status proved = judge_proof(*store_, run_id, fleet::unix_seconds(), leaves_); !proved)
      spdlog::warn("run {}: its proof is not judged: {}", run_id, proved.error().message);
    static_cast<void>(queries_->submit([this, run_id] { reporter_->run_judged(run_id); }));
  });
}

// Stores that a stranger was refused. The log has a line for each row.
void Server::note_stranger(const std::string& user, const std::string& address,
                           const std::string& act, const std::string& subject,
                           const Error& reason) {
  const std::string who = user.empty() ? "unknown" : user;
  const bool has_row =
      audit_->refused_stranger({.caller = {.who = who,
                                           .role = std::string(auth::name_of(auth::Role::kNone)),
                                           .address = address},
                                .rpc = act,
                                .subject = subject},
                               reason);
  if (has_row) spdlog::warn("{} of {} at {} refused: {}", act, who, address, reason.message);
}

// The answer to `doctor`. Settings are as they were given.
api::Installation Server::describe(const Config& config, double started_at) {
  api::Installation told;
  told.set_started_at(rfc3339(started_at));
  told.set_socket(config.socket);
  told.set_listen(config.tcp.listen);
  told.set_insecure(config.tcp.insecure);
  told.set_metrics_listen(config.metrics_listen);
  told.set_database(config.database);
  told.set_backup_folder(backup_folder_of(config));
  if (const auto newest = store::newest_backup(told.backup_folder())) {
    told.set_newest_backup_at(rfc3339(newest->written_at));
    told.set_newest_backup_bytes(newest->bytes);
  }
  const std::string troubles = remarks() + (tcp_ ? tcp_->listener().trouble() : std::string());
  for (const std::string_view line : split(troubles, '\n'))
    if (!line.empty()) told.add_troubles(std::string(line));
  told.set_metrics(metrics_.text());
  return told;
}

// For people who look at /healthz: a part that does not work, a line each.
std::string Server::remarks() {
  std::string lines = store_->trouble();
  if (!lines.empty()) lines += '\n';
  if (const Status short_of = memory_.check(); !short_of) lines += short_of.error().message + '\n';
  if (tls_) lines += tls_->trouble();
  const std::lock_guard lock(settings_mutex_);
  return lines + waiting_settings_ + refused_settings_;
}

// The clock of the controller: called on the event loop.
void Server::on_tick() {
  if (is_ending_) return;
  const double now = fleet::monotonic_seconds();
  const auto is_due = [now](double& next, double period_seconds) {
    if (now < next) return false;
    next = now + period_seconds;
    return true;
  };
  fleet_.tick(now);
  for (const auto& gate : {gates_.starts, gates_.answers})
    if (gate) gate->tick(now);
  director_.tick(now);
  if (manager_ != nullptr && !stopping_ && is_due(next_life_, kLifeSeconds))
    manager_->alive(monotonic_now_ns(), state_text());
  if (is_due(next_revoked_, kRevokedSeconds)) {
    end_revoked();
    if (const std::size_t calls = gate_.held().cancel_overdue(now); calls > 0)
      spdlog::warn("{} calls cancelled: their callers do not take the answers", calls);
  }
  if (is_due(next_nodes_, kNodesSeconds)) show_nodes();
  if (is_port_open_) show_port();
  metric::Registry& series = metrics_.series();
  series.set("railgauge_run_active", {}, director_.idle() ? 0 : 1);
  for (const run::Priority priority :
       {run::Priority::kGate, run::Priority::kCli, run::Priority::kSchedule})
    series.set("railgauge_runs_waiting", {{"priority", std::string(text_of(priority))}},
               static_cast<double>(director_.waiting(priority)));
  // The fleet counts; the metric follows and never falls.
  series.raise_to("railgauge_records_stored_total", {},
                  static_cast<double>(fleet_.records_stored()));
  for (const auto& [code, count] : fleet_.refused_agents())
    series.raise_to("railgauge_agents_refused_total", {{"code", code}}, count);
  const bool has_host_clock = !simulated_clock();
  if (has_host_clock && !stopping_ && is_due(next_schedules_, kScheduleSeconds))
    static_cast<void>(starter_->submit([this] { start_due(fleet::unix_seconds()); }));
  if (has_host_clock && !stopping_ && is_due(next_upgrades_, kUpgradeSeconds))
    static_cast<void>(queries_->submit([this] { watch_upgrades(fleet::unix_seconds()); }));
  if (reporter_ && reporter_->has_targets() && has_host_clock && !stopping_ &&
      is_due(next_reports_, kReportSeconds))
    static_cast<void>(queries_->submit(
        [this] { reporter_->look_for_upgrades(fleet::unix_seconds() - kReportPastSeconds); }));
  if (now >= judges_left_open_) judge_late(now);
  const bool may_prune = director_.idle() || now >= next_prune_ + kPruneGraceSeconds;
  if (has_host_clock && may_prune && is_due(next_prune_, kPruneSeconds))
    static_cast<void>(upkeep_->submit([this] { prune_store(); }));
  if (has_host_clock && !stopping_ && is_due(next_backup_, kBackupLookSeconds))
    static_cast<void>(upkeep_->submit(
        [this] { backups_.look(fleet::monotonic_seconds(), fleet::unix_seconds()); }));
  if (is_due(next_give_back_, kGiveBackSeconds))
    static_cast<void>(feeder_->submit([] { give_back_free_memory(); }));
  const std::string trouble = store_->trouble();
  series.set("railgauge_store_read_only", {}, trouble.empty() ? 0 : 1);
  series.set("railgauge_memory_short", {}, memory_.check() ? 0 : 1);
  if (!trouble.empty() && is_due(next_space_, kSpaceSeconds))
    static_cast<void>(starter_->submit([this] { look_for_room(); }));
  if (!is_due(next_stats_, kStatsSeconds)) return;
  show_rare_node_facts();
  feed_metrics();
}

void Server::watch_upgrades(double now) {
  upgrade_watch_.tick(now);
  const auto open = open_proposals(*store_, now);
  if (!open) return spdlog::warn("proposals of gates are not counted: {}", open.error().message);
  metrics_.series().set("railgauge_upgrades_proposed", {}, static_cast<double>(open->size()));
}

void Server::start_fast_forward() {
  next_prune_ = calendar_seconds() + kFirstPruneSeconds;
  forward_ = std::make_unique<FastForward>(
      simulated_clock(),
      FastForward::Site{.is_idle = [this] { return is_idle_for_clock(); },
                        .next_due =
                            [this] {
                              const auto start = schedules_.next_start(wall_seconds());
                              const auto end = control_.pauses().next_end();
                              return start && end ? std::min(start, end) : start ? start : end;
                            },
                        .do_due = [this](double now) { do_due(now); }});
}

// In the order in which work is handed on: a run, its figures, its judgement, a confirming run.
bool Server::is_idle_for_clock() {
  if (!loop_.call([this] { return director_.idle(); })) return false;
  const auto stats = store_->stats();
  // Matrices first: they hand their run to the judge before they are idle.
  return stats && stats->queued_records == 0 && matrices_.is_idle() && run_judge_.is_idle() &&
         queries_->is_idle() && verdicts_->is_idle() && starter_->is_idle() && upkeep_->is_idle();
}

// On the fast forward's thread. Pruning comes first, while no run is under way.
void Server::do_due(double now) {
  if (stopping_) return;
  if (now >= next_prune_) {
    next_prune_ += kPruneSeconds * (1 + std::floor((now - next_prune_) / kPruneSeconds));
    prune_store();
  }
  backups_.look(fleet::monotonic_seconds(), now);
  start_due(now);
  watch_upgrades(now);
  reporter_->look_for_upgrades(now - kReportPastSeconds);
}

// On a pool's thread.
void Server::look_for_room() {
  if (is_behind_) static_cast<void>(end_interrupted_runs());
  static_cast<void>(store_->check_writable());
  turn_mirror_off();
}

// One update at a time: an update that takes longer than the pause delays only the next one.
void Server::feed_metrics() {
  if (feeding_.exchange(true)) return;
  const bool taken = feeder_->submit([this] {
    site_words_.refresh();
    feed_.update(fleet::unix_seconds());
    keep_certificates(fleet::unix_seconds());
    feeding_ = false;
  });
  if (!taken) feeding_ = false;
}

// Looks at all streams and calls each time: one may begin while the list changes.
void Server::end_revoked() {
  if (!tls_ || !is_port_open_) return;  // nobody has come by a certificate yet
  fleet_.end_streams("its certificate is revoked",
                     [this](const auth::Peer& peer) { return tls_->is_revoked(peer.certificate); });
  if (const std::size_t calls = peers_.cancel_revoked(); calls > 0)
    spdlog::warn("{} calls of revoked certificates cancelled", calls);
  // Streams of health and reflection too, connections without a call, and certificates that ended.
  tcp_->end_invalid(fleet::monotonic_seconds(), fleet::unix_seconds());
}

void Server::show_nodes() {
  FleetCounts counts;
  double expiring = 0;
  const double soon = fleet::unix_seconds() + kExpiringSeconds;
  const double oldest = fleet::unix_seconds() - MetricsFeed::kKnownNodeSeconds;
  for (const auto& [name, node] : fleet_.nodes()) {
    if (node.presence == fleet::NodePresence::kAttached) {
      ++counts.attached;
      expiring += node.certificate_until_unix > 0 && node.certificate_until_unix < soon ? 1 : 0;
      counts.busy += node.busy && node.busy->reasons_size() > 0 ? 1 : 0;
      counts.waiting_records += node.spool_records.value_or(0);
      counts.clocks_off += node.clock_is_off ? 1 : 0;
      counts.clock_skew_seconds =
          std::max(counts.clock_skew_seconds, std::abs(node.clock_skew_seconds));
    } else if (node.presence == fleet::NodePresence::kDetached) {
      ++counts.detached;
    } else if (node.last_seen_at_unix > oldest) {
      ++counts.lost;
    }
  }
  counts.paused = static_cast<std::uint32_t>(fleet_.paused().size());
  metrics_.set_nodes(counts);
  metrics_.series().set("railgauge_agents_certificate_expiring", {}, expiring);
}

// On a worker's thread. Waits for the loop, so that a run that is asked for next leaves the nodes
// out.
void Server::show_pauses(const Pauses::Held& held) {
  std::map<std::string, std::string> texts;
  LabelledCounts ends;
  for (const auto& [node, pause] : held) {
    texts[node] = pause_text(pause);
    ends[{{"node", node}}] = pause.until;
  }
  metrics_.series().replace("railgauge_node_pause_end_timestamp_seconds", ends);
  loop_.call([&] { fleet_.set_paused(std::move(texts)); });
}

// The metrics of the TCP port, and grpc.health, which says the same as /healthz.
void Server::show_port() {
  const TcpListener::Counts counts = tcp_->listener().counts();
  const std::string trouble = tcp_->listener().trouble();
  metric::Registry& series = metrics_.series();
  const auto total = [&series](const char* result, std::uint64_t count) {
    series.raise_to("railgauge_connections_total", {{"result", result}},
                    static_cast<double>(count));
  };
  total("accepted", counts.accepted);
  total("shed", counts.shed);
  total("timed_out", counts.timed_out);
  total("refused", counts.refused);
  total("left", counts.left);
  const relay::Relay::Counts relayed = tcp_->relay().counts();
  total("broke_rules", relayed.broken);
  total("failed_greeting", relayed.failed);
  series.set("railgauge_connections_open", {}, static_cast<double>(relayed.open));
  series.raise_to("railgauge_connection_pauses_total", {}, static_cast<double>(relayed.paused));
  series.set("railgauge_connections_waiting", {}, static_cast<double>(counts.waiting));
  series.set("railgauge_port_accepts", {}, trouble.empty() ? 1 : 0);
  if (stopping_ || trouble.empty() == is_port_well_) return;
  is_port_well_ = trouble.empty();
  spdlog::log(is_port_well_ ? spdlog::level::info : spdlog::level::err, "{}",
              is_port_well_ ? "the TCP port accepts connections again" : trouble);
  grpc_->GetHealthCheckService()->SetServingStatus(is_port_well_);  // of every service, and ""
}

// Metrics that change rarely: agent versions and nodes that are absent.
void Server::show_rare_node_facts() {
  LabelledCounts agents;
  for (const auto& [name, node] : fleet_.nodes())
    if (node.presence == fleet::NodePresence::kAttached)
      ++agents[{{"version", node.hello->version()}}];
  metrics_.series().replace("railgauge_agents", agents);
  std::uint32_t absent = 0;
  const auto known = feed_.known_nodes();
  for (const std::string& name : *known) absent += fleet_.nodes().contains(name) ? 0 : 1;
  metrics_.series().set("railgauge_nodes", {{"state", "absent"}}, absent);
  show_targets();
}

// Nodes that are lost or absent stay targets for a week, so that Prometheus sees that they are
// down.
void Server::show_targets() {
  const auto stored = feed_.stored_targets();
  if (!stored) return;
  const double oldest = fleet::unix_seconds() - MetricsFeed::kKnownNodeSeconds;
  auto targets = std::make_shared<std::vector<ScrapeTarget>>();
  for (const auto& [name, node] : fleet_.nodes()) {
    if (node.presence == fleet::NodePresence::kLost && node.last_seen_at_unix < oldest) continue;
    const auto& facts = node.hello->facts();
    const auto port = facts.find(api::kMetricsPortFact);
    targets->push_back({.node = name,
                        .peer = node.address,
                        .metrics_port = port == facts.end() ? "" : port->second});
  }
  for (const std::string& name : *feed_.known_nodes())
    if (const auto found = stored->find(name); found != stored->end())
      if (!fleet_.nodes().contains(name)) targets->push_back(found->second);
  const std::lock_guard lock(targets_mutex_);
  targets_ = std::move(targets);
}

// Deletes in small transactions, so that readers and writers continue.
void Server::prune_store() {
  store::Retention retention = [this] {
    const std::lock_guard lock(settings_mutex_);
    return retention_;
  }();
  retention.largest_share = kLargestPrunedShare;
  const auto counts = store_->prune(retention, fleet::unix_seconds());
  if (!counts) {
    audit_->did("prune", "data older than the settings", tl::unexpected(counts.error()));
    return spdlog::warn("store: prune: {}", counts.error().message);
  }
  const std::string pruned =
      fmt::format("{} raw samples, {} distributions, {} points", counts->raw_samples,
                  counts->distributions, counts->points);
  audit_->did("prune", pruned + " deleted");
  spdlog::info("store: pruned {}", pruned);
}

// Measures new findings a second time at once, before anybody is alerted. If the run cannot start,
// the next night confirms the findings or does not.
void Server::start_confirming(const std::vector<store::SeriesRow>& series) {
  static_cast<void>(starter_->submit([this, series] {
    std::vector<std::string> attached;
    const auto nodes = control_.list_nodes({});
    for (int i = 0; nodes && i < nodes->nodes_size(); ++i)
      if (nodes->nodes(i).state() == text_of(api::NodePresence::kAttached))
        attached.push_back(nodes->nodes(i).name());
    const auto again = confirming_run(series, attached);
    if (!again) return;
    api::RunRequest request;
    request.mutable_suite()->set_text(again->suite_text);
    request.mutable_suite()->set_file_name("confirm.yaml");
    request.set_node_set(fmt::format("{}", fmt::join(again->nodes, ",")));
    request.set_trigger("schedule");
    const auto started = control_.start_run(request, std::string(kRunJudgeWho));
    audit_->did("start_run",
                fmt::format("{}: suite=confirm.yaml node_set={} run={}", kRunJudgeWho,
                            request.node_set(), started ? started->run_id() : ""),
                started ? Status() : tl::unexpected(started.error()));
    if (started)
      spdlog::info("run {} measures again what the last one found", started->run_id());
    else
      spdlog::warn("what the last run found is not measured again: {}", started.error().message);
  }));
}

void Server::reload_tls() {
  if (!tls_ || !is_port_open_) return;  // nobody has come by a certificate yet
  spdlog::info("SIGHUP: the TLS files are read again");
  tls_->reload();
}

std::string Server::state_text() {
  const auto attached = std::ranges::count_if(fleet_.nodes(), [](const auto& named) {
    return named.second.presence == fleet::NodePresence::kAttached;
  });
  const std::string trouble = store_->trouble();
  return fmt::format("attached nodes: {}; {}{}{}", attached,
                     director_.idle() ? "no run" : "a run is under way",
                     trouble.empty() ? "" : "; read-only: ", trouble);
}

void Server::report_to(ServiceManager& manager) {
  if (!manager.is_asked()) return;
  loop_.call([this, &manager] {
    manager.ready(state_text());
    manager_ = &manager;
  });
}

void Server::begin_stop() {
  stopping_ = true;
  loop_.call([this] {
    if (grpc_) grpc_->GetHealthCheckService()->SetServingStatus(false);  // as show_port(), here
    director_.stop(std::string(store::kControllerStopping));
  });
}

bool Server::idle() {
  return loop_.call([this] { return director_.idle(); });
}

}  // namespace railgauge
