#include "agent/agent.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "agent/inventory/contract.h"
#include "agent/inventory/facts/files.h"
#include "agent/inventory/read_inventory.h"
#include "agent/os/atomic_file.h"
#include "agent/os/children.h"
#include "agent/os/resident.h"
#include "agent/recovery.h"
#include "agent/tasks/kernel_list.h"
#include "controller/api/contract.h"
#include "controller/http/web_config.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/landlock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr double kSecondNs = 1e9;
constexpr double kTickNs = kSecondNs;
constexpr double kStoreRetryNs = kSecondNs;
constexpr double kPruneNs = 600 * kSecondNs;
constexpr double kLeastBeatSeconds = 0.2;
constexpr double kMostBeatSeconds = 60;
// The first and the longest wait between two tries to get the list of kernels; each is twice the
// one before. A node that boots is busy: its runner may need seconds to start.
constexpr double kFirstKernelsNs = 1 * kSecondNs;
constexpr double kKernelsNs = 30 * kSecondNs;
constexpr double kListSeconds = 10;
constexpr double kStopNs = 10 * kSecondNs;     // for tasks to end after a stop
constexpr double kFarewellNs = 2 * kSecondNs;  // for the controller to take the last records
constexpr std::size_t kMaxPollFds = 64;
constexpr std::size_t kMostLabelFileBytes = 64U << 10U;
constexpr double kFirstLookSeconds = 2;    // of the busy guard, before the first Hello
constexpr std::size_t kStoreRecords = 64;  // in one transaction, which an almost full disk takes

double unix_now_seconds() { return static_cast<double>(::time(nullptr)); }

// Wakes the loop, from any thread.
void ring(int fd) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(fd, &one, sizeof(one)));  // full means that it rings already
}

// A step may be as large as a frame to the runner. Parts of other messages reach records and
// answers, which must stay below the controller's own limit, also for the controller after a
// hostile one.
constexpr std::size_t kMostOrderBytes = 2U << 20U;
constexpr std::size_t kMostNameBytes = 1024;

api::TaskRef task_of(const api::ControllerMessage& message) {
  if (message.has_prepare()) return message.prepare().task();
  if (message.has_go()) return message.go().task();
  if (message.has_step()) return message.step().task();
  return message.has_cancel() ? message.cancel().task() : api::TaskRef{};
}

bool has_names_in_bounds(const api::TaskRef& task) {
  return task.run_id().size() <= kMostNameBytes && task.task_id().size() <= kMostNameBytes;
}

Status check_sizes(const api::ControllerMessage& message) {
  if (!has_names_in_bounds(task_of(message)))
    return invalid("its task has a name of more than {} bytes", kMostNameBytes);
  if (!message.has_step() && message.ByteSizeLong() > kMostOrderBytes)
    return invalid("it has {} bytes; this agent takes at most {}", message.ByteSizeLong(),
                   kMostOrderBytes);
  return {};
}

// The runners of this node have the agent's user, so only Landlock keeps them from these files.
void hide_secrets(AgentOptions& options) {
  const auto hide = [&](const std::string& path) {
    if (path.empty()) return;
    options.supervisor.task.confinement.hidden.push_back(std::filesystem::absolute(path).string());
  };
  hide(options.state_dir);
  hide(options.link.tls_key);
  hide(options.web_config);
  if (options.web_config.empty()) return;
  if (const auto web = http::read_web_config(options.web_config)) hide((*web)->key);
}

std::string name_of(const api::TaskRef& task) {
  return fmt::format("run {} task {} attempt {}", task.run_id(), task.task_id(), task.attempt());
}
}  // namespace

