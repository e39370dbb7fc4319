#include "controller/fleet/fleet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/fleet/agent_stream.h"
#include "controller/fleet/convert.h"
#include "controller/fleet/hello_check.h"
#include "controller/store/ingest/record_sink.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {

namespace {

// An agent of the next version may have more to say. One line a minute; on the loop.
void note_unknown(const std::string& name) {
  thread_local Turns lines;
  if (lines.take(monotonic_seconds(), 1))
    spdlog::info("node {}: its agent, newer than this controller, sends messages that are left out",
                 name);
}

class Summary {
 public:
  void add(const Record& record) {
    StoredRecords& rank = rank_of(record.key());
    if (record.has_point()) {
      const Point& point = record.point();
      ++rank.points;
      rank.figures.push_back({point.metric(), point.message_bytes(), headline_of(point)});
    }
    if (record.has_final()) rank.final = record.final();
  }
  std::vector<StoredRecords> take() {
    std::vector<StoredRecords> stored;
    for (auto& [key, rank] : ranks_) stored.push_back(std::move(rank));
    return stored;
  }

 private:
  // Records of one rank arrive in sequence, so the last one is usually the same.
  StoredRecords& rank_of(const RecordKey& key) {
    if (last_ != nullptr && last_->task.attempt() == key.attempt() &&
        last_->task.rank() == key.rank() && last_->task.task_id() == key.task_id() &&
        last_->task.run_id() == key.run_id())
      return *last_;
    last_ = &ranks_[{key.run_id(), key.task_id(), key.attempt(), key.rank()}];
    last_->task.set_run_id(key.run_id());
    last_->task.set_task_id(key.task_id());
    last_->task.set_attempt(key.attempt());
    last_->task.set_rank(key.rank());
    return *last_;
  }

  std::map<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>, StoredRecords>
      ranks_;
  StoredRecords* last_ = nullptr;  // in ranks_
};

}  // namespace

const std::shared_ptr<const api::Hello>& no_hello() {
  static const auto none = std::make_shared<const api::Hello>();
  return none;
}

Batch batch_of(api::RecordBatch message) {
  Batch batch;
  batch.first = UINT64_MAX;
  Summary summary;
  std::vector<Record> records;
  records.reserve(static_cast<std::size_t>(message.records_size()));
  for (api::SpooledRecord& spooled : *message.mutable_records()) {
    summary.add(spooled.record());
    batch.first = std::min<std::uint64_t>(batch.first, spooled.spool_id());
    batch.through = std::max<std::uint64_t>(batch.through, spooled.spool_id());
    records.push_back(std::move(*spooled.mutable_record()));
  }
  batch.stored = summary.take();
  batch.parcel = std::make_shared<const store::Parcel>(store::pack(std::move(records)));
  return batch;
}

namespace {

constexpr std::uint32_t kRefusalsAMinute = 6;  // of a peer, that are logged and stored
// Attaches of a node: each may store other facts, and an agent that reconnects waits between its
// attempts.
constexpr std::uint32_t kAttachesAMinute = 60;
constexpr double kEndSeconds = 1;     // of a replaced stream that is not read
constexpr double kReportSeconds = 1;  // between two looks at what was left out

// The summary of those records that the delivery added to the store.
std::vector<StoredRecords> summary_without(const store::Parcel& parcel,
                                           const store::NotNew& not_new) {
  Summary summary;
  for (std::size_t i = 0; i < parcel.records.size(); ++i)
    if (!not_new.has(i)) summary.add(parcel.records[i].record);
  return summary.take();
}

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

}  // namespace

Fleet::Fleet(fleet::EventLoop& loop, store::Store& store, FleetOptions options)
    : loop_(loop),
      store_(store),
      options_(std::move(options)),
      gate_(options_.streams),
      refusals_(kRefusalsAMinute),
      quiet_(std::make_shared<QuietBeats>()),
      roster_(options_.roster) {
  const auto kind = store_.read(store::read_data_kind);
  if (!kind) spdlog::warn("what the data is made of is not read: {}", kind.error().message);
  kind_ = kind.value_or(store::DataKind::kReal);
  const auto bonds = store_.node_bonds();
  if (!bonds) spdlog::warn("names of known nodes not read: {}", bonds.error().message);
  for (const store::NodeBond& bond : bonds.value_or(std::vector<store::NodeBond>{})) {
    roster_.recall(bond.name, bond.node_id, fleet::monotonic_seconds(), bond.certificate);
    if (bond.spool_through)
      stored_through_[bond.node_id] = static_cast<std::uint64_t>(*bond.spool_through);
  }
}

