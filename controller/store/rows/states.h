// States of findings and upgrades, and the one table of their texts. The texts are in the database,
// in JSON and in metrics: they never change. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace railgauge::store {

// The life of a finding: see the transitions in queries/remarks.cc.
enum class FindingState : std::uint8_t {
  kNew,
  kConfirmed,     // another run showed it as well
  kAcknowledged,  // a person works on it, for a time or without end
  kAccepted,      // its level is the baseline from then on
  kFixed,
  kFalse,  // a false alarm
  kReopened
};
inline constexpr std::array<std::string_view, 7> kFindingStateTexts{
    "new", "confirmed", "acknowledged", "accepted", "fixed", "false", "reopened"};

// The life of an upgrade.
enum class UpgradeState : std::uint8_t { kPrepared, kMeasuring, kJudged };
inline constexpr std::array<std::string_view, 3> kUpgradeStateTexts{"prepared", "measuring",
                                                                    "judged"};

constexpr std::string_view text_of(FindingState state) {
  return kFindingStateTexts.at(static_cast<std::size_t>(state));
}
constexpr std::string_view text_of(UpgradeState state) {
  return kUpgradeStateTexts.at(static_cast<std::size_t>(state));
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
