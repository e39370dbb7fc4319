#include "controller/run/yield_window.h"

#include <fmt/format.h>

namespace railgauge::run {
namespace {
constexpr std::size_t kNamedNodes = 4;
// Begins the reason of a node in maintenance.
constexpr std::string_view kPaused = "paused until ";

std::string in_words(const std::map<std::string, std::string>& reasons) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [node, reason] : reasons) {
    if (named++ == kNamedNodes)
      return text + fmt::format("; and {} others", reasons.size() - kNamedNodes);
    text += fmt::format("{}node {} is {}{}", text.empty() ? "" : "; ", node,
                        reason.starts_with(kPaused) ? "" : "busy: ", reason);
  }
  return text;
}
}  // namespace

std::string YieldWindow::reason() const { return in_words(busy_); }

std::string YieldWindow::end_reason() const {
  return fmt::format("{}; it was waited {:.0f} min for", reason(), kWindowSeconds / 60);
}

std::string busy_refusal(const std::map<std::string, std::string>& reasons) {
  std::string without;
  for (const auto& [node, reason] : reasons)
    without += fmt::format("{}!{}", without.empty() ? "" : ",", node);
  return fmt::format("{}; wait, leave out {}, or measure beside it with --force --reason TEXT",
                     in_words(reasons), without);
}

}  // namespace railgauge::run
