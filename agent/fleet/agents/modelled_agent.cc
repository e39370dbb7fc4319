#include "agent/fleet/agents/modelled_agent.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "agent/fleet/model/keyed_random.h"
#include "agent/fleet/model/modelled_records.h"
#include "agent/fleet/node/modelled_node.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {
namespace {

constexpr Nanoseconds kSecondNs = 1'000'000'000;
// The scenario is read at least this often while the agent waits for nothing
// else.
constexpr Nanoseconds kLookNs = kSecondNs;
constexpr Nanoseconds kStableNs = 10 * kSecondNs;
constexpr double kLeastBeatSeconds = 0.1;
constexpr double kMostBeatSeconds = 60;
constexpr std::size_t kMaxTasks = 256;
constexpr std::size_t kMaxEvents = 256;

Nanoseconds from_seconds(double seconds) {
  return static_cast<Nanoseconds>(std::llround(seconds * kNsPerSecond));
}

std::tuple<std::string, std::string, std::uint32_t, std::uint32_t> key_of(
    const api::TaskRef& task) {
  return {task.run_id(), task.task_id(), task.attempt(), task.rank()};
}

// Same reasons in the same order.
bool same_busy(const api::BusyState& a, const api::BusyState& b) {
  return std::ranges::equal(a.reasons(), b.reasons(), {}, &api::BusyReason::text,
                            &api::BusyReason::text);
}

std::string busy_words(const Scenario& scenario, std::uint32_t node, const api::BusyState& busy) {
  return fmt::format("node {} is busy: {}", node_name(scenario.fabric, node),
                     busy.reasons(0).text());
}

}  // namespace

ModelledAgent::ModelledAgent(TaskBoard& board, const std::vector<KernelInfo>& kernels,
                             std::uint32_t node, Nanoseconds now)
    : board_(board), kernels_(kernels), node_(node), next_tick_(now) {
  state_ = agent_at(scenario(), node_, now);
  look_ = look_of_node(now);
  fill_busy(scenario(), node_, now, busy_);
}

api::Hello ModelledAgent::hello(Nanoseconds now) const {
  api::Hello hello = hello_at(scenario(), node_, now);
  for (const auto& [key, task] : tasks_) *hello.add_running() = task.prepare.task();
  hello.set_generation(generation_);
  return hello;
}

// As agent/link/generation.h, without a file.
bool ModelledAgent::obeys(std::uint64_t generation, AgentOrders& orders) {
  orders.hang_up = generation < generation_;
  generation_ = std::max(generation_, generation);
  return !orders.hang_up;
}

AgentOrders ModelledAgent::attached(const api::Welcome& welcome, Nanoseconds now) {
  // It left while the Welcome was under way.
  if (link_ != LinkState::kDialling) return {};
  if (AgentOrders refusal; !obeys(welcome.generation(), refusal)) return refusal;
  link_ = LinkState::kAttached;
  attached_at_ns_ = now;
  if (welcome.heartbeat_seconds() > 0)
    beat_every_ns_ =
        from_seconds(std::clamp(welcome.heartbeat_seconds(), kLeastBeatSeconds, kMostBeatSeconds));
  stream_acked_ = spool_.acknowledged();
  if (welcome.has_stored_through_spool_id())
    stream_acked_ = std::min(stream_acked_, welcome.stored_through_spool_id());
  delivery_.attached(stream_acked_);
  if (state_.is_wedged) return {};
  for (api::AgentMessage& message : answers_.all()) say(std::move(message));
  for (const auto& [key, task] : tasks_) {
    api::AgentMessage message;
    *message.mutable_prepared()->mutable_task() = task.prepare.task();
    if (!task.went) say(std::move(message));
  }
  beat(now);
  pump();
  AgentOrders orders;
  flush(now, orders);
  return orders;
}