// Everything that takes time for a large message, on the thread that read it.
Fleet::Arrived Fleet::arrived(api::AgentMessage message) {
  Arrived arrived;
  if (message.has_records()) {
    arrived.records = batch_of(std::move(*message.mutable_records()));
    return arrived;
  }
  if (message.has_hello()) {
    api::Hello& hello = *message.mutable_hello();
    // A list that a node has was checked with its Hello.
    if (hello.ByteSizeLong() <= api::kMaxHelloBytes)
      if (KernelsOfNode known = kernels_.find(hello.kernels())) {
        arrived.kernels = std::move(known);
        free_kernels(hello);
      }
    auto declared = check_bounds(hello);
    if (!declared) {
      arrived.bad_hello = declared.error();
      api::Hello& kept = *arrived.message.mutable_hello();
      *kept.mutable_contract() = hello.contract();
      if (is_node_name(hello.name())) kept.set_name(hello.name());
      return arrived;
    }
    if (!hello.kernels().empty())
      arrived.kernels = kernels_.take(hello.kernels(), *std::move(declared));
    free_kernels(hello);
  }
  bound_texts(message);
  arrived.message = std::move(message);
  return arrived;
}

std::shared_ptr<AgentStream> Fleet::open(grpc::CallbackServerContext* context, auth::Peer peer,
                                         std::shared_ptr<void> call) {
  const Session session = next_session_++;
  Status allowed = auth::may_attach(peer);
  const auto place = std::make_shared<StreamGate::Place>();
  if (allowed) {
    auto admitted = gate_.admit(peer);
    if (admitted)
      *place = std::move(*admitted);
    else
      allowed = tl::unexpected(admitted.error());
  }
  if (!allowed) {
    report_refusal(peer, peer.common_name, allowed.error());
    auto refused =
        AgentStream::make(session, context, std::move(peer),
                          {.message = [](Session, const api::AgentMessage&) { return false; },
                           .closed = [call = std::move(call)](Session) {}});
    refused->finish(to_grpc(allowed.error()));
    return refused;
  }
  AgentStream::Events events{
      .message =
          [this, beats = BeatsOfStream()](Session from, api::AgentMessage message) mutable {
            if (message.has_heartbeat() && beats.is_quiet(message.heartbeat()) &&
                quiet_->add(from, beat_of(message.heartbeat())))
              return true;
            loop_.post(
                [this, from, ready = std::make_shared<Arrived>(arrived(std::move(message)))] {
                  on_message(from, std::move(*ready));
                });
            return false;
          },
      .closed =
          [this, place, call = std::move(call)](Session from) {
            gate_.release(*place);
            loop_.post([this, from] { on_closed(from); });
          }};
  auto stream = AgentStream::make(session, context, std::move(peer), std::move(events));
  loop_.post([this, stream, place] {
    const double now = fleet::monotonic_seconds();
    streams_[stream->session()] = {.wire = stream, .place = place, .opened = now};
    next_look_ = std::min(next_look_, now + options_.hello_seconds);
    stream->read_next();
  });
  return stream;
}

void Fleet::on_message(Session session, Arrived arrived) {
  const auto found = streams_.find(session);
  if (found == streams_.end() || found->second.is_ending) return;
  Stream& stream = found->second;
  api::AgentMessage& message = arrived.message;
  if (message.has_hello() && stream.name.empty()) return on_hello(stream, std::move(arrived));
  if (stream.name.empty() || message.has_hello()) {
    stream.is_ending = true;
    return stream.wire->finish(
        {grpc::StatusCode::FAILED_PRECONDITION, "the first message, and only it, must be Hello"});
  }
  roster_.seen(session, fleet::monotonic_seconds());
  const Roster::Node* holder = roster_.find(stream.name);
  if (holder == nullptr || holder->session != session) return;  // replaced meanwhile
  NodeState& node = nodes_[stream.name];
  if (const auto before = quiet_->take(session)) on_beat(node, *before);
  node.last_seen_at_unix = fleet::unix_seconds();
  if (arrived.records) return on_records(stream, std::move(*arrived.records));
  if (message.has_heartbeat())
    on_heartbeat(node, message.heartbeat());
  else if (message.has_preflight()) {
    if (preflight_) preflight_(stream.name, std::move(*message.mutable_preflight()));
  } else if (message.body_case() == api::AgentMessage::BODY_NOT_SET)
    note_unknown(stream.name);
  else if (listener_ != nullptr)
    listener_->task_message(stream.name, std::move(message));
  stream.wire->read_next();
}