Result<std::unique_ptr<Agent>> Agent::open(AgentOptions options, Metrics& metrics) {
  options.busy.sysfs_root = options.watch.sysfs_root = options.sysfs_root;
  options.busy.proc_root = options.watch.proc_root = options.proc_root;
  hide_secrets(options);
  RG_TRY_OK(read_busy_sources(options.busy));
  Identity identity = RG_TRY(load_identity(options.state_dir));
  auto generations = RG_TRY(GenerationBook::open(options.state_dir + "/controller-generation"));
  options.link.generations = generations.get();
  Spool spool = RG_TRY(Spool::open({.path = options.state_dir + "/agent-spool.db",
                                    .max_bytes = options.spool_bytes,
                                    .keep_seconds = options.spool_keep_hours * 3600}));
  Recovered recovered = RG_TRY(recover_open_tasks(spool));
  if (!recovered.finals.empty())
    spdlog::warn("{} tasks were open when the agent before this one ended; {} runners killed",
                 recovered.finals.size(), recovered.killed_runners);
  Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake) return fail(Code::kResourceExhausted, "eventfd: no descriptor left");
  std::unique_ptr<Agent> agent(new Agent(std::move(options), metrics, std::move(identity),
                                         std::move(spool), std::move(wake)));
  agent->generations_ = std::move(generations);
  agent->pending_ = std::move(recovered.finals);
  const Confinement& rules = agent->options_.supervisor.task.confinement;
  const std::string confinement = describe_confinement(rules, landlock_version());
  const bool open = landlock_version() == 0 || !rules.landlock;
  spdlog::log(open ? spdlog::level::warn : spdlog::level::info, "confinement of runners: {}",
              confinement);
  // The list and the handshake need memory of their own; what the start touched is not used again.
  give_back_memory();
  agent->load_kernels();
  agent->restore_shown();
  return agent;
}

Agent::Agent(AgentOptions options, Metrics& metrics, Identity identity, Spool spool, Fd wake)
    : options_(std::move(options)),
      metrics_(metrics),
      identity_(std::move(identity)),
      spool_(std::move(spool)),
      wake_(std::move(wake)),
      supervisor_(options_.supervisor, *this,
                  [this](const api::TaskRef& task, pid_t pid) {
                    return spool_.open_task({.task = task,
                                             .pid = pid,
                                             .start_ticks = process_start_ticks(pid).value_or(0),
                                             .next_sequence = 0});
                  }),
      modes_(options_.supervisor.task.confinement.hidden),
      guard_(options_.busy, read_busy_sources(options_.busy).value(),
             [fd = wake_.get()] { ring(fd); }),
      watch_(options_.watch, [fd = wake_.get()] { ring(fd); }) {
  hello_.set_node_id(identity_.node_id);
  hello_.set_name(options_.name);
  hello_.set_incarnation(identity_.incarnation);
  hello_.set_version(RAILGAUGE_VERSION);
  preflights_ = std::make_unique<PreflightWorker>(
      PreflightOptions{.node_name = options_.name,
                       .inventory = inventory_options(options_),
                       .runner = options_.supervisor.task.runner,
                       .confinement = options_.supervisor.task.confinement,
                       .state_folder = options_.state_dir},
      [fd = wake_.get()] { ring(fd); });
  link_ = std::make_unique<Link>(options_.link, [fd = wake_.get()] { ring(fd); });
}

void Agent::run(int stop_fd, int hangup_fd) {
  refresh_inventory();
  guard_.start(kFirstLookSeconds);
  watch_.start();
  take_busy();
  send_hello();
  give_back_memory();  // before the link starts, so that the two peaks do not add up
  link_->start();
  report_start();
  while (!may_leave()) {
    wait(stop_fd, hangup_fd);
    take_link_events();
    take_busy();
    take_preflights();
    supervisor_.service();
    store();
    pump();
    guard_.set_runners(supervisor_.pids());
    watch_.set_quiet(supervisor_.size() > 0);
    take_watch();
    tick();
  }
  link_->stop();
  keep_shown();
}

void Agent::wait(int stop_fd, int hangup_fd) {
  std::vector<pollfd> set;
  set.reserve(kMaxPollFds);
  set.push_back({wake_.get(), POLLIN, 0});
  set.push_back({stop_ns_ > 0 ? -1 : stop_fd, POLLIN, 0});
  set.push_back({hangup_fd, POLLIN, 0});
  supervisor_.add_to(set);
  const double wake_ns = std::min({supervisor_.wake_ns(), tick_ns_, beat_ns_});
  const double left_ms = std::clamp((wake_ns - monotonic_now_ns()) / 1e6, 0.0, kTickNs / 1e6);
  ::poll(set.data(), set.size(), static_cast<int>(std::ceil(left_ms)));
  std::uint64_t rung = 0;
  static_cast<void>(!::read(wake_.get(), &rung, sizeof(rung)));
  signalfd_siginfo hangup{};
  if ((set[2].revents & POLLIN) != 0 && ::read(hangup_fd, &hangup, sizeof(hangup)) > 0) {
    look_at_tls(true);
    if (options_.reload) options_.reload();
  }
  if (stop_ns_ == 0 && (set[1].revents & POLLIN) != 0) {
    stop_ns_ = monotonic_now_ns();
    spdlog::info("stopping; {} tasks run", supervisor_.size());
    supervisor_.cancel_all(std::string(kCancelledOutcome), "the agent was stopped");
    report_stop();
  }
}

