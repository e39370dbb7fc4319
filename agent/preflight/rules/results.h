// How checks build their results. An unknown fact never becomes a pass: its result is unknown or
// error, with the reader's own reason.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/preflight/rules/check.h"

namespace railgauge::agent {

inline CheckResult result(CheckState state, std::string subject, std::string observed,
                          std::string source = "", std::vector<std::string> remedy = {}) {
  return {state, std::move(subject), std::move(observed), std::move(source), std::move(remedy)};
}

// For the whole node, when the check has nothing to look at here.
inline CheckResults waived(std::string why) {
  return {result(CheckState::kWaived, "", std::move(why))};
}

// The result when `fact`, in words `what`, is not known.
template <class T>
CheckResult not_known(std::string subject, std::string_view what, const Fact<T>& fact,
                      std::vector<std::string> remedy = {}) {
  if (fact.state == FactState::kError)
    return result(CheckState::kError, std::move(subject), fmt::format("{}: {}", what, fact.reason),
                  fact.source, std::move(remedy));
  std::string text = fact.is_absent()      ? fmt::format("{} is not told here", what)
                     : fact.reason.empty() ? fmt::format("{} is not known", what)
                                           : fmt::format("{} is not known: {}", what, fact.reason);
  return result(CheckState::kUnknown, std::move(subject), std::move(text), fact.source,
                std::move(remedy));
}

// The operator's remedy where only a privileged reader sees a device's configuration space.
std::vector<std::string> config_space_remedy(const std::string& pci_address);
// The same for the kernel's log.
std::vector<std::string> kernel_log_remedy();
// That lines with `words` are not in the kernel's log, where the log no longer reaches back to the
// boot and so does not say that there were none.
CheckResult cut_log(const Inventory& node, std::string subject, std::string_view words);

}  // namespace railgauge::agent