AgentOrders ModelledAgent::received(const api::ControllerMessage& message, Nanoseconds now) {
  AgentOrders orders;
  // A wedged agent's stream is open, and nobody reads it.
  if (state_.is_wedged) return orders;
  switch (message.body_case()) {
    case api::ControllerMessage::kPrepare:
      if (!obeys(message.prepare().generation(), orders)) return orders;
      on_prepare(message.prepare());
      if (const auto found = tasks_.find(key_of(message.prepare().task())); found != tasks_.end())
        found->second.deadline_ns = now + from_seconds(message.prepare().deadline_seconds());
      break;
    case api::ControllerMessage::kGo:
      if (!obeys(message.go().generation(), orders)) return orders;
      on_go(message.go().task(), now);
      break;
    case api::ControllerMessage::kCancel:
      end_task(key_of(message.cancel().task()), message.cancel().outcome(),
               message.cancel().reason(), now);
      break;
    case api::ControllerMessage::kAck:
      spool_.acknowledge(message.ack().through_spool_id());
      stream_acked_ = std::max(stream_acked_, message.ack().through_spool_id());
      answers_.acknowledged(spool_.acknowledged());
      pump();
      break;
    case api::ControllerMessage::kPreflight:
      on_preflight(message.preflight(), now);
      break;
    default:
      // Modelled ranks exchange nothing, so that no step is for them.
      break;
  }
  flush(now, orders);
  return orders;
}

AgentOrders ModelledAgent::lost(bool for_good, Nanoseconds now) {
  AgentOrders orders;
  delivery_.lost();
  late_.clear();
  said_.clear();
  if (link_ == LinkState::kAttached && now - attached_at_ns_ >= kStableNs) backoff_.reset();
  const double unit = DrawKey(scenario().seed)
                          .with("dial")
                          .with(std::uint64_t{node_})
                          .with(std::uint64_t{++dials_})
                          .uniform();
  dial_at_ns_ =
      now + from_seconds(for_good ? backoff_.refused_seconds(unit) : backoff_.next_seconds(unit));
  if (link_ != LinkState::kAway) link_ = LinkState::kWaiting;
  flush(now, orders);
  return orders;
}

AgentOrders ModelledAgent::tick(Nanoseconds now) {
  AgentOrders orders;
  look(now, orders);
  // A wedged agent whose stream was ended opens none.
  if (link_ == LinkState::kWaiting && !state_.is_wedged && now >= dial_at_ns_) {
    link_ = LinkState::kDialling;
    look_ = look_of_node(now);
    orders.dial = true;
  }
  if (!state_.is_wedged) {
    std::vector<TaskKey> over;
    for (const auto& [key, task] : tasks_)
      if (now >= task.deadline_ns) over.push_back(key);
    for (const TaskKey& key : over)
      end_task(key, kTimedOut, "the task's deadline passed on a modelled node", now);
    if (now >= beat_at_ns_) beat(now);
  }
  flush(now, orders);
  return orders;
}

// A change of the inventory needs a new hello, hence a new stream.
void ModelledAgent::look(Nanoseconds now, AgentOrders& orders) {
  const AgentState before = std::exchange(state_, agent_at(scenario(), node_, now));
  if (state_.starts != before.starts)
    end_all(kCrashed, "the modelled agent was restarted while the task ran", now);
  if (!state_.is_there) return leave(now, orders);
  if (link_ == LinkState::kAway) {
    link_ = LinkState::kWaiting;
    dial_at_ns_ = now;
  }
  // A wedged agent starts anew on a new stream.
  const bool is_freed = before.is_wedged && !state_.is_wedged;
  const bool is_other = !state_.is_wedged && look_of_node(now) != look_;
  if ((is_freed || is_other) && link_ == LinkState::kAttached) {
    orders.hang_up = true;
    look_ = look_of_node(now);
  }
  if (state_.is_wedged) return;
  note_events(now);
  api::BusyState busy;
  fill_busy(scenario(), node_, now, busy);
  if (same_busy(busy, busy_)) return;
  busy_ = std::move(busy);
  beat(now);
  if (busy_.reasons().empty()) return;
  std::vector<TaskKey> yielding;
  for (const auto& [key, task] : tasks_)
    if (!task.prepare.forced()) yielding.push_back(key);
  for (const TaskKey& key : yielding)
    end_task(key, kCancelledOutcome, busy_words(scenario(), node_, busy_), now);
}

void ModelledAgent::leave(Nanoseconds, AgentOrders& orders) {
  orders.hang_up = link_ == LinkState::kAttached || link_ == LinkState::kDialling;
  link_ = LinkState::kAway;
  delivery_.lost();
  said_.clear();
  late_.clear();
}