bool Agent::may_leave() {
  if (stop_ns_ == 0) return false;
  const double since_ns = monotonic_now_ns() - stop_ns_;
  if (since_ns > kStopNs) return true;
  if (supervisor_.size() > 0 || !pending_.empty()) return false;
  const bool said_all = spool_.waiting_records() == 0 && link_->idle();
  return said_all || !delivery_.is_attached() || since_ns > kFarewellNs;
}

void Agent::take_link_events() {
  for (LinkEvent& event : link_->take()) {
    if (event.kind == LinkEvent::Kind::kAttached) on_attached(event.message.welcome());
    if (event.kind == LinkEvent::Kind::kLost) on_lost(event);
    if (event.kind == LinkEvent::Kind::kMessage) on_message(event.message);
  }
}

void Agent::on_attached(const api::Welcome& welcome) {
  spdlog::info("attached to {} (Railgauge {}{}) as {}", link_->controller(),
               welcome.controller_version(),
               welcome.generation() > 0 ? fmt::format(", generation {}", welcome.generation()) : "",
               options_.name);
  if (welcome.heartbeat_seconds() > 0)
    beat_seconds_ = std::clamp(welcome.heartbeat_seconds(), kLeastBeatSeconds, kMostBeatSeconds);
  stream_acked_ = spool_.acknowledged();
  if (welcome.has_stored_through_spool_id() &&
      welcome.stored_through_spool_id() < spool_.acknowledged()) {
    stream_acked_ = welcome.stored_through_spool_id();
    spdlog::warn(
        "the controller lacks records behind {} that it had acknowledged up to {}, most likely a "
        "backup was restored: what the spool still has of them goes up again",
        stream_acked_, spool_.acknowledged());
  }
  delivery_.attached(stream_acked_);
  supervisor_.say_again();
  for (api::AgentMessage& message : answers_.all()) send_answer(std::move(message));
  beat_ns_ = 0;
  if (was_attached_) metrics_.reconnected();
  was_attached_ = true;
  metrics_.set_connected(true);
  lost_reason_.clear();
  if (supervisor_.size() == 0) give_back_memory();  // a handshake by certificates is run once
  note_work();
}

void Agent::on_message(api::ControllerMessage& message) {
  if (const Status fits = check_sizes(message); !fits) {
    spdlog::error("controller {}: a message is refused: {}", link_->controller(),
                  fits.error().message);
    if (message.has_prepare() && has_names_in_bounds(message.prepare().task()))
      refuse(message.prepare().task(), fits.error());
    return;
  }
  if (const Status obeyed = check_generation(message); !obeyed) {
    spdlog::error("{}", obeyed.error().message);
    return link_->redial();
  }
  switch (message.body_case()) {
    case api::ControllerMessage::kPrepare:
      return on_prepare(message.prepare());
    case api::ControllerMessage::kPreflight:
      return preflights_->order(std::move(*message.mutable_preflight()));
    case api::ControllerMessage::kGo:
      return supervisor_.go(message.go().task());
    case api::ControllerMessage::kStep:
      return supervisor_.step(message.step().task(), message.step().step());
    case api::ControllerMessage::kCancel:
      return supervisor_.cancel(message.cancel().task(), message.cancel().outcome(),
                                message.cancel().reason());
    case api::ControllerMessage::kAck:
      ack_through_ = std::max(ack_through_, message.ack().through_spool_id());
      stream_acked_ = std::max(stream_acked_, message.ack().through_spool_id());
      return acknowledge();
    case api::ControllerMessage::kRefused:  // another stream took this one's place
      return spdlog::warn("controller ends this stream: {}", message.refused().reason());
    default:
      spdlog::warn("controller sent a message that this agent does not know");
  }
}

