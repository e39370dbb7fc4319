// States of the contract, the database, JSON and metrics: one enumeration and one table of texts
// for each. The texts never change. SQL repeats them as literals, because partial indexes apply
// only to literals. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace railgauge::api {

// The result of a preflight check, from the best to the worst. A check without data is worse than a
// warning: missing data is never a pass. A waived check proves nothing, so it is the worst state
// only when all checks are waived.
enum class CheckState : std::uint8_t { kWaived, kPass, kWarn, kUnknown, kError, kFail };
constexpr auto texts_of(CheckState) {
  return std::to_array<std::string_view>({"waived", "pass", "warn", "unknown", "error", "fail"});
}

// The life of a run. While it is cancelling, tasks under way still end.
enum class RunState : std::uint8_t { kPlanned, kRunning, kCancelling, kEnded };
constexpr auto texts_of(RunState) {
  return std::to_array<std::string_view>({"planned", "running", "cancelling", "ended"});
}

// The life of a task. A task whose ranks are ending is shown as "running".
enum class TaskState : std::uint8_t { kWaiting, kPreparing, kRunning, kEnding, kEnded };
constexpr auto texts_of(TaskState) {
  return std::to_array<std::string_view>({"waiting", "preparing", "running", "running", "ended"});
}

// The decision on a due time of a schedule.
enum class DueResult : std::uint8_t {
  kStarted,
  kSkipped,  // by a window, a blackout or a run that was still under way
  kMissed,   // nothing could start it in time
  kByHand    // a person started a run; it decides no due time
};
constexpr auto texts_of(DueResult) {
  return std::to_array<std::string_view>({"started", "skipped", "missed", "by_hand"});
}

// The presence of a node. A detached node may come back with its tasks.
enum class NodePresence : std::uint8_t { kAttached, kDetached, kLost };
constexpr auto texts_of(NodePresence) {
  return std::to_array<std::string_view>({"attached", "detached", "lost"});
}

// The life of a finding: see the transitions in controller/store/queries/remarks.cc.
enum class FindingState : std::uint8_t {
  kNew,
  kConfirmed,     // another run showed it as well
  kAcknowledged,  // a person works on it, for a time or without end
  kAccepted,      // its level is the baseline from then on
  kFixed,
  kFalse,  // a false alarm
  kReopened,
  kInvestigating,  // a person looks for its cause
  kRolledBack,     // its cause was taken back
  kDownstream      // it is the effect of another finding or of a named cause
};
constexpr auto texts_of(FindingState) {
  return std::to_array<std::string_view>({"new", "confirmed", "acknowledged", "accepted", "fixed",
                                          "false", "reopened", "investigating", "rolled_back",
                                          "downstream"});
}

// The life of an upgrade.
enum class UpgradeState : std::uint8_t { kPrepared, kMeasuring, kJudged };
constexpr auto texts_of(UpgradeState) {
  return std::to_array<std::string_view>({"prepared", "measuring", "judged"});
}

// The result of one step of the gate.
enum class GateState : std::uint8_t {
  kWaiting,    // for nodes, a run or a stack; the reason names it
  kMeasuring,  // a run of the after side has begun
  kMeasured    // no run can be planned because endpoints are gone: judge without one
};
constexpr auto texts_of(GateState) {
  return std::to_array<std::string_view>({"waiting", "measuring", "measured"});
}

// Returns the text of a state, as stored and printed.
template <class State>
requires std::is_enum_v<State>
constexpr std::string_view text_of(State state) {
  return texts_of(state).at(static_cast<std::size_t>(state));
}

// Returns the state of a text; absent when the table lacks the text.
template <class State, std::size_t Count>
constexpr std::optional<State> state_of(const std::array<std::string_view, Count>& texts,
                                        std::string_view text) {
  const auto found = std::ranges::find(texts, text);
  if (found == texts.end()) return std::nullopt;
  return static_cast<State>(found - texts.begin());
}
template <class State>
constexpr std::optional<State> state_of(std::string_view text) {
  return state_of<State>(texts_of(State()), text);
}

// Reports whether no run or person has confirmed the finding since it began, or began again.
constexpr bool is_unseen(FindingState state) {
  return state == FindingState::kNew || state == FindingState::kReopened;
}
// Reports whether the cause of the finding is gone: a run that shows it again opens it again.
constexpr bool is_mended(FindingState state) {
  return state == FindingState::kFixed || state == FindingState::kRolledBack;
}
// Reports whether the finding is over: mended or a false alarm. An accepted finding is settled, but
// still listed.
constexpr bool is_closed(FindingState state) {
  return is_mended(state) || state == FindingState::kFalse;
}
// Reports whether the finding still needs a step: it is neither closed nor accepted.
constexpr bool is_open(FindingState state) {
  return !is_closed(state) && state != FindingState::kAccepted;
}

}  // namespace railgauge::api
