// Builders of check results. An unknown fact never becomes a pass: its result is unknown or error,
// with the reader's own reason.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/preflight/rules/check.h"

namespace railgauge::agent {

// The source that a result names: that of a fact, or free text.
struct Source {
  std::string text{};
  Source() = default;
  Source(const FactInfo& fact) : text(fact.source) {}
  Source(std::string words) : text(std::move(words)) {}
  Source(const char* words) : text(words) {}
};

// A factory of results of one state.
struct ResultOf {
  CheckState state;
  CheckResult operator()(std::string subject, std::string observed, Source source = {},
                         std::vector<std::string> remedy = {}) const {
    return {state, std::move(subject), std::move(observed), std::move(source.text),
            std::move(remedy)};
  }
  // The result for the whole node, when the check has no subject here.
  CheckResults operator()(std::string why) const { return {(*this)("", std::move(why))}; }
};
inline constexpr ResultOf passed{CheckState::kPass};
inline constexpr ResultOf warned{CheckState::kWarn};
inline constexpr ResultOf failed{CheckState::kFail};
inline constexpr ResultOf unknown{CheckState::kUnknown};
inline constexpr ResultOf in_error{CheckState::kError};
inline constexpr ResultOf waived{CheckState::kWaived};

// Returns the result for a fact that is not known; `what` describes the fact.
inline CheckResult not_known(std::string subject, std::string_view what, const FactInfo& fact,
                             std::vector<std::string> remedy = {}) {
  if (fact.state == FactState::kError)
    return in_error(std::move(subject), fmt::format("{}: {}", what, fact.reason), fact,
                    std::move(remedy));
  std::string text = fact.is_absent()      ? fmt::format("{} is not reported here", what)
                     : fact.reason.empty() ? fmt::format("{} is not known", what)
                                           : fmt::format("{} is not known: {}", what, fact.reason);
  return unknown(std::move(subject), std::move(text), fact, std::move(remedy));
}

// Returns the remedy when only a privileged reader sees a device's configuration space.
std::vector<std::string> config_space_remedy(const std::string& pci_address);
// Returns the remedy when only a privileged reader sees the kernel's log.
std::vector<std::string> kernel_log_remedy();
// Returns the result when the kernel's log has no line with `words` but no longer reaches back to
// the boot, so that such lines may have been overwritten.
CheckResult cut_log(const Inventory& node, std::string subject, std::string_view words);

}  // namespace railgauge::agent
