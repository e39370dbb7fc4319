#include "agent/preflight/text.h"

#include <fmt/format.h>

#include "controller/api/preflight.h"
#include "controller/api/states.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

std::string pairs_text(const api::PreflightReport& report) {
  std::string text;
  for (const api::GpuDirectPair& pair : report.pairs())
    text += printable(fmt::format(
                "{} {}{}{}: {}", pair.gpu(), pair.nic().empty() ? "no NIC" : pair.nic(),
                pair.distance().empty() ? "" : " ", pair.distance(), api::gpudirect_text(pair))) +
            '\n';
  return text;
}

}  // namespace

std::string preflight_text(const api::PreflightReport& report) {
  std::string text;
  for (const api::PreflightNode& node : report.nodes())
    text += printable(fmt::format("{}: {} ({}), {:.2f} s", node.node(), node.state(),
                                  api::state_counts_text(report, node.node()), node.seconds())) +
            '\n';
  for (const api::PreflightCheck& check : report.checks()) {
    if (check.state() == text_of(api::CheckState::kPass) ||
        check.state() == text_of(api::CheckState::kWaived))
      continue;
    text +=
        printable(fmt::format("{:<8}{:<24}{:<16}{}", check.state(), check.id(),
                              check.subject().empty() ? "-" : check.subject(), check.observed())) +
        '\n';
  }
  if (const std::string pairs = pairs_text(report); !pairs.empty()) text += '\n' + pairs;
  if (const std::string remedies = api::remedies_text(report); !remedies.empty())
    text += '\n' + printable_lines(remedies);
  return text;
}

}  // namespace railgauge::agent