Result<Roster::Attached> Fleet::attach(const Stream& stream, const api::Hello& hello) {
  const auth::Peer& peer = stream.wire->peer();
  if (auto bond = roster_.check_bond(hello.name(), hello.node_id(), auth::identity_of(peer)); !bond)
    return tl::unexpected(bond.error());
  RG_TRY_OK(auth::may_speak_for(peer, hello.name()));
  const auto known = nodes_.find(hello.name());
  if (known != nodes_.end() && !known->second.attaches.take(calendar_seconds(), kAttachesAMinute))
    return fail(Code::kUnavailable,
                fmt::format("node {} has attached {} times within a minute; its log says why its "
                            "agent begins anew",
                            hello.name(), kAttachesAMinute));
  RG_TRY_OK(admit_kind(peer, hello));
  return roster_.attach(stream.wire->session(), hello.name(), hello.node_id(), hello.incarnation(),
                        fleet::monotonic_seconds(), auth::identity_of(peer));
}

// The first node decides for the database. Marking it waits for a commit, once in its life.
Status Fleet::admit_kind(const auth::Peer& peer, const api::Hello& hello) {
  using enum store::DataKind;
  const bool is_modelled = is_modelled_node(hello);
  const bool may_mark = peer.role == auth::Role::kAny;
  if (kind_ == kNone && is_modelled && may_mark) RG_TRY_OK(store_.write(store::mark_synthetic));
  if (kind_ == kNone && (may_mark || !is_modelled)) kind_ = is_modelled ? kSynthetic : kReal;
  return check_data_kind(kind_, hello);
}

// The end of a refused stream is all that follows.
void Fleet::refuse(Stream& stream, const std::string& name, const Error& error) {
  report_refusal(stream.wire->peer(), name, error);
  api::ControllerMessage message;
  message.mutable_refused()->set_reason(error.message);
  message.mutable_refused()->set_permanent(error.code != Code::kUnavailable);
  stream.is_ending = true;
  stream.wire->send(std::move(message));
  stream.wire->finish(to_grpc(error));
}

// On any thread. Beyond the quota of the peer only the number is reported, when the minute is over.
// `name`: the node that it wants to be, "" where that is no name.
void Fleet::report_refusal(const auth::Peer& peer, const std::string& name, const Error& error) {
  if (audit_ != nullptr)
    audit_->refused({.caller = {.who = peer.who.empty() ? "unknown" : peer.who,
                                .role = std::string(auth::name_of(peer.role)),
                                .address = peer.address},
                     .rpc = "AgentLink.Attach",
                     .subject = name},
                    error);
  {
    const std::lock_guard lock(refusals_mutex_);
    ++refused_[std::string(audit::name_of_code(static_cast<int>(error.code)))];
    if (!refusals_.take(peer_key(peer), fleet::monotonic_seconds())) return;
  }
  const std::string line = short_line(fmt::format("agent from {} refused: {}{}{}", peer.address,
                                                  name, name.empty() ? "" : ": ", error.message));
  spdlog::warn("{}{}", is_node_name(name) ? fmt::format("node {}: ", name) : "", line);
  event("node_refused", "", line);
}

std::map<std::string, double> Fleet::refused_agents() {
  std::map<std::string, double> all;
  for (const std::string_view reason : kRefusalReasons) all.emplace(reason, 0);
  const std::lock_guard lock(refusals_mutex_);
  for (const auto& [code, count] : refused_)
    all[all.contains(code) ? code : std::string(kRefusalReasons.back())] += count;
  return all;
}

void Fleet::report_left_out(double now) {
  if (now < next_report_) return;
  next_report_ = now + kReportSeconds;
  std::vector<MinuteQuota::LeftOut> left_out;
  {
    const std::lock_guard lock(refusals_mutex_);
    left_out = refusals_.end_minutes(now);
  }
  for (const auto& [peer, count] : left_out) {
    const std::string line =
        short_line(fmt::format("agents of {} refused {} more times within a minute", peer, count));
    spdlog::warn("{}", line);
    event("node_refused", "", line);
  }
}

