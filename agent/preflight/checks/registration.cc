// The decisive test: a small GPU buffer is registered with the NIC, in a runner, on an idle GPU. A
// loaded module or a set flag proves nothing.
#include <algorithm>

#include "agent/preflight/checks/dmabuf.h"
#include "agent/preflight/checks/gpudirect.h"
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

std::string age_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", std::max(seconds, 0.0));
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

std::string words_of_answer(const ProbeAnswer& answer) {
  return answer.state == ProbeAnswer::State::kRegistered
             ? fmt::format("registered by {}", answer.path)
             : answer.text;
}

std::vector<std::string> refusal_remedy(const Inventory& node) {
  if (dmabuf_gpu_obstacle(node).empty() && !peer_memory_loaded(node))
    return load_module_commands("nvidia-peermem");
  return rebuild_gpu_driver_commands(node);
}

CheckResult judge_busy(const CheckInput& input, const GpuNicPair& pair, const ProbeAnswer& busy) {
  return unknown(pair.subject(), "busy: " + busy.text + last_answer_words(input, pair), "probe",
                 {"# again when the GPU is idle:", "railgauge preflight --probe"});
}

CheckResult judge_pair(const CheckInput& input, const GpuNicPair& pair) {
  const ProbeAnswer* answer = find_answer(input.probes, pair);
  if (answer == nullptr)
    return unknown(pair.subject(), "not tried now" + last_answer_words(input, pair), "probe",
                   {"railgauge preflight --probe"});
  const std::string synthetic = answer->is_synthetic ? " (synthetic)" : "";
  switch (answer->state) {
    case ProbeAnswer::State::kRegistered:
      return passed(pair.subject(), words_of_answer(*answer) + synthetic, "probe");
    case ProbeAnswer::State::kRefused:
      return failed(pair.subject(), answer->text + synthetic, "probe", refusal_remedy(input.node));
    case ProbeAnswer::State::kBusy:
      return judge_busy(input, pair, *answer);
    case ProbeAnswer::State::kNotTried:
      return unknown(pair.subject(), answer->text, "probe");
    case ProbeAnswer::State::kError:
      break;
  }
  return in_error(pair.subject(), answer->text, "probe");
}

}  // namespace

const ProbeAnswer* find_answer(std::span<const ProbeAnswer> answers, const GpuNicPair& pair) {
  const auto found = std::ranges::find_if(answers, [&](const ProbeAnswer& answer) {
    return answer.gpu == pair.gpu->name && answer.nic == pair.nic->name;
  });
  return found == answers.end() ? nullptr : &*found;
}

std::string last_answer_words(const CheckInput& input, const GpuNicPair& pair) {
  const ProbeAnswer* last = find_answer(input.earlier, pair);
  if (last == nullptr) return "";
  return fmt::format("; {} ago: {}{}", age_text(input.now_unix_seconds - last->at_unix_seconds),
                     words_of_answer(*last), last->is_synthetic ? " (synthetic)" : "");
}

CheckResults judge_registration(const CheckInput& input) {
  if (auto none = no_pairs(input.node)) return std::move(*none);
  if (std::ranges::all_of(input.node.gpus, is_unified))
    return waived("these GPUs share the host's memory, which any NIC reaches");
  CheckResults results;
  for (const GpuNicPair& pair : nearest_pairs(input.node))
    results.push_back(judge_pair(input, pair));
  return results;
}

}  // namespace railgauge::agent
