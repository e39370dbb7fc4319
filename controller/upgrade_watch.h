// Sees to upgrades that nobody gates: says that there is one, or gates it, as the policy has it.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/control.h"
#include "controller/run/schedule.h"
#include "controller/store/store.h"
#include "controller/upgrade_cohorts.h"
#include "controller/upgrade_desk.h"

namespace railgauge {

inline constexpr std::string_view kPolicyOff = "off";
inline constexpr std::string_view kPolicyPropose = "propose";  // an event names cohort and command
inline constexpr std::string_view kPolicyRun = "run";          // and it is gated

struct WatchPolicy {
  std::string policy{kPolicyPropose};
  std::optional<run::Schedule>
      window{};  // in which kPolicyRun may begin to measure; absent: always
};
// kInvalidArgument: the window is none.
Result<WatchPolicy> watch_policy_of(std::string policy, const std::string& window);

// Thread safe. What is under way stands in the store: a controller that was restarted goes on.
class UpgradeWatch {
 public:
  static constexpr std::size_t kMostRuns = 5;  // of an after side, while it is inconclusive
  static constexpr std::string_view kWho = "policy";

  // Control and store outlive it.
  UpgradeWatch(WatchPolicy policy, Control& control, store::Store& store)
      : policy_(std::move(policy.policy)),
        window_(std::move(policy.window)),
        control_(control),
        store_(store),
        desk_(control, store) {}

  // Judges what it measured, then looks for new cohorts. A look while one goes on does nothing.
  // `now`: unix seconds.
  void tick(double now);

 private:
  Status look(double now);
  [[nodiscard]] bool may_begin(double now) const {
    return policy_ == kPolicyRun && (!window_ || run::in_window(*window_, now));
  }
  // How many nodes it is measuring; what has ended is judged, and extended.
  Result<std::size_t> see_to_runs(const std::vector<store::UpgradeRow>& upgrades, double now);
  Status judge(const store::UpgradeRow& upgrade, std::size_t runs, double now);
  Result<std::vector<MovedNode>> moved_nodes(const api::NodeList& nodes,
                                             const std::vector<store::UpgradeRow>& upgrades);
  Status propose(const Cohort& cohort, double now);
  Status run(const Cohort& cohort, const std::vector<store::UpgradeRow>& upgrades,
             std::size_t most);

  const std::string policy_;
  const std::optional<run::Schedule> window_;
  Control& control_;
  store::Store& store_;
  UpgradeDesk desk_;
  std::mutex mutex_;            // one look at a time; guards what follows
  std::set<std::string> told_;  // texts of what was proposed
};

}  // namespace railgauge
