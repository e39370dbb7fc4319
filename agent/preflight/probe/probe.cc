#include "agent/preflight/probe/probe.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "agent/preflight/rules/pairs.h"
#include "agent/tasks/final.h"
#include "kernels/core/base/probe.pb.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMaxOutputBytes = 1U << 20U;

ProbeAnswer::State state_of_word(const std::string& word) {
  if (word == "registered") return ProbeAnswer::State::kRegistered;
  if (word == "refused") return ProbeAnswer::State::kRefused;
  if (word == "busy") return ProbeAnswer::State::kBusy;
  return word == "not_tried" ? ProbeAnswer::State::kNotTried : ProbeAnswer::State::kError;
}

}  // namespace

std::string why_silent(const Result<CommandOutput>& output) {
  if (!output) return output.error().message;
  if (output->wait_status == 0) return "the runner said nothing of it";
  return fmt::format("the runner {}: {}", describe_wait_status(output->wait_status),
                     valid_utf8(output->err.substr(0, output->err.find('\n'))));
}

std::vector<ProbeAnswer> parse_probe_lines(const std::string& text, double unix_seconds) {
  std::vector<ProbeAnswer> answers;
  for_each_message_line<GpuDirectProbe>(text, [&](const GpuDirectProbe& probe) {
    if (probe.gpu().empty() || probe.nic().empty()) return;
    answers.push_back({.gpu = probe.gpu(),
                       .nic = probe.nic(),
                       .state = state_of_word(probe.state()),
                       .path = probe.path(),
                       .text = probe.text(),
                       .at_unix_seconds = unix_seconds,
                       .is_synthetic = probe.synthetic()});
  });
  return answers;
}

std::vector<ProbeAnswer> probe_registrations(const Inventory& node, const std::string& runner,
                                             double seconds, const Confinement* confinement) {
  const std::vector<GpuNicPair> pairs = nearest_pairs(node);
  std::string list;
  for (const GpuNicPair& pair : pairs)
    list += fmt::format("{}{}@{}+{}", list.empty() ? "" : ",", pair.gpu->name,
                        pair.gpu->pci_address, pair.nic->name);
  if (pairs.empty()) return {};
  CommandOutput until_then;
  const auto output = run_command({runner, "--probe-gpudirect", list}, seconds, kMaxOutputBytes,
                                  &until_then, confinement);
  const double now = static_cast<double>(std::time(nullptr));
  std::vector<ProbeAnswer> answers = parse_probe_lines(output ? output->out : until_then.out, now);
  for (const GpuNicPair& pair : pairs) {
    const bool answered = std::ranges::any_of(answers, [&](const ProbeAnswer& answer) {
      return answer.gpu == pair.gpu->name && answer.nic == pair.nic->name;
    });
    if (!answered)
      answers.push_back({.gpu = pair.gpu->name,
                         .nic = pair.nic->name,
                         .state = ProbeAnswer::State::kError,
                         .path = "",
                         .text = why_silent(output),
                         .at_unix_seconds = now});
  }
  return answers;
}

}  // namespace railgauge::agent