// A full disk may refuse to store an acknowledgement; tick() then tries again.
void Agent::acknowledge() {
  if (const Status status = spool_.acknowledge(ack_through_); !status)
    return spdlog::error("{}", status.error().message);
  answers_.acknowledged(spool_.acknowledged());
  if (store_retry_ns_ > 0) store_retry_ns_ = monotonic_now_ns();  // there may be room now
}

void Agent::on_prepare(const api::PrepareTask& prepare) {
  if (const Status status = start(prepare); !status) return refuse(prepare.task(), status.error());
  send_hello();
}

void Agent::refuse(const api::TaskRef& task, const Error& error) {
  api::AgentMessage message;
  *message.mutable_refusal()->mutable_task() = task;
  message.mutable_refusal()->set_outcome(std::string(outcome_of(error.code)));
  message.mutable_refusal()->set_reason(valid_utf8(error.message));
  spdlog::warn("{} refused: {}", name_of(task), error.message);
  answer(std::move(message), 0);
}

Status Agent::start(const api::PrepareTask& prepare) {
  if (stop_ns_ > 0) return fail(Code::kCancelled, "the agent is being stopped");
  if (store_retry_ns_ > 0)
    return fail(Code::kResourceExhausted,
                fmt::format("the spool takes no records: {}", store_error_));
  if (!busy_.empty() && !prepare.forced()) return fail(Code::kCancelled, busy_text());
  RG_TRY_OK(supervisor_.prepare(prepare));
  guard_.set_runners(supervisor_.pids());
  return {};
}

void Agent::prepared(const api::TaskRef& task) {
  api::AgentMessage message;
  *message.mutable_prepared()->mutable_task() = task;
  prepared_.push_back(std::move(message));
}

void Agent::step(const api::TaskRef& task, GroupStep step) {
  api::AgentMessage message;
  *message.mutable_step()->mutable_task() = task;
  *message.mutable_step()->mutable_step() = std::move(step);
  relay(std::move(message), task);
}

// For messages that the rendezvous needs. While the controller is away, the task keeps them.
void Agent::relay(api::AgentMessage message, const api::TaskRef& task) {
  if (!link_->send(std::move(message)))
    supervisor_.cancel(task, std::string(kCrashed), "controller link lost: its queue is full");
}

void Agent::record(Record record) {
  const TaskKey key = task_key(record.key());
  if (record.has_started()) measured_[key].started = record.started();
  if (const auto it = measured_.find(key); record.has_point() && it != measured_.end())
    metrics_.add_figures(it->second.started, record.point(), record.unix_time_seconds(),
                         it->second.figures);
  pending_.push_back(std::move(record));
}

void Agent::ended(const api::TaskRef& task, Record record, bool was_prepared) {
  const Final& final = record.final();
  spdlog::info("{} rank {}: {} {}", name_of(task), task.rank(), final.outcome(), final.reason());
  for (const std::string& change : modes_.restore())
    spdlog::warn("{} rank {}: while it ran, a mode changed: {}", name_of(task), task.rank(),
                 change);
  metrics_.task_ended(supervisor_.kernel_of(task), final.outcome());
  if (const auto it = measured_.find(task_key(task)); it != measured_.end()) {
    if (final.outcome() == kPassed) show(it->second.figures);
    measured_.erase(it);
  }
  const auto fill = [&](auto& body) {
    *body.mutable_task() = task;
    body.set_outcome(final.outcome());
    body.set_reason(final.reason());
  };
  if (!was_prepared) fill(*after_store_.emplace_back().mutable_refusal());
  fill(*after_store_.emplace_back().mutable_ended());
  pending_.push_back(std::move(record));
}

