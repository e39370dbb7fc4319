// The agent of one modelled node, without its stream: takes the controller's messages and the time,
// and returns messages and orders for the stream. It keeps the contract as agent/agent.cc does:
// hello, heartbeats, busy, preflight, tasks, a spool that sends until it is acknowledged. A task's
// figures come from the modelled fabric. Deterministic; not thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/fleet/agents/memory_spool.h"
#include "agent/fleet/agents/task_board.h"
#include "agent/fleet/model/node_state.h"
#include "agent/link/answers.h"
#include "agent/link/backoff.h"
#include "agent/link/delivery.h"

namespace railgauge::fleet {

// Orders for the stream.
struct AgentOrders {
  std::vector<api::AgentMessage> send{};
  // Dial, with hello().
  bool dial = false;
  // End the stream, or the dial.
  bool hang_up = false;
};

class ModelledAgent {
 public:
  // `board` and `kernels` outlive the agent.
  ModelledAgent(TaskBoard& board, const std::vector<KernelInfo>& kernels, std::uint32_t node,
                Nanoseconds now);

  // The first message of the next stream, without the kernels, which all agents have alike.
  [[nodiscard]] api::Hello hello(Nanoseconds now) const;

  // Events of the stream. A Refused or an end before the Welcome is a loss.
  AgentOrders attached(const api::Welcome& welcome, Nanoseconds now);
  AgentOrders received(const api::ControllerMessage& message, Nanoseconds now);
  // `for_good`: trying again cannot help until somebody acts.
  AgentOrders lost(bool for_good, Nanoseconds now);

  // Does what is due. Call at next_tick(), or later.
  AgentOrders tick(Nanoseconds now);
  [[nodiscard]] Nanoseconds next_tick() const { return next_tick_; }

  [[nodiscard]] bool is_attached() const { return link_ == LinkState::kAttached; }
  // It waits for its next dial, or for the Welcome. A wedged agent does neither.
  [[nodiscard]] bool is_on_its_way() const {
    return !state_.is_wedged && (link_ == LinkState::kWaiting || link_ == LinkState::kDialling);
  }
  [[nodiscard]] std::size_t running() const { return tasks_.size(); }
  [[nodiscard]] const MemorySpool& spool() const { return spool_; }
  // The highest generation of a controller that it has seen. It refuses a lower one.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  enum class LinkState { kAway, kWaiting, kDialling, kAttached };
  using TaskKey = std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>;
  struct Task {
    api::PrepareTask prepare{};
    Nanoseconds deadline_ns = 0;
    bool went = false;
  };

  [[nodiscard]] const Scenario& scenario() const { return board_.fabric().scenario(); }
  // Reads the scenario's state of this node and acts on what changed.
  void look(Nanoseconds now, AgentOrders& orders);
  void leave(Nanoseconds now, AgentOrders& orders);
  // Whether the controller of this generation was not deposed, as far as the agent has seen.
  bool obeys(std::uint64_t generation, AgentOrders& orders);
  void on_prepare(const api::PrepareTask& prepare);
  void on_go(const api::TaskRef& task, Nanoseconds now);
  void on_preflight(const api::PreflightOrder& order, Nanoseconds now);
  // Ends a task without figures.
  void end_task(const TaskKey& key, std::string_view outcome, const std::string& reason,
                Nanoseconds now);
  void end_all(std::string_view outcome, const std::string& reason, Nanoseconds now);
  // Spools a rank's records and queues its end.
  void finish(const TaskKey& key, std::vector<Record> records);
  void beat(Nanoseconds now);
  void note_events(Nanoseconds now);
  // Queues records up to the window.
  void pump();
  void say(api::AgentMessage message);
  // Moves what is due into the orders, and sets the next tick.
  void flush(Nanoseconds now, AgentOrders& orders);
  [[nodiscard]] std::uint64_t look_of_node(Nanoseconds now) const;

  TaskBoard& board_;
  const std::vector<KernelInfo>& kernels_;
  std::uint32_t node_;
  LinkState link_ = LinkState::kAway;
  AgentState state_{};
  std::uint64_t look_ = 0;  // of the last hello
  api::BusyState busy_{};
  std::vector<std::size_t> faults_;  // of this node's ports, reported as events
  std::vector<api::NodeEvent> events_;
  MemorySpool spool_;
  agent::Delivery delivery_;
  agent::Answers answers_;
  agent::Backoff backoff_{{}};
  std::uint64_t generation_ = 0;
  std::uint64_t stream_acked_ = 0;
  std::uint64_t dials_ = 0;
  std::map<TaskKey, Task> tasks_;
  std::vector<api::AgentMessage> said_;                         // by this event
  std::deque<std::pair<Nanoseconds, api::AgentMessage>> late_;  // by when they leave
  Nanoseconds beat_every_ns_ = 5'000'000'000;
  Nanoseconds beat_at_ns_ = 0;
  Nanoseconds dial_at_ns_ = 0;
  Nanoseconds attached_at_ns_ = 0;
  Nanoseconds next_tick_ = 0;
};

}  // namespace railgauge::fleet
