// Decides which runs are under way side by side. Two runs on one node would measure each other, so
// a run leases its nodes, and runs whose nodes do not meet run at once. Takes events, returns
// actions; uses no clock, socket or file.
//
// Order: the priority first, then the requesters in turn, then the arrival. A run that waits for
// its nodes bars runs of a lower priority from them. A gate's run borrows nodes of a scheduled run
// under way, which gets them back afterwards.
//
// Invariants, whatever the order of events: No node is used by two runs. Runs that came later and
// share a node with a waiting run pass it at most kMostOvertakes times. A scheduled run is
// interrupted at most kMostInterruptions times. A run that was removed has no node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace railgauge::run {

enum class Priority : std::uint8_t { kGate, kCli, kSchedule };  // the first one goes first
// "gate", "cli", "schedule".
std::string_view text_of(Priority priority);
// The priority of a run with that trigger: "upgrade" is the gate's, "schedule" is last.
Priority priority_of(std::string_view trigger);

struct QueuedRun {
  std::string run_id{};
  Priority priority = Priority::kCli;
  std::string requester{};
  std::vector<std::string> nodes{};  // each once
};

// The run has all of its nodes and begins.
struct BeginRun {
  std::string run_id{};
};
// The run ends its tasks on the nodes, begins no other there, and reports each with cleared().
struct LendNodes {
  std::string run_id{};
  std::vector<std::string> nodes{};
  std::string to{};
};
// The run has the nodes again.
struct ReturnNodes {
  std::string run_id{};
  std::vector<std::string> nodes{};
};
using QueueAction = std::variant<BeginRun, LendNodes, ReturnNodes>;
using QueueActions = std::vector<QueueAction>;

// One cause of a wait: another run.
struct RunWait {
  enum class Kind : std::uint8_t {
    kNodes,  // it measures on the nodes
    kQueue,  // it waits too, goes first, and wants the nodes
    kYield,  // it gives the nodes up
    kLent    // it has borrowed the nodes
  };
  Kind kind = Kind::kNodes;
  std::string run_id{};
  std::vector<std::string> nodes{};  // sorted
  friend bool operator==(const RunWait&, const RunWait&) = default;
};

// The runs that have not ended. Not thread safe.
class RunQueue {
 public:
  static constexpr std::uint32_t kMostOvertakes = 8;
  static constexpr std::uint32_t kMostInterruptions = 8;

  // Takes a run, once an id.
  void add(QueuedRun run, QueueActions& out);
  // The run has ended, or does not want to begin any more. An unknown run has no effect.
  void remove(const std::string& run_id, QueueActions& out);
  // The run has no task under way on the node that it lends.
  void cleared(const std::string& run_id, const std::string& node, QueueActions& out);

  [[nodiscard]] bool has_begun(const std::string& run_id) const;
  // Runs that have not begun.
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t waiting(Priority priority) const;
  // The causes of the run's wait; empty: it does not wait.
  [[nodiscard]] std::vector<RunWait> waits_of(const std::string& run_id) const;
  // Lent nodes that are not cleared, each with the run that lends it.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> uncleared() const;
  [[nodiscard]] std::size_t leased() const { return leases_.size(); }
  // The run that uses the node; "" for none.
  [[nodiscard]] std::string user_of(const std::string& node) const;

 private:
  // kTaking: it has its free nodes, and waits for nodes that are being given up.
  enum class State : std::uint8_t { kWaiting, kTaking, kBegun };
  struct Entry {
    QueuedRun run{};
    std::uint64_t arrival = 0;
    std::uint64_t turn = 0;  // of its requester
    State state = State::kWaiting;
    std::uint32_t overtaken = 0;
    std::uint32_t interrupted = 0;
    std::vector<RunWait> waits{};  // of a waiting run
  };
  struct Lease {
    std::string owner{};
    std::string borrower{};  // "": the owner uses it
    bool cleared = false;    // by the owner, for the borrower
    [[nodiscard]] const std::string& user() const { return borrower.empty() ? owner : borrower; }
  };
  // The runs of one priority take turns by requester.
  struct Turns {
    std::uint64_t now = 0;
    std::map<std::string, std::uint64_t> last{};  // by requester with a run that has not ended
  };
  // Which runs a waiting run keeps from a node.
  struct Bar {
    std::string run_id{};
    bool all = false;  // else those of a lower priority
    Priority priority = Priority::kGate;
  };
  using Bars = std::map<std::string, Bar>;  // by node

  [[nodiscard]] static bool was_passed_enough(const Entry& entry) {
    return entry.overtaken >= kMostOvertakes;
  }
  std::uint64_t next_turn(const QueuedRun& run);
  [[nodiscard]] std::vector<Entry*> in_order();
  [[nodiscard]] bool may_borrow(const Entry& entry, const Lease& lease) const;
  [[nodiscard]] std::vector<RunWait> causes_of(const Entry& entry, const Bars& bars) const;
  void bar(const Entry& entry, Bars& bars) const;
  void take(Entry& entry, QueueActions& out);
  void begin_if_complete(Entry& entry, QueueActions& out);
  void give_back(const std::string& run_id, QueueActions& out);
  void forget_requester(const QueuedRun& gone);
  void decide(QueueActions& out);

  std::map<std::string, Entry> runs_;    // by id
  std::map<std::string, Lease> leases_;  // by node
  std::map<Priority, Turns> turns_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace railgauge::run