void ModelledAgent::on_prepare(const api::PrepareTask& prepare) {
  const TaskKey key = key_of(prepare.task());
  if (tasks_.contains(key)) return;
  auto endpoint = parse_endpoint(node_, prepare.endpoint());
  const auto gpu = parse_endpoint(node_, prepare.gpu());
  Error refusal{Code::kCancelled, ""};
  if (!busy_.reasons().empty() && !prepare.forced())
    refusal.message = busy_words(scenario(), node_, busy_);
  else if (!endpoint || !gpu)
    refusal = !endpoint ? endpoint.error() : gpu.error();
  else if (tasks_.size() >= kMaxTasks)
    refusal = {Code::kResourceExhausted, fmt::format("{} tasks run here", tasks_.size())};
  api::AgentMessage message;
  if (!refusal.message.empty()) {
    *message.mutable_refusal()->mutable_task() = prepare.task();
    message.mutable_refusal()->set_outcome(std::string(outcome_of(refusal.code)));
    message.mutable_refusal()->set_reason(refusal.message);
    answers_.add(message, 0);
    return say(std::move(message));
  }
  if (gpu->gpu >= 0) endpoint->gpu = gpu->gpu;
  board_.prepare(prepare, *endpoint);
  tasks_[key] = {.prepare = prepare};
  *message.mutable_prepared()->mutable_task() = prepare.task();
  say(std::move(message));
}

// Modelled tasks take no time.
void ModelledAgent::on_go(const api::TaskRef& task, Nanoseconds now) {
  const auto found = tasks_.find(key_of(task));
  if (found == tasks_.end() || found->second.went) return;
  found->second.went = true;
  const api::PrepareTask& prepare = found->second.prepare;
  const auto done = board_.run(task, now);
  RankForm form{.unix_time_seconds = clock_at(scenario(), node_, now),
                .endpoint = prepare.endpoint()};
  if (!prepare.gpu().empty()) form.endpoint += "+" + prepare.gpu();
  form.key.set_run_id(task.run_id());
  form.key.set_task_id(task.task_id());
  form.key.set_attempt(task.attempt());
  form.key.set_rank(task.rank());
  const auto kernel = std::ranges::find(kernels_, prepare.kernel(), &KernelInfo::name);
  if (kernel != kernels_.end()) form.revision = kernel->revision();
  std::vector<Record> records = records_of(done->task, done->result, form);
  if (records.front().has_started())
    records.front().mutable_started()->mutable_facts()->insert(prepare.facts().begin(),
                                                               prepare.facts().end());
  finish(found->first, std::move(records));
}

void ModelledAgent::on_preflight(const api::PreflightOrder& order, Nanoseconds now) {
  api::AgentMessage message;
  *message.mutable_preflight() = preflight_at(scenario(), node_, now, order);
  say(std::move(message));
}

void ModelledAgent::end_task(const TaskKey& key, std::string_view outcome,
                             const std::string& reason, Nanoseconds now) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  Record record;
  RecordKey& record_key = *record.mutable_key();
  const api::TaskRef& task = found->second.prepare.task();
  record_key.set_run_id(task.run_id());
  record_key.set_task_id(task.task_id());
  record_key.set_attempt(task.attempt());
  record_key.set_rank(task.rank());
  record.set_unix_time_seconds(clock_at(scenario(), node_, now));
  record.mutable_final()->set_outcome(std::string(outcome));
  record.mutable_final()->set_reason(reason);
  finish(key, {std::move(record)});
}

void ModelledAgent::end_all(std::string_view outcome, const std::string& reason, Nanoseconds now) {
  std::vector<TaskKey> keys;
  for (const auto& [key, task] : tasks_) keys.push_back(key);
  for (const TaskKey& key : keys) end_task(key, outcome, reason, now);
}

void ModelledAgent::finish(const TaskKey& key, std::vector<Record> records) {
  const auto found = tasks_.find(key);
  const api::TaskRef task = found->second.prepare.task();
  const Final final = records.back().final();
  tasks_.erase(found);
  board_.end(task);
  spool_.append(std::move(records));
  pump();
  api::AgentMessage message;
  *message.mutable_ended()->mutable_task() = task;
  message.mutable_ended()->set_outcome(final.outcome());
  message.mutable_ended()->set_reason(final.reason());
  answers_.add(message, spool_.last_id());
  say(std::move(message));
}

