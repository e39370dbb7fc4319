// Finds upgrades that nobody gates. Proposes a gate or runs it, as the policy says.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/control/control.h"
#include "controller/gate/gate_service.h"
#include "controller/schedule/schedule.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {

// What happens to upgrades that nobody gates, and the one table of the texts of `--upgrade-policy`.
enum class UpgradePolicy : std::uint8_t {
  kOff,
  kPropose,  // an event names the nodes and the command
  kRun       // they are gated
};
inline constexpr std::array<std::string_view, 3> kUpgradePolicyTexts{"off", "propose", "run"};

struct WatchPolicy {
  UpgradePolicy policy = UpgradePolicy::kPropose;
  std::optional<run::Schedule> window{};  // in which kRun may begin to measure; absent: always
};
// kInvalidArgument: the window is none.
Result<WatchPolicy> watch_policy_of(const std::string& policy, const std::string& window);

// Thread safe. The store holds what is under way, so that a restarted controller continues it.
class UpgradeWatch {
 public:
  static constexpr std::size_t kMostRuns = 5;  // of an after side, while it is inconclusive
  static constexpr std::string_view kWho = "policy";

  // Control and store outlive it.
  UpgradeWatch(WatchPolicy policy, Control& control, store::Store& store)
      : policy_(policy.policy),
        window_(std::move(policy.window)),
        control_(control),
        store_(store),
        gate_(control, store) {}

  // Judges the runs that have ended, then looks for new cohorts. A call during another one does
  // nothing. `now`: unix seconds.
  void tick(double now);

 private:
  Status look(double now);
  [[nodiscard]] bool may_begin(double now) const {
    return policy_ == UpgradePolicy::kRun && (!window_ || run::in_window(*window_, now));
  }
  // Judges ended runs and returns how many upgrades are still measured. An upgrade that cannot be
  // judged is logged and delays no other.
  Result<std::size_t> judge_ended_runs(const std::vector<store::UpgradeRow>& upgrades, double now);
  Result<bool> judge_when_ended(const store::UpgradeRow& upgrade,
                                double now);  // whether it is still measured
  // Measures one once more that is inconclusive, or slower and not confirmed yet, also where that
  // had to wait. Whether it did.
  Result<bool> extend_one(const std::vector<store::UpgradeRow>& upgrades, double now);
  Result<bool> may_extend(const store::UpgradeRow& upgrade, double now);
  Result<bool> extend(const store::UpgradeRow& upgrade);
  void log_trouble(const store::UpgradeRow& upgrade, const Error& error);
  // Changes older than this are history; seconds.
  [[nodiscard]] double long_ago() const { return window_ ? kWindowAgoSeconds : kLongAgoSeconds; }
  Result<std::vector<MovedNode>> moved_nodes(const api::NodeList& nodes,
                                             const std::vector<store::UpgradeRow>& upgrades);
  // `why_not`: why it is not measured without being asked; "" that is not the policy.
  Status propose(const Cohort& cohort, double now, const std::string& why_not = "");
  // "" when it has begun, else what it waits for.
  std::string run(const Cohort& cohort, const std::vector<store::UpgradeRow>& upgrades,
                  std::size_t most);

  const UpgradePolicy policy_;
  const std::optional<run::Schedule> window_;
  Control& control_;
  store::Store& store_;
  GateService gate_;
  std::mutex mutex_;                // one look at a time; guards what follows
  std::set<std::string> proposed_;  // texts of what was proposed
  std::set<std::string> troubles_;
};

}  // namespace railgauge