void Fleet::event(std::string kind, const std::string& node_id, std::string text) {
  if (const Status added =
          store_.add_event({.kind = std::move(kind), .node_id = node_id, .text = std::move(text)});
      !added)
    spdlog::warn("event not stored: {}", added.error().message);
}

void Fleet::on_hello(Stream& stream, Arrived arrived) {
  api::Hello& hello = *arrived.message.mutable_hello();
  if (const Status fits = api::check_contract(hello.contract(), options_.contract); !fits)
    return refuse(stream, hello.name(), fits.error());
  if (arrived.bad_hello) return refuse(stream, hello.name(), *arrived.bad_hello);
  if (const Status active = check_term(hello); !active)
    return refuse(stream, hello.name(), active.error());
  const Result<Roster::Attached> attached = attach(stream, hello);
  if (!attached) return refuse(stream, hello.name(), attached.error());
  gate_.attached(stream.wire->peer(), *stream.place);
  welcome(stream, std::move(arrived), *attached);
  stream.wire->read_next();
}

// An agent's generation says that another controller may have taken over; the lease decides.
Status Fleet::check_term(const api::Hello& hello) {
  const Term& term = options_.term;
  const bool is_outranked = term.generation > 0 && hello.generation() > term.generation;
  if (!is_outranked)
    return may_act() ? Status() : fail(Code::kUnavailable, "this controller has lost its lease");
  if (term.outranked) term.outranked();
  return fail(
      Code::kUnavailable,
      "this controller has generation {}, the agent has seen {}: another one is active; or, "
      "of a node from another site, remove controller-generation in its state folder",
      term.generation, hello.generation());
}

void Fleet::welcome(Stream& stream, Arrived arrived, const Roster::Attached& attached) {
  api::Hello& hello = *arrived.message.mutable_hello();
  const std::string name = hello.name();
  if (attached.replaced) {
    const auto old = streams_.find(*attached.replaced);
    if (old != streams_.end()) {
      api::ControllerMessage message;
      message.mutable_refused()->set_reason(
          fmt::format("node {} attached with another stream", name));
      old->second.name.clear();
      old->second.is_ending = true;
      old->second.end_by = fleet::monotonic_seconds() + kEndSeconds;
      next_look_ = 0;
      old->second.wire->send(std::move(message));
      old->second.wire->finish({grpc::StatusCode::ABORTED, "replaced by another stream"});
    }
  }
  stream.name = name;
  const std::vector<api::TaskRef> running(hello.running().begin(), hello.running().end());
  remember(hello, stream.wire->peer());
  NodeState& node = nodes_[name];
  NodeState before = std::move(node);
  node = {.hello = kept_of(std::move(hello)),
          .kernels = std::move(arrived.kernels),
          .address = stream.wire->peer().address};
  node.certificate = auth::identity_of(stream.wire->peer());
  node.busy = std::move(before.busy);
  node.clock_skew_seconds = before.clock_skew_seconds;
  node.clock_is_off = before.clock_is_off;
  node.events = before.events;
  node.days_events = before.days_events;
  node.attaches = before.attaches;
  node.certificate_until_unix = stream.wire->peer().certificate_until_unix;
  node.presence = NodePresence::kAttached;
  node.presence_since = fleet::monotonic_seconds();
  node.attached_at_unix = node.last_seen_at_unix = fleet::unix_seconds();
  api::ControllerMessage message;
  api::Welcome& welcome = *message.mutable_welcome();
  *welcome.mutable_contract() = api::to_message(options_.contract);
  welcome.set_controller_version(RAILGAUGE_VERSION);
  welcome.set_heartbeat_seconds(options_.heartbeat_seconds);
  welcome.set_generation(options_.term.generation);
  // Without a mark the store has nothing of the node: a backup may be older than the node.
  const auto stored = stored_through_.find(node.hello->node_id());
  welcome.set_stored_through_spool_id(stored == stored_through_.end() ? 0 : stored->second);
  stream.wire->send(std::move(message));
  const bool resumed = attached.arrival == Roster::Arrival::kResumed;
  const std::string text =
      fmt::format("node {} {} from {}", name, resumed ? "is back" : "attached", node.address);
  spdlog::info("{}", text);
  event(resumed ? "node_resumed" : "node_attached", node.hello->node_id(), text);
  if (const auto skew = skew_said(node.hello->unix_time_seconds())) on_clock(node, *skew);
  on_busy(node, node.hello->has_busy() ? std::optional(node.hello->busy()) : std::nullopt);
  if (listener_ == nullptr) return;
  if (resumed)
    listener_->node_resumed(name, running);
  else
    listener_->node_attached(name, running);
}