void ModelledAgent::beat(Nanoseconds now) {
  beat_at_ns_ = now + beat_every_ns_;
  if (!is_attached()) return;
  api::AgentMessage message;
  api::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_unix_time_seconds(clock_at(scenario(), node_, now));
  heartbeat.set_spool_records(static_cast<double>(spool_.waiting()));
  if (!tasks_.empty()) heartbeat.set_busy_task_id(std::get<1>(tasks_.begin()->first));
  *heartbeat.mutable_busy() = busy_;
  for (api::NodeEvent& event : events_) *heartbeat.add_events() = std::move(event);
  events_.clear();
  say(std::move(message));
}

// The counters of a port that loses packets grow beyond their limits; so do
// those of a link that goes down.
void ModelledAgent::note_events(Nanoseconds now) {
  std::vector<std::size_t> there;
  for (std::size_t i = 0; i < scenario().faults.size(); ++i) {
    const Fault& fault = scenario().faults[i];
    const bool shows = fault.harm.loss > 0 || fault.harm.takes >= 1;
    if (shows && fault.part == Part::kPort && std::cmp_equal(fault.node, node_) &&
        is_there(scenario(), i, now))
      there.push_back(i);
  }
  if (there == faults_) return;
  for (const std::size_t i : there) {
    if (std::ranges::count(faults_, i) > 0 || events_.size() >= kMaxEvents) continue;
    const Fault& fault = scenario().faults[i];
    const bool down = fault.harm.takes >= 1;
    api::NodeEvent& event = events_.emplace_back();
    event.set_kind("counter");
    event.set_severity(severity::kCritical);
    event.set_subject(nic_name(static_cast<std::uint32_t>(fault.nic)) + ":1");
    event.set_text(fmt::format("{}: {} grew: {}", kSynthetic, down ? "link_downed" : "symbol_error",
                               down ? "the link went down" : "a bad cable, transceiver or port"));
    event.set_unix_time_seconds(clock_at(scenario(), node_, now));
  }
  faults_ = std::move(there);
  if (!events_.empty()) beat(now);
}

void ModelledAgent::pump() {
  for (;;) {
    const std::uint64_t allowance =
        delivery_.allowance(std::min(stream_acked_, spool_.acknowledged()));
    if (allowance == 0) return;
    const auto records = spool_.read(delivery_.sent_through(), allowance);
    if (records.empty()) return;
    api::AgentMessage message;
    for (const api::SpooledRecord& record : records)
      *message.mutable_records()->add_records() = record;
    delivery_.sent(records.back().spool_id());
    say(std::move(message));
  }
}

// Messages without a stream are dropped: what matters is said again on the next
// one.
void ModelledAgent::say(api::AgentMessage message) {
  if (is_attached()) said_.push_back(std::move(message));
}

void ModelledAgent::flush(Nanoseconds now, AgentOrders& orders) {
  for (api::AgentMessage& message : said_)
    if (state_.late_ns > 0)
      late_.emplace_back(now + state_.late_ns, std::move(message));
    else
      orders.send.push_back(std::move(message));
  said_.clear();
  while (!late_.empty() && late_.front().first <= now) {
    orders.send.push_back(std::move(late_.front().second));
    late_.pop_front();
  }
  next_tick_ = now + kLookNs;
  if (link_ == LinkState::kWaiting && !state_.is_wedged)
    next_tick_ = std::min(next_tick_, dial_at_ns_);
  if (link_ == LinkState::kAttached && !state_.is_wedged)
    next_tick_ = std::min(next_tick_, beat_at_ns_);
  if (!late_.empty()) next_tick_ = std::min(next_tick_, late_.front().first);
}

// Two hellos are equal where these are: the stack, the agent's starts, the
// links.
std::uint64_t ModelledAgent::look_of_node(Nanoseconds now) const {
  DrawKey key(agent_at(scenario(), node_, now).starts);
  for (std::size_t i = 0; i < scenario().changes.size(); ++i) {
    const StackChange& change = scenario().changes[i];
    if (change.nodes.has(node_) && change.when.covers(now)) key = key.with(std::uint64_t{i});
  }
  for (std::uint32_t nic = 0; nic < scenario().hardware(node_).nics; ++nic)
    if (is_link_down(scenario(), node_, static_cast<std::int32_t>(nic), now))
      key = key.with("down").with(std::uint64_t{nic});
  return key.bits();
}

}  // namespace railgauge::fleet
