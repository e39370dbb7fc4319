#include "controller/run/uplink_ledger.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge::run {
namespace {

// Allows for rounding in sums of rates, in bits per second.
constexpr double kSumRoundingBits = 1;

}  // namespace

// Runs of one site agree on the rates; where they do not, the newest plan has the newest topology.
void UplinkLedger::join(const std::string& run_id, const LeafUplinks& uplinks) {
  for (const auto& [leaf, rate] : uplinks) uplinks_[leaf] = rate;
  runs_.try_emplace(run_id);
}

// The rates go with the last run, so a leaf that is gone is not remembered for ever.
void UplinkLedger::leave(const std::string& run_id) {
  runs_.erase(run_id);
  if (runs_.empty()) uplinks_.clear();
}

// A run by itself is bound by its own kindness alone, as before there were others.
bool UplinkLedger::is_alone(const std::string& run_id) const {
  return runs_.empty() || (runs_.size() == 1 && runs_.begin()->first == run_id);
}

// Claims are served in the order in which they were first refused, so that a small task never
// passes a large one for ever.
bool UplinkLedger::is_before(const Run& one, const Run& other) const {
  return one.claimed && (!other.claimed || *one.claimed < *other.claimed);
}

// Alone on a leaf, a run may load it beyond its rate, unless an earlier claim waits for it.
bool UplinkLedger::allows(const std::string& run_id, const std::vector<std::string>& leaves,
                          double load) const {
  const Run& own = runs_.at(run_id);
  return std::ranges::all_of(leaves, [&](const std::string& leaf) {
    const auto rate = uplinks_.find(leaf);
    if (rate == uplinks_.end()) return true;
    double total = load;
    bool is_shared = false;
    for (const auto& [id, run] : runs_) {
      if (const auto used = run.loads.find(leaf); used != run.loads.end()) {
        total += used->second.bits_per_second;
        is_shared = is_shared || id != run_id;
      }
      const auto claim = run.claim.find(leaf);
      if (id == run_id || claim == run.claim.end() || !is_before(run, own)) continue;
      total += claim->second;
      is_shared = true;
    }
    return !is_shared || total <= rate->second + kSumRoundingBits;
  });
}

// A task that begins on a claimed leaf fulfils the claim.
void UplinkLedger::take(const std::string& run_id, const std::vector<std::string>& leaves,
                        double load) {
  Run& run = runs_.at(run_id);
  for (const std::string& leaf : leaves) {
    Load& used = run.loads[leaf];
    ++used.tasks;
    used.bits_per_second += load;
    if (run.claim.contains(leaf)) run.claimed.reset();
  }
  if (!run.claimed) run.claim.clear();
}

// The last task takes the rest of the rounding with it.
void UplinkLedger::give_back(const std::string& run_id, const std::vector<std::string>& leaves,
                             double load) {
  const auto run = runs_.find(run_id);
  if (run == runs_.end()) return;  // it has left
  for (const std::string& leaf : leaves) {
    const auto used = run->second.loads.find(leaf);
    RG_CHECK(used != run->second.loads.end());
    used->second.bits_per_second -= load;
    if (--used->second.tasks == 0) run->second.loads.erase(used);
  }
}

// A claim keeps its place while it changes, and loses it when nothing is refused.
void UplinkLedger::set_claim(const std::string& run_id, std::map<std::string, double> refused) {
  const auto run = runs_.find(run_id);
  if (run == runs_.end()) return;
  if (refused.empty())
    run->second.claimed.reset();
  else if (!run->second.claimed)
    run->second.claimed = claims_++;
  run->second.claim = std::move(refused);
}

double UplinkLedger::load_of(const std::string& leaf) const {
  double total = 0;
  for (const auto& [id, run] : runs_)
    if (const auto used = run.loads.find(leaf); used != run.loads.end())
      total += used->second.bits_per_second;
  return total;
}

std::vector<std::string> UplinkLedger::runs_on(const std::string& leaf) const {
  std::vector<std::string> on;
  for (const auto& [id, run] : runs_)
    if (run.loads.contains(leaf)) on.push_back(id);
  return on;
}

std::map<std::string, std::set<std::string>> UplinkLedger::waits_of(
    const std::string& run_id) const {
  std::map<std::string, std::set<std::string>> waits;
  const auto own = runs_.find(run_id);
  if (own == runs_.end()) return waits;
  for (const auto& [leaf, load] : own->second.claim)
    for (const auto& [id, run] : runs_)
      if (id != run_id &&
          (run.loads.contains(leaf) || (run.claim.contains(leaf) && is_before(run, own->second))))
        waits[id].insert(leaf);
  return waits;
}

}  // namespace railgauge::run
