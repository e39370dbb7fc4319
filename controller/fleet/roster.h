// Decides who is attached under which name: at a Hello, after silence, and at a loss. A node's id
// belongs to one name and one certificate, for good; only rename() changes that. Pure: time is
// passed in, streams are numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/states.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

using Session = std::uint64_t;  // one stream; never used twice

using api::NodePresence;

// Times are seconds.
struct RosterOptions {
  double silence_seconds = 12;  // a stream without messages for this long is dead
  double grace_seconds = 10;    // a detached agent may come back as the same incarnation
  double recall_seconds = 30;   // a name known from before keeps its node id so long: agents that
                                // lost their controller wait up to their longest back-off
};

// Not thread safe. Times are seconds of a monotonic clock.
class Roster {
 public:
  explicit Roster(RosterOptions options = {}) : options_(options) {}

  enum class Arrival {
    kNew,       // unknown, or lost before: it has no task of this controller
    kResumed,   // the same agent process as before
    kRestarted  // another process of the same node: the tasks of the old one are lost
  };
  struct Attached {
    Arrival arrival;
    std::optional<Session> replaced;  // the old stream, to be refused and closed
  };
  // A node that an earlier controller knew, and the identity of its certificate ("": none was
  // shown). Its name is reserved for recall_seconds, though the node is not here and has no task.
  // Call it before the first attach. Several ids may have had one name: call it in the order in
  // which they were seen.
  void recall(const std::string& name, const std::string& node_id, double now,
              const std::string& certificate = "");

  // `certificate`: the identity of the stream's certificate, "" without one.
  // kPermissionDenied: the id belongs to another node than the certificate. kAlreadyExists: the id
  // belongs to another name, another id holds the name and is not lost, or two processes take turns
  // as one node. kUnavailable: the node is being renamed.
  Result<Attached> attach(Session session, const std::string& name, const std::string& node_id,
                          const std::string& incarnation, double now,
                          const std::string& certificate = "");

  // The part of attach()'s errors that concerns what the id belongs to.
  [[nodiscard]] Status check_bond(const std::string& name, const std::string& node_id,
                                  const std::string& certificate) const;

  // Renames a node in two steps, because the store is written in between. begin_rename() returns
  // its id, which cannot attach until end_rename(). kNotFound: no node has the old name.
  // kFailedPrecondition: it is attached. kAlreadyExists: the new name belongs to another node.
  Result<std::string> begin_rename(const std::string& from, const std::string& to);
  void end_rename(const std::string& node_id, const std::string& to, bool is_stored, double now);
  // The node of the ended stream; absent if another stream has replaced it.
  std::optional<std::string> detach(Session session, double now);
  void seen(Session session, double now);

  struct Expired {
    std::vector<Session> silent;    // close these; detach() follows
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
    std::vector<std::string> replaced{};  // incarnations that others replaced while they were here
  };
  [[nodiscard]] const std::map<std::string, Node>& nodes() const { return nodes_; }
  [[nodiscard]] const Node* find(const std::string& name) const;

 private:
  // The node that an id belongs to.
  struct Bond {
    std::string name;
    std::string certificate;  // "": none was shown yet
  };
  Status check_holder(const std::string& name, const std::string& node_id,
                      const std::string& incarnation) const;
  // When silence or grace of the node ends; infinity for a lost one. Later times of the same node
  // only move it back, as long as its presence is the same.
  [[nodiscard]] double end_of(const Node& node) const;

  RosterOptions options_;
  std::map<std::string, Node> nodes_;            // by name
  std::map<std::string, Bond> bonds_;            // by node id
  std::map<Session, std::string> sessions_;      // current streams only
  std::map<std::string, std::string> renaming_;  // the new names by node id
  // No node's silence or grace ends before. Ticks until then go through no node.
  double next_end_ = 0;
};

}  // namespace railgauge::fleet
