// All agents of a scenario in one process, each with a stream of its own to the controller. One
// thread has all agents; gRPC's threads move bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "agent/fleet/agents/modelled_agent.h"
#include "agent/fleet/fleet_stream.h"
#include "agent/fleet/scenario/scenario.h"
#include "controller/clock/clock_page.h"

namespace railgauge::fleet {

struct FleetOptions {
  StreamOptions stream{};
  // Folder with NODE.crt and NODE.key of each node beside ca.crt, read at each dial; "": no
  // certificates.
  std::string certificates{};
  // Time of the scenario at the start.
  Nanoseconds at_ns = 0;
  // Most agents that dial at once.
  std::uint32_t dials = 256;
  double welcome_seconds = 30;
  // The controller's simulated clock; absent: scenario's time flows from `at_ns` on.
  std::shared_ptr<ClockPage> clock{};
  // File that gets run, task, attempt, rank and sequence of each point that a controller has
  // acknowledged, a line each; "": none.
  std::string acknowledged{};
};

// Counts of the fleet, for its log.
struct FleetCounts {
  std::uint32_t attached = 0;
  std::uint32_t dialling = 0;
  std::uint64_t tasks = 0;
  // Ranks that were prepared without a pause of a second between them, and the time from the first
  // order to the last one: with one round a run, how long a round takes to reach all agents.
  std::uint32_t burst_ranks = 0;
  double burst_ms = 0;
  bool operator==(const FleetCounts&) const = default;
};

// Not thread safe: create it and run it on one thread.
class Fleet {
 public:
  // kResourceExhausted: no descriptor is left. kPermissionDenied: `acknowledged` cannot be written.
  static Result<std::unique_ptr<Fleet>> open(FleetOptions options, Scenario scenario,
                                             std::vector<KernelInfo> kernels);
  ~Fleet();

  // Runs until `stop_fd` is readable; then every stream ends. Calls `report` when counts changed,
  // at most once a second.
  void run(int stop_fd, const std::function<void(const FleetCounts&)>& report);

 private:
  struct Node {
    ModelledAgent agent;
    std::unique_ptr<FleetStream> stream{};
    bool is_dialling = false;
    bool is_refused = false;
    // The controller that it dials, by its place, and those that it has tried in this round.
    std::size_t controller = 0;
    std::size_t tried = 0;
    // Its stream is to end and has not ended.
    bool is_leaving = false;
    Nanoseconds dialled_ns = 0;
    // The entry of `due_` that counts; others of this agent are stale.
    Nanoseconds due_ns = kForever;
  };
  static constexpr std::uint64_t kNoJump = ~std::uint64_t{0};
  // An agent by the time of its next tick.
  using Due = std::pair<Nanoseconds, std::uint32_t>;

  Fleet(FleetOptions options, Scenario scenario, std::vector<KernelInfo> kernels,
        std::unique_ptr<Inbox> inbox);
  // The scenario's time.
  [[nodiscard]] Nanoseconds now() const;
  void wait(int stop_fd, Nanoseconds until) const;
  void take_events();
  void take_message(Node& node, const api::ControllerMessage& message);
  void note_prepare();
  void note_ack(const MemorySpool& spool, std::uint64_t through);
  void tick_due();
  // After a jump of the simulated clock every agent looks at its node.
  void notice_jump();
  // Reports to the controller when they have, and are attached again where that took a new stream.
  void follow_jump();
  void obey(std::uint32_t node, AgentOrders orders);
  // Queues the agent's next tick, unless an earlier one is queued.
  void schedule(std::uint32_t node, Nanoseconds time);
  // Dials for agents that wait, within the bound.
  void dial();
  void dial_one(std::uint32_t node);
  // The credentials of the node. kInvalidArgument, kPermissionDenied: its certificate cannot be
  // used.
  [[nodiscard]] Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(
      std::uint32_t node) const;
  void end_dial(Node& node);
  void hang_up_all();

  FleetOptions options_;
  std::vector<std::string> controllers_;
  ModelledFabric fabric_;
  std::vector<KernelInfo> kernels_;
  // The same as the bytes of each on the wire: a copy of the messages would take longer than the
  // rest of a dial.
  std::vector<std::string> kernel_bytes_;
  TaskBoard board_;
  std::unique_ptr<Inbox> inbox_;
  std::vector<Node> nodes_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::queue<std::uint32_t> to_dial_;
  std::uint64_t streams_ = 0;
  FleetCounts counts_;
  std::ofstream acknowledged_;
  // Jumps of the simulated clock; none yet.
  std::uint64_t noticed_jump_ = kNoJump;
  std::uint64_t followed_jump_ = kNoJump;
  std::chrono::steady_clock::time_point burst_begin_;
  std::chrono::steady_clock::time_point burst_last_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace railgauge::fleet
