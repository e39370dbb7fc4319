// Watch for upgrades without a gate. Proposes a gate or runs it, by the policy.
#pragma once

#include <array>
#include <cstdint>
#include <map>
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

// The treatment of upgrades without a gate, with the texts of `--upgrade-policy`.
enum class UpgradePolicy : std::uint8_t {
  kOff,      // none; a gate that somebody asked for is judged all the same
  kPropose,  // an event names the nodes and the command
  kRun       // they are gated
};
inline constexpr std::array<std::string_view, 3> kUpgradePolicyTexts{"off", "propose", "run"};

// The settings of the watch.
struct WatchPolicy {
  UpgradePolicy policy = UpgradePolicy::kPropose;
  std::optional<run::Schedule> window{};  // in which kRun may begin to measure; absent: always
};
// Reads the policy and the window from the settings; an unknown policy means kPropose.
// kInvalidArgument: the window cannot be read.
Result<WatchPolicy> watch_policy_of(const std::string& policy, const std::string& window);

// The watch. The store holds its state, so a restarted controller continues. Thread safe.
class UpgradeWatch {
 public:
  // Most runs of an after side while it is inconclusive.
  static constexpr std::size_t kMostRuns = 5;
  // The requester of its runs.
  static constexpr std::string_view kWho = "policy";

  // Control and store outlive it.
  UpgradeWatch(WatchPolicy policy, Control& control, store::Store& store)
      : next_(std::move(policy)), control_(control), store_(store), gate_(control, store) {}
  // The next look goes by `policy`.
  void set_policy(WatchPolicy policy) {
    const std::lock_guard lock(policy_mutex_);
    next_ = std::move(policy);
  }
  // Set it before the first tick.
  void on_act(OwnAct record) { record_ = std::move(record); }

  // Ends what is beyond the time limit of its gate, judges the upgrades whose runs have ended,
  // whoever asked for them, then looks for new cohorts.
  // A call during another call does nothing. Failures are logged. `now`: unix seconds.
  void tick(double now);

 private:
  // One look: judge, extend one upgrade, then propose or gate each stable cohort.
  Status look(double now);
  // Reports whether the policy lets it measure now: the window limits the begin of runs, not their
  // end.
  [[nodiscard]] bool may_begin(double now) const {
    return policy_.policy == UpgradePolicy::kRun &&
           (!policy_.window || run::in_window(*policy_.window, now));
  }
  // Judges ended runs and returns how many upgrades are still measured. An upgrade that cannot be
  // judged is logged and delays no other.
  Result<std::size_t> judge_ended_runs(const std::vector<store::UpgradeRow>& upgrades, double now);
  // Cancels the runs of the after side once the time limit of the gate is over.
  Status end_what_is_late(const store::UpgradeRow& upgrade, double now);
  // Adds a run to one upgrade that is inconclusive, or slower and not confirmed yet, also where
  // that had to wait. Returns whether it did.
  Result<bool> extend_one(const std::vector<store::UpgradeRow>& upgrades, double now);
  // Reports whether a further run may settle the upgrade: it is recent, of this watch, below
  // kMostRuns, and its nodes still have the measured stack.
  Result<bool> may_extend(const store::UpgradeRow& upgrade, double now);
  // Asks the gate for a further run. False: the gate waits.
  Result<bool> extend(const store::UpgradeRow& upgrade);
  // Logs each text once, not at every look.
  void log_trouble(const store::UpgradeRow& upgrade, const Error& error);
  // The age from which changes are history; seconds.
  [[nodiscard]] double long_ago() const {
    return policy_.window ? kWindowAgoSeconds : kLongAgoSeconds;
  }
  // Stores an event that names the cohort and the command. `why_not`: the reason why the policy did
  // not measure it; "" where the policy only proposes.
  Status propose(const Cohort& cohort, double now, const std::string& why_not = "");
  // Gates the cohort, at most `most` nodes of it. "" when the gate has begun, else the reason why
  // not.
  std::string run(const Cohort& cohort, const std::vector<store::UpgradeRow>& upgrades,
                  std::size_t most);

  std::mutex policy_mutex_;
  WatchPolicy next_;  // under policy_mutex_
  Control& control_;
  store::Store& store_;
  GateService gate_;
  OwnAct record_ = [](const std::string&, const std::string&, const Status&) {};
  // Held during a look; guards the members below.
  std::mutex mutex_;
  WatchPolicy policy_{};
  std::map<std::string, double> proposed_;  // keys of cohorts, with the time
  bool has_read_proposals_ = false;
  std::set<std::string> troubles_;  // texts that were logged
};

}  // namespace railgauge
