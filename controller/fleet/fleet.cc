#include "controller/fleet/fleet.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/agent_stream.h"
#include "controller/fleet/convert.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {

namespace {

class Summary {
 public:
  void add(const Record& record) {
    StoredRecords& rank = rank_of(record.key());
    if (record.has_point()) {
      const Point& point = record.point();
      ++rank.points;
      rank.figures.push_back({point.metric(), point.message_bytes(), point.median()});
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

constexpr std::size_t kMaxNameBytes = 253;
constexpr std::size_t kMaxIdBytes = 64;

bool printable(std::string_view text, std::size_t max) {
  const auto fits = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  return !text.empty() && text.size() <= max && std::ranges::all_of(text, fits);
}

// A node's name is part of endpoints (node/DEV:PORT) and node sets, so their separators are not
// allowed in names.
bool good_name(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, fits);
}

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

}  // namespace

Fleet::Fleet(fleet::EventLoop& loop, store::Store& store, FleetOptions options)
    : loop_(loop), store_(store), options_(options), roster_(options.roster) {
  const auto known = store_.list_nodes();
  if (!known) spdlog::warn("names of known nodes not read: {}", known.error().message);
  for (const store::NodeRow& node : known.value_or(std::vector<store::NodeRow>{})) {
    roster_.recall(node.name, node.node_id, fleet::monotonic_seconds());
    if (node.spool_through)
      stored_through_[node.node_id] = static_cast<std::uint64_t>(*node.spool_through);
  }
}

std::shared_ptr<AgentStream> Fleet::open(grpc::CallbackServerContext* context, auth::Peer peer,
                                         std::shared_ptr<void> call) {
  const Session session = next_session_++;
  AgentStream::Events events{
      .message =
          [this](Session from, api::AgentMessage message) {
            if (message.has_records())
              return loop_.post([this, from,
                                 batch = std::make_shared<Batch>(
                                     batch_of(std::move(*message.mutable_records())))] {
                on_message(from, {}, std::move(*batch));
              });
            loop_.post([this, from, moved = std::move(message)]() mutable {
              on_message(from, std::move(moved), {});
            });
          },
      .closed = [this, call = std::move(call)](
                    Session from) { loop_.post([this, from] { on_closed(from); }); }};
  auto stream = AgentStream::make(session, context, std::move(peer), std::move(events));
  if (++open_streams_ > options_.max_streams) {
    stream->finish(
        {grpc::StatusCode::RESOURCE_EXHAUSTED,
         fmt::format("the controller holds {} agents' streams, its limit", options_.max_streams)});
  } else if (const Status allowed = auth::may_attach(stream->peer()); !allowed) {
    spdlog::warn("agent refused: {}", allowed.error().message);
    stream->finish(to_grpc(allowed.error()));
  }
  loop_.post([this, stream] {
    streams_[stream->session()] = {.wire = stream, .opened = fleet::monotonic_seconds()};
    stream->read_next();
  });
  return stream;
}

void Fleet::on_message(Session session, api::AgentMessage message, std::optional<Batch> records) {
  const auto found = streams_.find(session);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (message.has_hello() && stream.name.empty()) {
    on_hello(stream, std::move(*message.mutable_hello()));
    return stream.wire->read_next();
  }
  const bool empty = !records && message.body_case() == api::AgentMessage::BODY_NOT_SET;
  if (stream.name.empty() || message.has_hello() || empty)
    return stream.wire->finish(
        {grpc::StatusCode::FAILED_PRECONDITION, "the first message, and only it, must be Hello"});
  roster_.seen(session, fleet::monotonic_seconds());
  const Roster::Node* holder = roster_.find(stream.name);
  if (holder == nullptr || holder->session != session) return;  // replaced meanwhile
  NodeState& node = nodes_[stream.name];
  node.last_seen_at_unix = fleet::unix_seconds();
  if (records) return on_records(stream, std::move(*records));
  if (message.has_heartbeat())
    on_heartbeat(node, message.heartbeat());
  else if (message.has_preflight()) {
    if (preflight_) preflight_(stream.name, std::move(*message.mutable_preflight()));
  } else if (listener_ != nullptr)
    listener_->task_message(stream.name, std::move(message));
  stream.wire->read_next();
}

Status Fleet::check_hello(const Stream& stream, const api::Hello& hello) const {
  RG_TRY_OK(api::check_contract(hello.contract(), options_.contract));
  if (!good_name(hello.name()))
    return fail(
        Code::kInvalidArgument,
        fmt::format("a node's name is 1 to {} letters, digits, '.', '-' and '_'", kMaxNameBytes));
  if (!printable(hello.node_id(), kMaxIdBytes) || !printable(hello.incarnation(), kMaxIdBytes))
    return fail(Code::kInvalidArgument,
                fmt::format("node {}: node id and incarnation are 1 to {} visible characters",
                            hello.name(), kMaxIdBytes));
  return auth::may_speak_for(stream.wire->peer(), hello.name());
}

void Fleet::refuse(Stream& stream, const Error& error) {
  api::ControllerMessage message;
  message.mutable_refused()->set_reason(error.message);
  message.mutable_refused()->set_permanent(true);
  stream.wire->send(std::move(message));
  stream.wire->finish(to_grpc(error));
}

void Fleet::event(std::string kind, const std::string& node_id, std::string text) {
  if (const Status added =
          store_.add_event({.kind = std::move(kind), .node_id = node_id, .text = std::move(text)});
      !added)
    spdlog::warn("event not stored: {}", added.error().message);
}

void Fleet::on_hello(Stream& stream, api::Hello hello) {
  Status sound = check_hello(stream, hello);
  Result<Roster::Attached> attached =
      sound ? roster_.attach(stream.wire->session(), hello.name(), hello.node_id(),
                             hello.incarnation(), fleet::monotonic_seconds())
            : Result<Roster::Attached>(tl::unexpected(sound.error()));
  if (attached) return welcome(stream, std::move(hello), *attached);
  const std::string text = fmt::format("agent {} from {} refused: {}", hello.name(),
                                       stream.wire->peer().address, attached.error().message);
  spdlog::warn("{}", text);
  event("node_refused", "", text);
  refuse(stream, attached.error());
}

void Fleet::welcome(Stream& stream, api::Hello hello, const Roster::Attached& attached) {
  const std::string name = hello.name();
  if (attached.replaced) {
    const auto old = streams_.find(*attached.replaced);
    if (old != streams_.end()) {
      api::ControllerMessage message;
      message.mutable_refused()->set_reason(
          fmt::format("node {} attached with another stream", name));
      old->second.name.clear();
      old->second.wire->send(std::move(message));
      old->second.wire->finish({grpc::StatusCode::ABORTED, "replaced by another stream"});
    }
  }
  stream.name = name;
  const std::vector<api::TaskRef> running(hello.running().begin(), hello.running().end());
  hello.clear_running();
  NodeState& node = nodes_[name];
  std::optional<api::BusyState> busy_before = std::move(node.busy);
  node = {.hello = std::move(hello), .address = stream.wire->peer().address};
  node.busy = std::move(busy_before);
  node.certificate_until_unix = stream.wire->peer().certificate_until_unix;
  node.presence = NodePresence::kAttached;
  node.presence_since = fleet::monotonic_seconds();
  node.attached_at_unix = node.last_seen_at_unix = fleet::unix_seconds();
  api::ControllerMessage message;
  api::Welcome& welcome = *message.mutable_welcome();
  *welcome.mutable_contract() = api::to_message(options_.contract);
  welcome.set_controller_version(RAILGAUGE_VERSION);
  welcome.set_heartbeat_seconds(options_.heartbeat_seconds);
  // Without a mark the store has nothing of the node: a backup may be older than the node.
  const auto stored = stored_through_.find(node.hello.node_id());
  welcome.set_stored_through_spool_id(stored == stored_through_.end() ? 0 : stored->second);
  stream.wire->send(std::move(message));
  remember(node);
  // Some 20 kB a node that only the store needs.
  node.hello.clear_facts();
  node.hello.clear_stack_versions();
  node.hello.clear_stack_settings();
  const bool resumed = attached.arrival == Roster::Arrival::kResumed;
  const std::string text =
      fmt::format("node {} {} from {}", name, resumed ? "is back" : "attached", node.address);
  spdlog::info("{}", text);
  event(resumed ? "node_resumed" : "node_attached", node.hello.node_id(), text);
  on_busy(node, node.hello.has_busy() ? std::optional(node.hello.busy()) : std::nullopt);
  if (listener_ == nullptr) return;
  if (resumed)
    listener_->node_resumed(name, running);
  else
    listener_->node_attached(name, running);
}

void Fleet::remember(const NodeState& node) {
  if (const Status put = store_.put_node(row_of(node)); !put)
    spdlog::warn("node {} not stored: {}", node.hello.name(), put.error().message);
}

// A part of the nodes at each tick, so that no transaction is long.
void Fleet::note_seen(double now) {
  constexpr std::size_t kAtOnce = 256;
  if (now < next_seen_) return;
  std::vector<std::string> ids;
  auto at = nodes_.upper_bound(seen_through_);
  for (; at != nodes_.end() && ids.size() < kAtOnce; ++at) {
    seen_through_ = at->first;
    if (at->second.presence == NodePresence::kAttached) ids.push_back(at->second.hello.node_id());
  }
  if (at == nodes_.end()) {
    seen_through_.clear();
    next_seen_ = now + options_.seen_seconds;
  }
  if (ids.empty()) return;
  if (const Status noted = store_.note_seen(std::move(ids)); !noted)
    spdlog::warn("who is attached is not stored: {}", noted.error().message);
}

void Fleet::on_heartbeat(NodeState& node, const api::Heartbeat& heartbeat) {
  node.spool_records = heartbeat.spool_records();
  node.busy_task_id = heartbeat.busy_task_id();
  if (heartbeat.has_busy()) on_busy(node, heartbeat.busy());
  on_events(node, heartbeat);
}

// Nothing more is read from the stream until the store has taken the batch.
void Fleet::on_records(Stream& stream, Batch batch) {
  if (batch.parcel->records.empty()) return stream.wire->read_next();
  const std::string& node_id = nodes_[stream.name].hello.node_id();
  const store::SpoolRange range{static_cast<std::int64_t>(batch.first),
                                static_cast<std::int64_t>(batch.through)};
  const auto delivery = std::make_shared<const Delivery>(
      Delivery{stream.wire->session(), stream.name, node_id, std::move(batch)});
  const Status taken = store_.append(
      node_id, delivery->batch.parcel,
      [this, delivery](const Status& status) {
        loop_.post([this, delivery, status] { on_committed(*delivery, status); });
      },
      range);
  if (taken) {
    stream.held.reset();
    return stream.wire->read_next();
  }
  if (!stream.held) spdlog::warn("records of {} wait: {}", stream.name, taken.error().message);
  stream.held = delivery->batch;
}

void Fleet::on_committed(const Delivery& delivery, const Status& status) {
  const auto found = streams_.find(delivery.session);
  if (!status) {
    // Unacknowledged records stay in the agent's spool; it delivers them again on a new stream.
    spdlog::error("records of {} not stored: {}", delivery.name, status.error().message);
    if (found != streams_.end()) found->second.wire->finish(to_grpc(status.error()));
    return;
  }
  failpoint("fleet.records_committed");
  records_stored_ += delivery.batch.parcel->records.size();
  stored_through_[delivery.node_id] = delivery.batch.through;
  if (found != streams_.end()) {
    api::ControllerMessage message;
    message.mutable_ack()->set_through_spool_id(delivery.batch.through);
    found->second.wire->send(std::move(message));
  }
  if (listener_ != nullptr) listener_->records_stored(delivery.name, delivery.batch.stored);
}

void Fleet::on_closed(Session session) {
  --open_streams_;
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
  if (stream == streams_.end()) return false;
  stream->second.wire->send(std::move(message));
  return true;
}

void Fleet::tick(double now) {
  note_seen(now);
  for (auto& [session, stream] : streams_) {
    if (stream.name.empty() && now >= stream.opened + options_.hello_seconds)
      stream.wire->abort({grpc::StatusCode::DEADLINE_EXCEEDED, "no Hello came"});
    if (!stream.held) continue;
    roster_.seen(session, now);  // it is our store that keeps it waiting
    on_records(stream, std::move(*stream.held));
  }
  const Roster::Expired expired = roster_.expire(now);
  for (const Session session : expired.silent) {
    const auto stream = streams_.find(session);
    if (stream == streams_.end()) continue;
    spdlog::warn("node {} has been silent for {:.0f} s", stream->second.name,
                 options_.roster.silence_seconds);
    stream->second.wire->abort({grpc::StatusCode::DEADLINE_EXCEEDED, "the agent fell silent"});
  }
  for (const std::string& name : expired.lost) {
    NodeState& node = nodes_[name];
    node.presence = NodePresence::kLost;
    node.presence_since = now;
    const std::string text = fmt::format("node {} lost", name);
    spdlog::warn("{}", text);
    event("node_lost", node.hello.node_id(), text);
    if (listener_ != nullptr) listener_->node_lost(name);
  }
}

void Fleet::end_streams(const std::string& reason,
                        const std::function<bool(const auth::Peer&)>& is_barred) {
  for (auto& [session, stream] : streams_) {
    const auth::Peer& peer = stream.wire->peer();
    if (stream.is_barred || !is_barred(peer)) continue;
    stream.is_barred = true;
    const std::string text =
        fmt::format("the stream of {} from {} ends: {}", peer.who, peer.address, reason);
    spdlog::warn("{}", text);
    event("node_barred", "", text);
    stream.wire->abort({grpc::StatusCode::PERMISSION_DENIED, reason});
  }
}

void Fleet::close_all(const std::string& reason) {
  for (auto& [session, stream] : streams_)
    stream.wire->finish({grpc::StatusCode::UNAVAILABLE, reason});
}

// --- reports about nodes beside tasks: busy or idle, and the events of their watch ---

namespace {

constexpr int kMostReasons = 4;
constexpr std::size_t kMostTextBytes = 512;
constexpr double kEventsAMinute = 60;  // of a node, so that a bad port does not fill the store
constexpr double kMinute = 60;

std::string short_line(const std::string& text) {
  std::string line = valid_utf8(text.substr(0, kMostTextBytes));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

// Kinds and severities that the store may have: an agent's words are not trusted to be few.
std::string known_word(const std::string& word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) == words.end() ? "other" : word;
}

std::set<std::string> sources_of(const api::BusyState& state) {
  std::set<std::string> sources;
  for (const api::BusyReason& reason : state.reasons()) sources.insert(reason.source());
  return sources;
}

}  // namespace

std::string busy_text(const NodeState& node) {
  std::string text;
  if (!node.busy) return text;
  for (int i = 0; i < std::min(node.busy->reasons_size(), kMostReasons); ++i)
    text += short_line(fmt::format("{}{}: {}", i == 0 ? "" : "; ", node.busy->reasons(i).source(),
                                   node.busy->reasons(i).text()));
  return text;
}

void Fleet::on_busy(NodeState& node, std::optional<api::BusyState> now) {
  const std::set<std::string> before = node.busy ? sources_of(*node.busy) : std::set<std::string>{};
  const std::set<std::string> after = now ? sources_of(*now) : std::set<std::string>{};
  node.busy = std::move(now);
  if (before == after) return;
  const std::string& name = node.hello.name();
  const std::string words = busy_text(node);
  const std::string text = after.empty() ? fmt::format("node {} is idle", name)
                                         : fmt::format("node {} is busy: {}", name, words);
  spdlog::info("{}", text);
  event(after.empty() ? "node_idle" : "node_busy", node.hello.node_id(), text);
  if (listener_ == nullptr) return;
  if (after.empty())
    listener_->node_idle(name);
  else
    listener_->node_busy(name, words);
}

void Fleet::on_events(NodeState& node, const api::Heartbeat& heartbeat) {
  constexpr std::array<std::string_view, 7> kKinds{
      "counter", "xid", "sxid", "device_vanished", "device_returned", "watch", "row_remap"};
  constexpr std::array<std::string_view, 3> kSeverities{"info", "warn", "fail"};
  const double now = monotonic_seconds();
  if (now - node.events_since >= kMinute) {
    node.events_since = now;
    node.events_left = kEventsAMinute;
  }
  for (const api::NodeEvent& told : heartbeat.events()) {
    if (node.events_left < 1) {
      if (node.events_left == 0)
        spdlog::warn("node {}: more than {} events a minute; the rest is not stored",
                     node.hello.name(), kEventsAMinute);
      node.events_left = -1;
      return;
    }
    --node.events_left;
    event("watch_" + known_word(told.kind(), kKinds), node.hello.node_id(),
          fmt::format("{}: {}", known_word(told.severity(), kSeverities), short_line(told.text())));
  }
}

}  // namespace railgauge::fleet
