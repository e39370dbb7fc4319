// Decides who is attached under which name: at a Hello, after silence, and at a loss. Pure: time is
// passed in, streams are numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::fleet {

// One stream; never used twice.
using Session = std::uint64_t;

enum class NodePresence { kAttached, kDetached, kLost };

// Times are seconds.
struct RosterOptions {
  // A stream without messages for this long is dead.
  double silence_seconds = 12;
  // A detached agent may come back as the same incarnation.
  double grace_seconds = 10;
  // A name known from before keeps its node id so long: agents that lost their controller wait up
  // to their longest back-off.
  double recall_seconds = 30;
};

// Not thread safe. Times are seconds of a monotonic clock.
class Roster {
 public:
  explicit Roster(RosterOptions options = {}) : options_(options) {}

  enum class Arrival {
    // Unknown, or lost before: it has no task of this controller.
    kNew,
    // The same agent process as before.
    kResumed,
    kRestarted  // another process of the same node: the tasks of the old one are lost
  };
  struct Attached {
    Arrival arrival;
    // The old stream, to be refused and closed.
    std::optional<Session> replaced;
  };
  // A node that an earlier controller knew. Its name is reserved for recall_seconds, though the
  // node is not here and has no task. Call it before the first attach.
  void recall(const std::string& name, const std::string& node_id, double now);

  // kAlreadyExists: another node id holds the name and is not lost.
  Result<Attached> attach(Session session, const std::string& name, const std::string& node_id,
                          const std::string& incarnation, double now);
  // The node of the ended stream; absent if another stream has replaced it.
  std::optional<std::string> detach(Session session, double now);
  void seen(Session session, double now);

  struct Expired {
    // Close these; detach() follows.
    std::vector<Session> silent;
    // Their grace is over.
    std::vector<std::string> lost;
  };
  Expired expire(double now);

  struct Node {
    std::string node_id;
    // "": recalled, never attached to this controller.
    std::string incarnation;
    Session session = 0;
    NodePresence presence = NodePresence::kLost;
    // Since when the presence holds, seconds on the caller's clock.
    double since = 0;
    double last_seen = 0;
  };
  [[nodiscard]] const std::map<std::string, Node>& nodes() const { return nodes_; }
  [[nodiscard]] const Node* find(const std::string& name) const;

 private:
  RosterOptions options_;
  // The key is the name.
  std::map<std::string, Node> nodes_;
  // Current streams only.
  std::map<Session, std::string> sessions_;
};

}  // namespace railgauge::fleet