void Fleet::remember(const api::Hello& hello, const auth::Peer& peer) {
  store::NodeRow row = node_row(hello);
  row.address = peer.address;
  row.certificate = auth::identity_of(peer);
  if (const Status put = store_.put_node(std::move(row)); !put)
    spdlog::warn("node {} not stored: {}", hello.name(), put.error().message);
}

// Without what only the store needs, some 20 kB a node.
std::shared_ptr<const api::Hello> Fleet::kept_of(api::Hello hello) const {
  std::map<std::string, std::string> facts;
  for (const std::string& name : options_.kept_facts)
    if (const auto found = hello.facts().find(name); found != hello.facts().end())
      facts.emplace(name, found->second);
  hello.clear_running();
  hello.clear_facts();
  hello.clear_stack_versions();
  hello.clear_stack_settings();
  hello.mutable_facts()->insert(facts.begin(), facts.end());
  return std::make_shared<const api::Hello>(std::move(hello));
}

// A part of the nodes at each tick, so that no transaction is long.
void Fleet::note_seen(double now) {
  constexpr std::size_t kAtOnce = 256;
  if (now < next_seen_) return;
  std::vector<store::SeenNode> seen;
  auto at = nodes_.upper_bound(seen_through_);
  for (; at != nodes_.end() && seen.size() < kAtOnce; ++at) {
    seen_through_ = at->first;
    if (at->second.presence == NodePresence::kAttached)
      seen.push_back({.node_id = at->second.hello->node_id(), .at = fleet::unix_seconds()});
  }
  if (at == nodes_.end()) {
    seen_through_.clear();
    next_seen_ = now + options_.seen_seconds;
  }
  store_seen(std::move(seen));
}

void Fleet::store_seen(std::vector<store::SeenNode> nodes) {
  if (nodes.empty()) return;
  if (const Status noted = store_.note_seen(std::move(nodes)); !noted)
    spdlog::warn("who is attached is not stored: {}", noted.error().message);
}

void Fleet::on_heartbeat(NodeState& node, const api::Heartbeat& heartbeat) {
  on_beat(node, beat_of(heartbeat));
  if (heartbeat.has_busy()) on_busy(node, heartbeat.busy());
  on_events(node, heartbeat);
}

void Fleet::on_beat(NodeState& node, const Beat& beat) {
  node.spool_records = beat.spool_records;
  node.busy_task_id = beat.busy_task_id;
  node.last_seen_at_unix = beat.seen_at_unix;
  if (beat.skew_seconds) on_clock(node, *beat.skew_seconds);
}

// Those of streams that ended or were replaced meanwhile count no more.
void Fleet::take_quiet_beats() {
  for (const auto& [session, beat] : quiet_->take()) {
    const auto stream = streams_.find(session);
    if (stream == streams_.end() || stream->second.is_ending) continue;
    const Roster::Node* holder = roster_.find(stream->second.name);
    if (holder == nullptr || holder->session != session) continue;
    roster_.seen(session, beat.seen);
    on_beat(nodes_[stream->second.name], beat);
  }
}

// Reports a clock that is off once, and once when it is right again. A message that waited in the
// stream makes a clock look late, so a small lag has to last.
void Fleet::on_clock(NodeState& node, double skew) {
  constexpr double kSurelyLateSeconds = 60;
  constexpr std::uint32_t kLateBeats = 3;
  const bool is_off = std::abs(skew) > kMaxSkewSeconds;
  const bool may_be_late = is_off && skew < 0 && skew > -kSurelyLateSeconds;
  node.late_beats = may_be_late ? node.late_beats + 1 : 0;
  if (may_be_late && node.late_beats < kLateBeats) return;
  node.clock_skew_seconds = skew;
  if (is_off == node.clock_is_off) return;
  node.clock_is_off = is_off;
  const std::string text =
      is_off ? fmt::format(
                   "node {}: its clock is {:.1f} s {} the controller's; check its time "
                   "service (chronyc tracking)",
                   node.hello->name(), std::abs(skew), skew > 0 ? "ahead of" : "behind")
             : fmt::format("node {}: its clock is right again", node.hello->name());
  if (node_event(node, is_off ? "node_clock_off" : "node_clock_right", text))
    spdlog::warn("{}", text);
}

