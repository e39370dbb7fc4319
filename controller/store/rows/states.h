// States of runs, tasks, due times, findings and upgrades, and the one table of their texts. The
// texts are in the database, in JSON and in metrics: they never change. SQL repeats them as
// literals, because partial indexes apply only to literals. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace railgauge::store {

// The life of a run.
enum class RunState : std::uint8_t {
  kPlanned,
  kRunning,
  // Tasks under way still end.
  kCancelling,
  kEnded
};
inline constexpr std::array<std::string_view, 4> kRunStateTexts{"planned", "running", "cancelling",
                                                                "ended"};

// The life of a task.
enum class TaskState : std::uint8_t {
  kWaiting,
  // Its nodes are asked for their ports and addresses.
  kPreparing,
  kRunning,
  kEnded
};
inline constexpr std::array<std::string_view, 4> kTaskStateTexts{"waiting", "preparing", "running",
                                                                 "ended"};

// The decision on a due time of a schedule.
enum class DueResult : std::uint8_t {
  kStarted,
  // By a window, a blackout or a run that was still under way.
  kSkipped,
  // Nothing could start it in time.
  kMissed,
  kByHand  // a person started it; it decides no due time
};
inline constexpr std::array<std::string_view, 4> kDueResultTexts{"started", "skipped", "missed",
                                                                 "by_hand"};

// The life of a finding: see the transitions in queries/remarks.cc.
enum class FindingState : std::uint8_t {
  kNew,
  // Another run showed it as well.
  kConfirmed,
  // A person works on it, for a time or without end.
  kAcknowledged,
  // Its level is the baseline from then on.
  kAccepted,
  kFixed,
  // A false alarm.
  kFalse,
  kReopened
};
inline constexpr std::array<std::string_view, 7> kFindingStateTexts{
    "new", "confirmed", "acknowledged", "accepted", "fixed", "false", "reopened"};

// The life of an upgrade.
enum class UpgradeState : std::uint8_t { kPrepared, kMeasuring, kJudged };
inline constexpr std::array<std::string_view, 3> kUpgradeStateTexts{"prepared", "measuring",
                                                                    "judged"};

// The table of a type of states.
constexpr const auto& state_texts(RunState) { return kRunStateTexts; }
constexpr const auto& state_texts(TaskState) { return kTaskStateTexts; }
constexpr const auto& state_texts(DueResult) { return kDueResultTexts; }
constexpr const auto& state_texts(FindingState) { return kFindingStateTexts; }
constexpr const auto& state_texts(UpgradeState) { return kUpgradeStateTexts; }

// The text of a state, as it is stored and printed.
template <class State>
requires std::is_enum_v<State> && requires(State state) { state_texts(state); }
constexpr std::string_view text_of(State state) {
  return state_texts(state).at(static_cast<std::size_t>(state));
}

// The state with that text; absent for any other text.
template <class State, std::size_t Count>
std::optional<State> state_of(const std::array<std::string_view, Count>& texts,
                              std::string_view text) {
  const auto found = std::ranges::find(texts, text);
  if (found == texts.end()) return std::nullopt;
  return static_cast<State>(found - texts.begin());
}

// Whether nobody looked at the finding since it began, or began again.
constexpr bool is_unseen(FindingState state) {
  return state == FindingState::kNew || state == FindingState::kReopened;
}
// Whether the finding is over: fixed or a false alarm. An accepted one is settled, yet listed.
constexpr bool is_closed(FindingState state) {
  return state == FindingState::kFixed || state == FindingState::kFalse;
}
// Whether the finding still asks for something: it is neither closed nor accepted.
constexpr bool is_open(FindingState state) {
  return !is_closed(state) && state != FindingState::kAccepted;
}

}  // namespace railgauge::store
