#include "controller/certificate/evidence/shared.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "controller/store/queries/data_kind.h"
#include "controller/store/queries/events.h"
#include "controller/trust/digest.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/fold.h"

namespace railgauge::certificate {
namespace {

using Ends = std::vector<const store::TaskEnd*>;

// Adds the tasks that did not pass, those with like reasons together.
void add_untested(const std::string& run_id, const Ends& ends, Certificate& out) {
  std::vector<std::string> reasons;
  std::vector<std::string> nodes;
  for (const store::TaskEnd* end : ends) {
    reasons.push_back(end->reason);
    for (const std::string& endpoint : end->endpoints)
      nodes.push_back(endpoint.substr(0, endpoint.find('/')));
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const TextGroup& text : group_texts(reasons, nodes)) {
    UntestedTasks& group = *out.add_not_tested();
    const store::TaskEnd& first = *ends[text.members.front()];
    group.set_run_id(run_id);
    group.set_stage(first.stage);
    group.set_kernel(first.kernel);
    group.set_outcome(first.outcome);
    if (!text.text.empty()) group.set_reason(text.text);
    double tasks = 0;
    std::vector<std::string> endpoints;
    for (const std::size_t member : text.members) {
      tasks += static_cast<double>(ends[member]->tasks);
      endpoints.insert(endpoints.end(), ends[member]->endpoints.begin(),
                       ends[member]->endpoints.end());
    }
    group.set_tasks(tasks);
    group.set_endpoints(fold_names(endpoints));
  }
}

}  // namespace

std::string folded(const std::vector<std::string>& names) { return fold_names(names); }

// Tasks that passed are counted by stage and kernel. Others are grouped by reason, since a reader
// asks why before asking how many.
Status add_tasks(const store::Store& store, const std::string& run_id, Certificate& out) {
  std::map<std::tuple<std::uint32_t, std::string, std::string>, Ends> others;
  const auto ends = RG_TRY(store.read(store::read_task_ends, run_id));
  for (const store::TaskEnd& end : ends) {
    if (end.outcome != kPassed) {
      others[{end.stage, end.kernel, end.outcome}].push_back(&end);
      continue;
    }
    TestedTasks& tested = *out.add_tested();
    tested.set_run_id(run_id);
    tested.set_stage(end.stage);
    tested.set_kernel(end.kernel);
    tested.set_tasks(static_cast<double>(end.tasks));
  }
  for (const auto& [key, members] : others) add_untested(run_id, members, out);
  return {};
}

// By its digest: the text may name hosts and users, which a certificate that leaves the site need
// not say.
Status add_suite(const store::Store& store, const std::string& run_id, Certificate& out) {
  out.set_suite_sha256(trust::sha256_hex(RG_TRY(store.read(store::read_suite_text, run_id))));
  return {};
}

Status add_data_kind(const store::Store& store, Certificate& out) {
  out.set_synthetic(RG_TRY(store.read(store::read_data_kind)) == store::DataKind::kSynthetic);
  return {};
}

// Nodes with the same fingerprints, now and before, are one entry. Zero is the store's key of "not
// known", and such a stack has no fingerprint.
Status add_stacks(const store::Store& store, const std::map<std::string, std::int64_t>& stacks,
                  const std::map<std::string, std::int64_t>& before, Certificate& out) {
  const auto earlier = [&](const std::string& node) {
    const auto found = before.find(node);
    return found == before.end() ? std::int64_t{0} : found->second;
  };
  const auto fingerprint = [&](std::int64_t stack) -> Result<store::StackParts> {
    if (stack == 0) return store::StackParts();
    return store.read(store::read_stack_parts, stack);
  };
  // By both fingerprints, since keys of the store mean nothing outside.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> alike;
  std::map<std::pair<std::string, std::string>, store::TextMap> versions;
  for (const auto& [node, stack] : stacks) {
    std::pair<std::string, std::string> key;
    const store::StackParts now = RG_TRY(fingerprint(stack));
    const store::StackParts then = RG_TRY(fingerprint(earlier(node)));
    if (!now.versions.empty()) key.first = stack_hash(now.versions, now.settings);
    if (!then.versions.empty()) key.second = stack_hash(then.versions, then.settings);
    alike[key].push_back(node);
    versions[key] = now.versions;
  }
  for (const auto& [key, nodes] : alike) {
    CertifiedStack& told = *out.add_stacks();
    told.set_nodes(folded(nodes));
    if (!key.first.empty()) told.set_fingerprint(key.first);
    if (!key.second.empty()) told.set_fingerprint_before(key.second);
    told.mutable_versions()->insert(versions[key].begin(), versions[key].end());
  }
  return {};
}

// Two decimals: more would say more than the judge knows, and would change the digest with the last
// bit of a sum.
double percent_of(double share) {
  constexpr double kSteps = 100;
  return std::round(100 * share * kSteps) / kSteps;
}

}  // namespace railgauge::certificate