// Nothing more is read from the stream until the store has taken the batch.
void Fleet::on_records(Stream& stream, Batch batch) {
  if (batch.parcel->records.empty()) return stream.wire->read_next();
  const std::string& node_id = nodes_[stream.name].hello->node_id();
  const store::SpoolRange range{static_cast<std::int64_t>(batch.first),
                                static_cast<std::int64_t>(batch.through)};
  const double skew = nodes_[stream.name].clock_skew_seconds;
  const store::Timing timing{.is_checked = true,
                             .clock_is_off = std::abs(skew) > store::kMaxClockSkewSeconds};
  const auto delivery = std::make_shared<const Delivery>(
      Delivery{stream.wire->session(), stream.name, node_id, std::move(batch),
               std::make_shared<store::NotNew>()});
  const Status taken = store_.append(
      node_id, delivery->batch.parcel,
      [this, delivery](const Status& status) {
        loop_.post([this, delivery, status] { on_committed(*delivery, status); });
      },
      range, timing, delivery->not_new);
  if (taken) {
    stream.held.reset();
    return stream.wire->read_next();
  }
  if (!stream.held)
    spdlog::warn("node {}: its records wait: {}", stream.name, taken.error().message);
  stream.held = delivery->batch;
  next_look_ = 0;
}

void Fleet::on_committed(const Delivery& delivery, const Status& status) {
  const auto found = streams_.find(delivery.session);
  if (!status) {
    // Unacknowledged records stay in the agent's spool; it delivers them again on a new stream.
    spdlog::error("node {}: its records are not stored: {}", delivery.name, status.error().message);
    if (found != streams_.end()) found->second.wire->finish(to_grpc(status.error()));
    return;
  }
  failpoint("fleet.records_committed");
  records_stored_ += delivery.batch.parcel->records.size();
  stored_through_[delivery.node_id] = delivery.batch.through;
  if (found != streams_.end()) {
    const auto say = [this, session = delivery.session, through = delivery.batch.through] {
      acknowledge(session, through);
    };
    if (options_.term.hold_acknowledgement)
      options_.term.hold_acknowledgement([this, say] { loop_.post(say); });
    else
      say();
  }
  if (listener_ == nullptr) return;
  // Records that were put aside decide nothing about a run. A repeat neither: what is stored was
  // handed on by this process, or its run ended with an earlier one.
  if (delivery.not_new->empty())
    listener_->records_stored(delivery.name, delivery.batch.stored);
  else
    listener_->records_stored(delivery.name,
                              summary_without(*delivery.batch.parcel, *delivery.not_new));
}

// A stream that ended meanwhile gets no acknowledgement: its agent sends the records again.
void Fleet::acknowledge(Session session, std::uint64_t through) {
  const auto found = streams_.find(session);
  if (found == streams_.end() || !may_act()) return;
  api::ControllerMessage message;
  message.mutable_ack()->set_through_spool_id(through);
  found->second.wire->send(std::move(message));
}

void Fleet::on_closed(Session session) {
  const auto found = streams_.find(session);
  if (found == streams_.end()) return;
  streams_.erase(found);
  const std::optional<std::string> name = roster_.detach(session, fleet::monotonic_seconds());
  if (!name) return;
  NodeState& node = nodes_[*name];
  node.presence = NodePresence::kDetached;
  node.presence_since = fleet::monotonic_seconds();
  spdlog::info("node {}: its stream ended", *name);
  if (listener_ != nullptr) listener_->node_detached(*name);
}

bool Fleet::send(const std::string& name, api::ControllerMessage message) {
  const Roster::Node* node = roster_.find(name);
  if (node == nullptr || node->presence != NodePresence::kAttached) return false;
  const auto stream = streams_.find(node->session);
  if (stream == streams_.end() || !may_act()) return false;
  if (message.has_prepare()) message.mutable_prepare()->set_generation(options_.term.generation);
  if (message.has_go()) message.mutable_go()->set_generation(options_.term.generation);
  stream->second.wire->send(std::move(message));
  return true;
}

