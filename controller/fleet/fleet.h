// All agents' streams: attach, presence, delivery both ways, records into the store and their
// acknowledgement. Lives on the event loop; only open() is called from outside.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/agent.pb.h"
#include "controller/api/contract.h"
#include "controller/audit/audit_log.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/kernels.h"
#include "controller/fleet/roster.h"
#include "controller/fleet/stream_gate.h"
#include "controller/store/ingest/parcel.h"
#include "controller/store/queries/data_kind.h"
#include "controller/store/store.h"
#include "kernels/core/base/minute_quota.h"
#include "kernels/core/base/record.pb.h"

namespace grpc {
class CallbackServerContext;
}

namespace railgauge::fleet {

// A figure that is compared with the suite's limits.
struct StoredFigure {
  std::string metric{};
  double message_bytes = 0;
  double headline = 0;  // headline_of() of the point
};
// New records of one rank that were committed; neither repeats nor records that were put aside.
struct StoredRecords {
  api::TaskRef task;
  std::uint32_t points = 0;
  std::vector<StoredFigure> figures{};  // of the points
  std::optional<Final> final{};
};

// Records as they arrive on a stream, packed for the store and summed up for the owner of runs.
// Packing happens on the thread that read them, since the loop and the store's writer are one
// thread each.
struct Batch {
  std::shared_ptr<const store::Parcel> parcel;
  std::vector<StoredRecords> stored;  // by rank; reported once it is committed
  std::uint64_t first = 0;            // spool ids
  std::uint64_t through = 0;
};

// Pure; thread safe.
Batch batch_of(api::RecordBatch message);

class AgentStream;
class QuietBeats;
struct Beat;

// The part of a controller among several of its site; by default there is one alone. The functions
// are called on the event loop and must not wait.
struct Term {
  std::uint64_t generation = 0;
  bool has_taken_over = false;  // another controller was active before
  // Whether this controller may act now: send tasks, welcomes and acknowledgements. Empty: always.
  std::function<bool()> may_act{};
  // Calls its argument, on any thread, once acknowledging what is committed now loses nothing with
  // this host. Empty: at once.
  std::function<void(std::function<void()> acknowledge)> hold_acknowledgement{};
  // Calls its argument, on any thread, once another controller that takes over would know the
  // attempt whose start is committed now, or after a bounded time. Empty: at once.
  std::function<void(std::function<void()> begin)> hold_start{};
  // An agent says that it has seen a higher generation than this controller's. Any agent may.
  std::function<void()> outranked{};
};

// Times are seconds.
struct FleetOptions {
  double heartbeat_seconds = 4;
  double hello_seconds = 10;  // from a stream's opening to its Hello
  StreamBounds streams{};
  // The interval at which attached nodes are written to the store, which is done also when one is
  // lost and at the controller's end. After a restart, a node that does not come back is reported
  // as missing, however long ago it attached.
  double seen_seconds = 6 * 3600;
  RosterOptions roster{};
  api::Contract contract = api::kContract;
  // Names of facts of nodes that plans read; only the store has the others.
  std::vector<std::string> kept_facts{};
  Term term{};
};

// Events of the fleet for the owner of runs. Called on the event loop; must not block.
class FleetListener {
 public:
  virtual ~FleetListener() = default;
  // Both calls list the tasks whose runners the agent process still has.
  virtual void node_attached(const std::string& name, const std::vector<api::TaskRef>& running) = 0;
  virtual void node_resumed(const std::string& name, const std::vector<api::TaskRef>& running) = 0;
  virtual void node_detached(const std::string& name) = 0;
  virtual void node_lost(const std::string& name) = 0;
  // Called when production work on a node begins or changes its source (`reason`, in words), and
  // when it ends. For a node that attaches, it is called before node_attached and node_resumed.
  virtual void node_busy(const std::string& /*name*/, const std::string& /*reason*/) {}
  virtual void node_idle(const std::string& /*name*/) {}
  // Called when a node is paused for maintenance (`reason`: "paused until ..."), or its pause
  // changes, and when it ends.
  virtual void node_paused(const std::string& /*name*/, const std::string& /*reason*/) {}
  virtual void node_unpaused(const std::string& /*name*/) {}
  // Prepared, Refusal, TaskStep or TaskEnded.
  virtual void task_message(const std::string& name, api::AgentMessage message) = 0;
  virtual void records_stored(const std::string& name,
                              const std::vector<StoredRecords>& stored) = 0;
};

// Counts acts of one node within a minute or a day, so that it does not fill the store.
struct Turns {
  double since = -1e18;  // the clock of a host that just booted is near 0
  std::uint32_t used = 0;