// Stores records before any message that depends on them is sent. If the spool refuses them, the
// tasks end; the records in memory are then bounded by the content of their pipes, and stay until
// the spool takes them.
void Agent::store() {
  if (pending_.empty()) return send_prepared();
  if (monotonic_now_ns() < store_retry_ns_) return;
  while (!pending_.empty()) {
    const std::size_t count = std::min(pending_.size(), kStoreRecords);
    const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
    if (const Status status = spool_.append({pending_.begin(), end}); !status)
      return store_failed(status.error());
    pending_.erase(pending_.begin(), end);
  }
  if (store_retry_ns_ > 0) spdlog::info("the spool takes records again");
  store_retry_ns_ = 0;
  send_prepared();
  if (!after_store_.empty()) send_hello();  // first: no next stream may call them running
  pump();
  for (api::AgentMessage& message : after_store_) answer(std::move(message), spool_.last_id());
  after_store_.clear();
}

// Runs only after the task's first record is in the spool, so that an agent that is killed right
// after it knows the task on its return, as the controller does.
void Agent::send_prepared() {
  for (api::AgentMessage& message : prepared_) {
    const api::TaskRef task = message.prepared().task();
    relay(std::move(message), task);
  }
  prepared_.clear();
}

void Agent::store_failed(const Error& error) {
  if (store_retry_ns_ == 0) spdlog::error("{}; tasks end", error.message);
  store_error_ = error.message;
  store_retry_ns_ = monotonic_now_ns() + kStoreRetryNs;
  supervisor_.abort_all(error.message);
}

void Agent::answer(api::AgentMessage message, std::uint64_t final_id) {
  answers_.add(message, final_id);
  send_answer(std::move(message));
}

void Agent::send_answer(api::AgentMessage message) {
  if (!link_->send(std::move(message)))
    spdlog::warn("an answer waits for the next stream: the queue to the controller is full");
}

void Agent::pump() {
  while (spool_.last_id() > delivery_.sent_through()) {
    const std::uint64_t allowance =
        delivery_.allowance(std::min(stream_acked_, spool_.acknowledged()));
    if (allowance == 0) return;
    auto records = spool_.read(delivery_.sent_through(), allowance, Delivery::kBatchBytes);
    if (!records) {  // not again before the next stream: the log would fill
      delivery_.lost();
      return spdlog::error("{}; no records are sent", records.error().message);
    }
    if (records->empty()) return;
    const std::uint64_t through = records->back().spool_id();
    api::AgentMessage message;
    for (api::SpooledRecord& record : *records)
      *message.mutable_records()->add_records() = std::move(record);
    if (!link_->send(std::move(message))) return;
    delivery_.sent(through);
  }
}

void Agent::tick() {
  const double now_ns = monotonic_now_ns();
  if (now_ns >= beat_ns_) beat();
  if (now_ns < tick_ns_) return;
  tick_ns_ = now_ns + kTickNs;
  report_life(now_ns);
  end_strays_left();
  metrics_.set_running(static_cast<double>(supervisor_.size()));
  metrics_.set_spool(static_cast<double>(spool_.waiting_records()),
                     static_cast<double>(spool_.used_bytes().value_or(0)),
                     static_cast<double>(options_.spool_bytes));
  metrics_.sample_process();
  if (ack_through_ > spool_.acknowledged()) acknowledge();
  if (now_ns >= prune_ns_) {
    prune_ns_ = now_ns + kPruneNs;
    if (const Status status = spool_.prune(unix_now_seconds()); !status)
      spdlog::error("{}", status.error().message);
  }
  if (supervisor_.size() > 0) note_work();
  if (supervisor_.size() > 0 || stop_ns_ > 0) return;  // no work during a measurement
  keep_shown();
  look_at_tls(false);
  look_again(now_ns);
  enter_rest(now_ns);
}

void Agent::look_at_tls(bool asked) {
  const ClientTls::State state = link_->tls().look(asked);
  if (asked) spdlog::info("SIGHUP: TLS files are read again");
  if (!state.news.empty())
    spdlog::log(state.is_fault ? spdlog::level::err : spdlog::level::info, "{}", state.news);
  if (const std::string warning = link_->tls().warning(unix_now_seconds()); !warning.empty())
    spdlog::warn("{}", warning);
  if (state.is_usable)
    metrics_.set_tls(state.until_unix, state.authority_until_unix,
                     static_cast<double>(state.failures));
}

