#include "agent/preflight/checks/gpudirect.h"

#include <algorithm>

#include <fmt/format.h>

#include "agent/preflight/checks/dmabuf.h"
#include "agent/preflight/rules/pairs.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

bool concerns(const CheckResult& one, const GpuNicPair& pair) {
  const std::string& subject = one.subject;
  return subject.empty() || subject == pair.gpu->name || subject == pair.nic->name ||
         subject == pair.subject() || subject == "GPU driver" || subject == "OFED";
}

// The first failure that makes GPUDirect impossible, rather than slow.
const CheckResult* find_obstacle(const CheckResults& results, const GpuNicPair& pair) {
  const auto found = std::ranges::find_if(results, [&](const CheckResult& one) {
    return one.state == CheckState::kFail && concerns(one, pair);
  });
  return found == results.end() ? nullptr : &*found;
}

void answer_with(api::GpuDirectPair& out, const char* answer, const std::string& because,
                 const std::vector<std::string>& remedy) {
  out.set_answer(answer);
  out.set_because(valid_utf8(because));
  for (const std::string& line : remedy)
    if (!line.starts_with('#') || remedy.size() == 1) out.add_remedy(valid_utf8(line));
}

// The paths in place for this pair, as far as files show them; "" when there are none.
std::string path_in_place(const Inventory& node, const GpuNicPair& pair) {
  if (node.gpu_driver_flavour.is("open") && dmabuf_gpu_obstacle(node).empty() &&
      dmabuf_nic_obstacle(node, *pair.nic).empty() && node.kernel_release.is_known())
    return "dma-buf";
  if (node.is_loaded("nvidia_peermem")) return "nvidia-peermem";
  return node.is_loaded("nv_peer_mem") ? "nv_peer_mem" : "";
}

void judge_by_files(const CheckInput& input, const GpuNicPair& pair, api::GpuDirectPair& out) {
  const std::string path = path_in_place(input.node, pair);
  std::vector<CheckResults (*)(const CheckInput&)> obstacles{
      judge_minimum_versions, judge_rdma_device_nodes, judge_peer_memory_conflict};
  if (path != "dma-buf") {
    obstacles.push_back(judge_peermem_build);
    obstacles.push_back(judge_peer_memory_client);
  }
  for (const auto judge : obstacles) {
    const CheckResults results = judge(input);
    if (const CheckResult* found = find_obstacle(results, pair); found != nullptr)
      return answer_with(out, "no", found->observed, found->remedy);
  }
  out.set_path(path);
  const ProbeAnswer* answer = find_answer(input.probes, pair);
  if (answer != nullptr)
    return answer_with(out, "unknown",
                       fmt::format("{} (nothing else speaks against {})", answer->text,
                                   path.empty() ? "it" : path),
                       {"railgauge preflight --probe"});
  answer_with(
      out, "unknown",
      (path.empty() ? std::string("it is not known what this node's drivers can")
                    : fmt::format("{} is in place, but no registration was tried now", path)) +
          last_answer_words(input, pair),
      {"railgauge preflight --probe"});
}

void judge_pair(const CheckInput& input, const GpuNicPair& pair, api::GpuDirectPair& out) {
  if (is_unified(*pair.gpu))
    return answer_with(out, "no", "this GPU shares the host's memory, which any NIC reaches",
                       {"# measure host memory: memory=host"});
  const ProbeAnswer* answer = find_answer(input.probes, pair);
  if (answer != nullptr && answer->state == ProbeAnswer::State::kRegistered) {
    out.set_answer("yes");
    out.set_path(answer->path + (answer->is_synthetic ? " (synthetic)" : ""));
    return;
  }
  if (answer != nullptr && answer->state == ProbeAnswer::State::kRefused) {
    const CheckResults results = judge_registration(input);
    const auto found = std::ranges::find(results, pair.subject(), &CheckResult::subject);
    return answer_with(out, "no", answer->text,
                       found == results.end() ? std::vector<std::string>{} : found->remedy);
  }
  judge_by_files(input, pair, out);
}

}  // namespace

std::vector<api::GpuDirectPair> gpudirect_pairs(const CheckInput& input) {
  std::vector<api::GpuDirectPair> pairs;
  for (const GpuNicPair& pair : nearest_pairs(input.node)) {
    api::GpuDirectPair& out = pairs.emplace_back();
    out.set_gpu(pair.gpu->name);
    out.set_nic(pair.nic->name);
    out.set_distance(pair.distance);
    judge_pair(input, pair, out);
  }
  if (!pairs.empty()) return pairs;
  for (const GpuFacts& gpu : input.node.gpus) {
    api::GpuDirectPair& out = pairs.emplace_back();
    out.set_gpu(gpu.name);
    if (input.node.rdma_told.is_open())
      answer_with(out, "unknown", "it is not known which NICs have RDMA", {});
    else
      answer_with(out, "no", why_no_pairs(input.node), {});
  }
  return pairs;
}

}  // namespace railgauge::agent