  // Whether this use is within `most`.
  bool take(double now, std::uint32_t most, double seconds = MinuteQuota::kMinuteSeconds) {
    if (now >= since + seconds) *this = {.since = now};
    if (used <= most) ++used;
    return used <= most;
  }
};

// A Hello without a field.
const std::shared_ptr<const api::Hello>& no_hello();

// A node that attached in this process's life, or that the store knows. Cheap to copy: what its
// agent said is shared and never changes.
struct NodeState {
  // Without `running`, kernels and stack, and with no other facts than FleetOptions::kept_facts, of
  // a node that attached. Never null.
  std::shared_ptr<const api::Hello> hello = no_hello();
  KernelsOfNode kernels = no_kernels();  // none of a node that only the store knows
  std::string address;
  std::string certificate{};  // the node that its stream's certificate speaks for; "" without one
  double certificate_until_unix = 0;  // of its stream; 0: without one
  NodePresence presence = NodePresence::kLost;
  double presence_since = 0;  // on the loop's monotonic clock
  double attached_at_unix = 0;
  double last_seen_at_unix = 0;
  std::optional<double> spool_records{};
  std::string busy_task_id{};
  std::optional<api::BusyState> busy{};  // absent: its agent does not report it
  double clock_skew_seconds = 0;         // above 0: the node's clock is ahead of the controller's
  bool clock_is_off = false;             // by more than kMaxSkewSeconds
  std::uint32_t late_beats = 0;          // heartbeats in a row by which its clock would be behind
  Turns events{};                        // that are stored, of a minute
  Turns days_events{};                   // likewise of a day
  Turns attaches{};
};
// Why an agent is refused, as the audit trail says it; the last one is for all others.
inline constexpr std::array<std::string_view, 7> kRefusalReasons{"permission_denied",
                                                                 "already_exists",
                                                                 "invalid_argument",
                                                                 "resource_exhausted",
                                                                 "failed_precondition",
                                                                 "unavailable",
                                                                 "other"};
// A difference of clocks that is reported.
inline constexpr double kMaxSkewSeconds = 5;
// "slurm: job 4711 here; marker: ..."; "" if the node is idle or does not report.
std::string busy_text(const NodeState& node);

// Used on the event loop, except open().
class Fleet {
 public:
  // Loop and store outlive it. Names of the store's nodes stay reserved for a while. Set the
  // listener before the first stream.
  Fleet(fleet::EventLoop& loop, store::Store& store, FleetOptions options = {});
  void set_listener(FleetListener* listener) { listener_ = listener; }
  // Receives the answers to preflight orders on the loop. Set it like the listener above.
  using PreflightListener = std::function<void(const std::string& name, api::PreflightAnswer)>;
  void on_preflight(PreflightListener listener) { preflight_ = std::move(listener); }

  // The trail of refused agents; it outlives the fleet. Set it like the listener above.
  void set_audit(audit::AuditLog* audit) { audit_ = audit; }

  // A new stream, from a gRPC thread. Reading starts on the loop. `call` is kept until it ends.
  std::shared_ptr<AgentStream> open(grpc::CallbackServerContext* context, auth::Peer peer,
                                    std::shared_ptr<void> call = {});

  // Calls `begin` once an attempt whose start is committed may be sent to agents; Term::hold_start.
  // Thread safe.
  void hold_start(std::function<void()> begin) const {
    if (options_.term.hold_start)
      options_.term.hold_start(std::move(begin));
    else
      begin();
  }
  // On the loop. False: the node is not attached, and the message is dropped.
  bool send(const std::string& name, api::ControllerMessage message);
  void tick(double now);
  void close_all(const std::string& reason);
  // Renames a node: begin_rename() checks and reserves both names, end_rename() follows the store's
  // write. Errors as Roster's; kInvalidArgument: the new name is none.
  Result<store::NodeBond> begin_rename(const std::string& from, const std::string& to);
  // `keeps_state`: a run still uses the state under the old name.
  void end_rename(const store::NodeBond& node, const std::string& to, bool is_stored,
                  bool keeps_state);
  // Ends at once the streams of peers that `is_barred` names; the agent learns `reason`.
  void end_streams(const std::string& reason,
                   const std::function<bool(const auth::Peer&)>& is_barred);
  // Replaces the nodes in maintenance; each with one line, "paused until TIME by WHO: REASON".
  void set_paused(std::map<std::string, std::string> paused);
  [[nodiscard]] const std::map<std::string, std::string>& paused() const { return paused_; }
  // Why no task may begin on the node: its pause, unless the run may use it in spite of one, else
  // its work; "" where nothing is known.
  [[nodiscard]] std::string held_text(const std::string& name,
                                      bool in_spite_of_pause = false) const;
  [[nodiscard]] const std::map<std::string, NodeState>& nodes() const { return nodes_; }
  [[nodiscard]] std::uint64_t records_stored() const { return records_stored_; }
  // Agents refused since the start, by the reasons of kRefusalReasons. Thread safe.
  [[nodiscard]] std::map<std::string, double> refused_agents();

