// Maintenance of nodes: who paused which node, why and until when. A pause is a row of the store
// and ends by itself. Thread safe; what waits for the store is called on worker threads.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/store/nodes/node_words.h"
#include "controller/store/store.h"

namespace railgauge {

inline constexpr double kLongestPauseSeconds = 366.0 * 24 * 3600;
inline constexpr std::size_t kMostPauseReasonBytes = 500;

// "paused until 2026-11-27T12:00:00Z by ann: DIMM"; the reason on one line.
std::string pause_text(const store::PauseRow& pause);
api::NodePause to_api(const store::PauseRow& pause);

class Pauses {
 public:
  // The pauses that hold, by node.
  using Held = std::map<std::string, store::PauseRow>;
  // Called after each change, and by load(). Must not block.
  using OnChange = std::function<void(const Held&)>;

  // The store outlives it.
  explicit Pauses(store::Store& store) : store_(store) {}
  // Set it before load().
  void on_change(OnChange changed) { changed_ = std::move(changed); }

  // Reads the pauses that hold. Call it at the start, and when a node was renamed.
  Status load();
  // The pauses that hold now.
  [[nodiscard]] Held held() const;
  // Pauses the nodes from `now` on, in the name of `who`. A node that is paused is paused anew.
  // kInvalidArgument: no reason, or an end that is not after now, or too far away.
  Status pause(const std::vector<std::string>& nodes, const api::PauseNodesRequest& request,
               const std::string& who, double now);
  // Resumes the nodes. Returns those that were paused.
  Result<std::vector<std::string>> resume(const std::vector<std::string>& nodes,
                                          const std::string& who, double now);
  // Resumes nodes whose time is over. A store that does not take it is asked again at the next
  // call.
  void tick(double now);
  // The next end of a pause; absent: none holds.
  [[nodiscard]] std::optional<double> next_end() const;

 private:
  Status reload();  // under changing_

  store::Store& store_;
  OnChange changed_ = [](const Held&) {};
  mutable std::mutex mutex_;  // guards held_
  Held held_{};
  std::mutex changing_;  // one change at a time, so that held_ follows the store
};

}  // namespace railgauge