void Agent::send_hello() {
  api::Hello hello = hello_;
  for (api::TaskRef& task : supervisor_.running()) *hello.add_running() = std::move(task);
  const std::string left_out = fit_hello(hello);
  if (left_out != left_out_ && !left_out.empty())
    spdlog::warn("the controller is not told of {}: beyond the bounds of the contract", left_out);
  left_out_ = left_out;
  link_->set_hello(std::move(hello));
}

// Sends finished preflights. An answer that the link cannot take is dropped: the caller has a
// deadline and asks again.
void Agent::take_preflights() {
  for (api::PreflightAnswer& answer : preflights_->take()) {
    metrics_.set_preflight(answer.report(), static_cast<double>(std::time(nullptr)));
    shown_is_kept_ = false;
    api::AgentMessage message;
    *message.mutable_preflight() = std::move(answer);
    link_->send(std::move(message));
    note_work();
  }
}

void Agent::load_kernels() {
  auto list = list_kernels(options_.supervisor.task.runner, kListSeconds,
                           &options_.supervisor.task.confinement);
  if (!list) {
    kernels_wait_ns_ = std::clamp(2 * kernels_wait_ns_, kFirstKernelsNs, kKernelsNs);
    kernels_ns_ = monotonic_now_ns() + kernels_wait_ns_;
    return spdlog::error("no kernels: {}; tried again in {} s, --runner names the program",
                         list.error().message, kernels_wait_ns_ / kSecondNs);
  }
  metrics_.set_kernels(*list);
  if (const std::string left_out = declare_kernels(*std::move(list), hello_); !left_out.empty())
    spdlog::warn("beyond the contract's bounds and not declared: {}", left_out);
}

namespace {
constexpr std::size_t kMostEvents = 256;  // kept while the controller is away
constexpr double kInventoryNs = 30e9;
constexpr const char* kShownFile = "agent-shown";  // deploy/slurm/verdict.sh reads it, too
constexpr double kRestNs = 3e9;                    // without a task, a preflight or a new stream

// Equal messages give equal bytes. The library's own comparison would build and keep the
// descriptors of all contracts, which nothing else here needs.
std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  return bytes;
}
}  // namespace

InventoryOptions inventory_options(const AgentOptions& options) {
  InventoryOptions inventory;
  if (options.sysfs_root != "/sys") inventory.sysfs = options.sysfs_root;
  if (options.proc_root != "/proc") inventory.proc = options.proc_root;
  inventory.mpi_installations = options.mpi_installations;
  return inventory;
}

// NVML is asked once, and again where there are other GPUs: opening it may wake them.
void Agent::refresh_inventory() {
  inventory_ns_ = monotonic_now_ns() + kInventoryNs;
  InventoryOptions options = inventory_options(options_);
  options.with_kernel_log = false;
  options.with_nvml = false;
  Inventory now = read_inventory(options);
  if (!keep_nvml(inventory_, now)) {
    options.with_nvml = true;
    now = read_inventory(options);
  }
  // The helper reads the machine itself, so it is not asked for another tree.
  if (options.sysfs.empty() && config_keeper_.complete(inventory_, now, monotonic_now_ns()))
    note_work();  // so that the memory of the answer is freed
  inventory_ = std::move(now);
  for (const std::string& source : inventory_.late_sources)
    spdlog::warn("inventory: {} did not answer in {} s; its facts are unknown", source,
                 options.source_seconds);
  fill_hello(inventory_, hello_);
  refresh_labels();
  (*hello_.mutable_facts())["runner_confinement"] =
      describe_confinement(options_.supervisor.task.confinement, landlock_version());
  (*hello_.mutable_facts())[api::kMetricsPortFact] = metrics_.port_fact();
  metrics_.set_node(hello_);
}

// The settings' own labels come first. A file that cannot be read leaves those that it had.
void Agent::refresh_labels() {
  Labels labels = options_.labels;
  if (!options_.labels_file.empty()) {
    const std::string text = small_file(options_.labels_file, kMostLabelFileBytes);
    auto more = parse_label_lines(text);
    const std::string trouble = text.empty() ? "is empty or cannot be read"
                                : more       ? ""
                                             : more.error().message;
    if (trouble != labels_trouble_ && !trouble.empty())
      spdlog::warn("labels file {}: {}; its labels stay as they were", options_.labels_file,
                   trouble);
    labels_trouble_ = trouble;
    if (!trouble.empty()) return;
    labels.merge(*more);
  }
  hello_.clear_labels();
  hello_.mutable_labels()->insert(labels.begin(), labels.end());
}