 private:
  // One open stream of an agent.
  struct Stream {
    std::shared_ptr<AgentStream> wire;
    std::shared_ptr<StreamGate::Place> place{};
    std::string name{};  // "" until its Hello was accepted
    double opened = 0;
    bool is_ending = false;       // it was refused or replaced: nothing of it is read any more
    double end_by = 0;            // of a replaced stream that is not read; 0: none
    bool is_barred = false;       // aborted by end_streams()
    std::optional<Batch> held{};  // the store was full: tried again at each tick
  };
  // A message as the thread that read it prepared it for the loop.
  struct Arrived {
    api::AgentMessage message{};           // empty with records or a fault
    std::optional<Batch> records{};        // of a message with records
    std::optional<Error> bad_hello{};      // a Hello beyond its bounds
    KernelsOfNode kernels = no_kernels();  // of a Hello
  };
  Arrived arrived(api::AgentMessage message);

  void on_message(Session session, Arrived arrived);
  void on_hello(Stream& stream, Arrived arrived);
  Result<Roster::Attached> attach(const Stream& stream, const api::Hello& hello);
  // kUnavailable: another controller of the site is active.
  Status check_term(const api::Hello& hello);
  void refuse(Stream& stream, const std::string& name, const Error& error);
  void report_refusal(const auth::Peer& peer, const std::string& name, const Error& error);
  void report_left_out(double now);
  // Ends streams that are late, and hands the store again what it had no room for.
  void look_at_streams(double now);
  void welcome(Stream& stream, Arrived arrived, const Roster::Attached& attached);
  void on_heartbeat(NodeState& node, const api::Heartbeat& heartbeat);
  void on_beat(NodeState& node, const Beat& beat);
  void take_quiet_beats();
  void on_busy(NodeState& node, std::optional<api::BusyState> now);
  void on_clock(NodeState& node, double skew_seconds);
  void on_events(NodeState& node, const api::Heartbeat& heartbeat);
  void on_records(Stream& stream, Batch batch);
  // A batch on its way into the store.
  struct Delivery {
    Session session;
    std::string name;
    std::string node_id;
    Batch batch;
    std::shared_ptr<store::NotNew> not_new;
  };
  void on_committed(const Delivery& delivery, const Status& status);
  void acknowledge(Session session, std::uint64_t through);
  [[nodiscard]] bool may_act() const { return !options_.term.may_act || options_.term.may_act(); }
  void on_closed(Session session);
  void event(std::string kind, const std::string& node_id, std::string text);
  bool node_event(NodeState& node, std::string kind, const std::string& text);
  // kFailedPrecondition: a modelled node in a database of real ones, or the reverse; or a
  // certificate that would make an empty database synthetic, which locks real nodes out for good.
  Status admit_kind(const auth::Peer& peer, const api::Hello& hello);
  void remember(const api::Hello& hello, const auth::Peer& peer);
  [[nodiscard]] std::shared_ptr<const api::Hello> kept_of(api::Hello hello) const;
  void note_seen(double now);
  // Stores when these nodes were seen last.
  void store_seen(std::vector<store::SeenNode> nodes);

  fleet::EventLoop& loop_;
  store::Store& store_;
  const FleetOptions options_;
  FleetListener* listener_ = nullptr;
  PreflightListener preflight_;
  std::atomic<Session> next_session_ = 1;
  StreamGate gate_;
  audit::AuditLog* audit_ = nullptr;
  std::mutex refusals_mutex_;
  MinuteQuota refusals_;  // by peer
  std::map<std::string, double> refused_;
  double next_report_ = 0;
  KernelLists kernels_;
  const std::shared_ptr<QuietBeats> quiet_;
  Roster roster_;
  store::DataKind kind_ = store::DataKind::kNone;
  std::map<Session, Stream> streams_;
  std::map<std::string, NodeState> nodes_;     // nodes that attached in this process's life
  std::map<std::string, std::string> paused_;  // by name; also of nodes that are not here
  std::map<std::string, std::uint64_t> stored_through_;  // spool ids, by node id
  std::uint64_t records_stored_ = 0;
  double next_seen_ = 0;
  // No stream is late, and none has records that wait for the store, before. 0: look at the next
  // tick.
  double next_look_ = 0;
  std::string seen_through_;  // the name up to which this round has come; "": none
};

}  // namespace railgauge::fleet