void Fleet::look_at_streams(double now) {
  if (now < next_look_) return;
  next_look_ = std::numeric_limits<double>::infinity();
  for (auto& [session, stream] : streams_) {
    if (stream.end_by > 0 && now >= stream.end_by)
      stream.wire->abort({grpc::StatusCode::ABORTED, "replaced by another stream"});
    else if (stream.name.empty() && now >= stream.opened + options_.hello_seconds)
      stream.wire->abort({grpc::StatusCode::DEADLINE_EXCEEDED, "no Hello came"});
    if (stream.end_by > 0) next_look_ = std::min(next_look_, stream.end_by);
    if (stream.name.empty())
      next_look_ = std::min(next_look_, stream.opened + options_.hello_seconds);
    if (!stream.held) continue;
    roster_.seen(session, now);  // it is our store that keeps it waiting
    on_records(stream, std::move(*stream.held));
  }
}

void Fleet::tick(double now) {
  take_quiet_beats();
  note_seen(now);
  report_left_out(now);
  look_at_streams(now);
  const Roster::Expired expired = roster_.expire(now);
  for (const Session session : expired.silent) {
    const auto stream = streams_.find(session);
    if (stream == streams_.end()) continue;
    spdlog::warn("node {} has been silent for {:.0f} s", stream->second.name,
                 options_.roster.silence_seconds);
    stream->second.wire->abort({grpc::StatusCode::DEADLINE_EXCEEDED, "the agent fell silent"});
  }
  std::vector<store::SeenNode> lost;
  for (const std::string& name : expired.lost) {
    NodeState& node = nodes_[name];
    lost.push_back({.node_id = node.hello->node_id(), .at = node.last_seen_at_unix});
    node.presence = NodePresence::kLost;
    node.presence_since = now;
    const std::string text = fmt::format("node {} lost", name);
    spdlog::warn("{}", text);
    event("node_lost", node.hello->node_id(), text);
    if (listener_ != nullptr) listener_->node_lost(name);
  }
  store_seen(std::move(lost));
}

Result<store::NodeBond> Fleet::begin_rename(const std::string& from, const std::string& to) {
  if (!is_node_name(to))
    return fail(
        Code::kInvalidArgument,
        fmt::format("node {}: rename: a node's name is 1 to {} letters, digits, '.', '-' and '_'",
                    short_line(from), kMaxNameBytes));
  std::string id = RG_TRY(roster_.begin_rename(from, to));
  return store::NodeBond{.node_id = std::move(id), .name = from};
}

void Fleet::end_rename(const store::NodeBond& node, const std::string& to, bool is_stored,
                       bool keeps_state) {
  roster_.end_rename(node.node_id, to, is_stored, fleet::monotonic_seconds());
  const auto state = nodes_.find(node.name);
  if (is_stored && !keeps_state && state != nodes_.end() &&
      state->second.hello->node_id() == node.node_id)
    nodes_.erase(state);
}

void Fleet::end_streams(const std::string& reason,
                        const std::function<bool(const auth::Peer&)>& is_barred) {
  for (auto& [session, stream] : streams_) {
    const auth::Peer& peer = stream.wire->peer();
    if (stream.is_barred || !is_barred(peer)) continue;
    stream.is_barred = true;
    const std::string text =
        fmt::format("the stream of {} from {} ends: {}", peer.who, peer.address, reason);
    spdlog::warn("{}{}", stream.name.empty() ? "" : fmt::format("node {}: ", stream.name), text);
    event("node_barred", "", text);
    stream.wire->abort({grpc::StatusCode::PERMISSION_DENIED, reason});
  }
}

// The nodes that were here since the start: nobody else knows when they were.
void Fleet::close_all(const std::string& reason) {
  std::vector<store::SeenNode> seen;
  for (const auto& [name, node] : nodes_)
    if (node.attached_at_unix > 0)
      seen.push_back({.node_id = node.hello->node_id(), .at = node.last_seen_at_unix});
  store_seen(std::move(seen));
  for (auto& [session, stream] : streams_)
    stream.wire->finish({grpc::StatusCode::UNAVAILABLE, reason});
}

}  // namespace railgauge::fleet