void Agent::look_again(double now_ns) {
  const bool needs_kernels = hello_.kernels().empty() && now_ns >= kernels_ns_;
  if (!needs_kernels && now_ns < inventory_ns_) return;
  const std::string before = bytes_of(hello_);
  if (needs_kernels) load_kernels();
  if (now_ns >= inventory_ns_) refresh_inventory();
  if (bytes_of(hello_) == before) return;
  send_hello();
  spdlog::info("NICs, GPUs or kernels changed; attaching again to say so");
  link_->redial();
}

void Agent::note_work() { rest_ns_ = monotonic_now_ns() + kRestNs; }

// Frees memory once for each rest; pages that the resting agent touches stay.
void Agent::enter_rest(double now_ns) {
  if (rest_ns_ == 0 || now_ns < rest_ns_) return;
  rest_ns_ = 0;
  give_back_memory();
}

void Agent::show(const Figures& figures) {
  metrics_.show(figures);
  shown_is_kept_ = false;
}

void Agent::restore_shown() {
  remove_draft(options_.state_dir, kShownFile);
  std::stringstream text;
  text << std::ifstream(options_.state_dir + "/" + kShownFile).rdbuf();
  metrics_.restore(text.str(), static_cast<double>(::time(nullptr)));
}

// A failed write is no error: the metrics stay visible until the agent ends.
void Agent::keep_shown() {
  if (shown_is_kept_) return;
  shown_is_kept_ = true;
  if (const Status kept = write_atomically(options_.state_dir, kShownFile, metrics_.kept()); !kept)
    spdlog::warn("{}; the last figures will not be shown after a restart", kept.error().message);
}

std::string Agent::busy_text() const {
  return fmt::format("node {} is busy: {}", options_.name, in_words(busy_));
}

void Agent::fill_busy(api::BusyState& state) const {
  for (const BusyReason& reason : busy_) {
    api::BusyReason& told = *state.add_reasons();
    told.set_source(reason.source);
    told.set_text(valid_utf8(reason.text));
  }
}

// The controller receives the reasons before the ends of the tasks that they cause.
void Agent::take_busy() {
  if (!guard_.looks()) return;
  BusyReasons now = guard_.reasons();
  if (now == busy_ && hello_.has_busy()) return;
  const bool news = !same_sources(now, busy_);
  busy_ = std::move(now);
  hello_.clear_busy();
  fill_busy(*hello_.mutable_busy());
  metrics_.set_busy(busy_);
  if (!news) return;  // the next beat carries the new words
  spdlog::info("{}", busy_.empty() ? "the node is idle" : busy_text());
  send_hello();
  beat();
  if (!busy_.empty()) supervisor_.yield_to_work(busy_text());
}

void Agent::take_watch() {
  Watch::News news;
  if (!watch_.take(news)) return;
  metrics_.set_watch(news.totals, !news.log_source.empty());
  if (news.events.empty()) return;
  for (api::NodeEvent& event : news.events) {
    spdlog::warn("{}", event.text());
    metrics_.node_event(event.kind(), event.severity());
    if (events_.size() < kMostEvents) events_.push_back(std::move(event));
  }
  beat();
}

void Agent::beat() {
  beat_ns_ = monotonic_now_ns() + beat_seconds_ * 1e9;
  if (!delivery_.is_attached()) return;
  api::AgentMessage message;
  api::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_unix_time_seconds(unix_now_seconds());
  heartbeat.set_spool_records(static_cast<double>(spool_.waiting_records()));
  const auto running = supervisor_.running();
  if (!running.empty()) heartbeat.set_busy_task_id(running.front().task_id());
  if (guard_.looks()) fill_busy(*heartbeat.mutable_busy());
  for (const api::NodeEvent& event : events_) *heartbeat.add_events() = event;
  if (link_->send(std::move(message))) events_.clear();
}

}  // namespace railgauge::agent
