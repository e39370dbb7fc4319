// Who is attached under which name: the decisions about a Hello, silence and loss. Pure: time is
// passed in, streams are numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::fleet {

using Session = std::uint64_t;  // one stream; never used twice

enum class NodePresence { kAttached, kDetached, kLost };

struct RosterOptions {
  double silence_seconds = 12;  // without a message a stream is taken for dead
  double grace_seconds = 10;    // a detached agent may come back as the same incarnation
  double recall_seconds = 30;   // a name known from before keeps its node id so long: agents that
                                // lost their controller wait up to their longest back-off
};

class Roster {
 public:
  explicit Roster(RosterOptions options = {}) : options_(options) {}

  enum class Arrival {
    kNew,       // unknown, or lost before: it has no task of ours
    kResumed,   // the same agent process as before
    kRestarted  // another process of the same node: what the old one ran is lost
  };
  struct Attached {
    Arrival arrival;
    std::optional<Session> replaced;  // the old stream, to be told and closed
  };
  // A node that an earlier controller knew: its name is held for recall_seconds, though it is not
  // here and no task of ours can be on it. Before the first attach.
  void recall(const std::string& name, const std::string& node_id, double now);

  // kAlreadyExists: another node id holds the name (and has not been lost).
  Result<Attached> attach(Session session, const std::string& name, const std::string& node_id,
                          const std::string& incarnation, double now);
  // The node that the ended stream carried; nothing when another stream has replaced it.
  std::optional<std::string> detach(Session session, double now);
  void seen(Session session, double now);

  struct Expired {
    std::vector<Session> silent;    // to be closed; detach() follows by itself
    std::vector<std::string> lost;  // their grace is over
  };
  Expired expire(double now);

  struct Node {
    std::string node_id;
    std::string incarnation;  // "": recalled, never attached to this controller
    Session session = 0;
    NodePresence presence = NodePresence::kLost;
    double since = 0;  // of the presence
    double last_seen = 0;
  };
  [[nodiscard]] const std::map<std::string, Node>& nodes() const { return nodes_; }
  [[nodiscard]] const Node* find(const std::string& name) const;

 private:
  RosterOptions options_;
  std::map<std::string, Node> nodes_;        // by name
  std::map<Session, std::string> sessions_;  // current streams only
};

}  // namespace railgauge::fleet
