#include "controller/api/preflight.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/check_states.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::api {
namespace {

// A word that is no state ranks behind the worst: an unknown answer is never a pass.
std::size_t rank_of(std::string_view state) {
  return static_cast<std::size_t>(std::ranges::find(kCheckStates, state) - kCheckStates.begin());
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// A required check must have a result on every node, for whatever subject.
bool lacks_a_required_check(const PreflightReport& report, const PreflightDemand& demand) {
  return std::ranges::any_of(report.nodes(), [&](const PreflightNode& node) {
    return std::ranges::any_of(demand.require, [&](const std::string& id) {
      return std::ranges::none_of(report.checks(), [&](const PreflightCheck& check) {
        return check.node() == node.node() && check.id() == id;
      });
    });
  });
}

}  // namespace

// An unknown word counts as the worst known state.
std::string_view worst_check_state(const PreflightReport& report, std::string_view node) {
  std::size_t worst = 0;
  bool any = false;
  for (const PreflightCheck& check : report.checks()) {
    if (check.node() != node) continue;
    any = true;
    worst = std::max(worst, std::min(rank_of(check.state()), kCheckStates.size() - 1));
  }
  return any ? kCheckStates.at(worst) : "unknown";
}

// Failure outranks invalid data, which outranks open questions.
int preflight_exit_code(const PreflightReport& report, const PreflightDemand& demand) {
  bool invalid = report.nodes().empty() || lacks_a_required_check(report, demand);
  for (const PreflightNode& node : report.nodes()) invalid = invalid || !node.error().empty();
  bool failed = false;
  bool open = false;
  for (const PreflightCheck& check : report.checks()) {
    const std::string& state = check.state();
    failed = failed || state == "fail";
    invalid = invalid || state == "error" || rank_of(state) == kCheckStates.size();
    open = open || (state == "unknown" && (demand.strict || contains(demand.require, check.id())));
  }
  if (failed) return kExitFailed;
  if (invalid) return kExitInvalid;
  return open ? kExitInconclusive : kExitPassed;
}

// One line for a person. "unknown" is printed as "not proven": nobody has tried the registration.
std::string gpudirect_text(const GpuDirectPair& pair) {
  if (pair.answer() == "yes") return fmt::format("GPUDirect: yes, by {}", pair.path());
  std::string text = fmt::format("GPUDirect: {}, because {}",
                                 pair.answer() == "no" ? "no" : "not proven", pair.because());
  if (!pair.remedy().empty()) text += fmt::format(", do: {}", fmt::join(pair.remedy(), "; "));
  return text;
}

// From the worst to the best, so that trouble comes first in a table's column.
std::string state_counts_text(const PreflightReport& report, std::string_view node) {
  std::string text;
  for (std::size_t i = kCheckStates.size(); i-- > 0;) {
    const auto count = std::ranges::count_if(report.checks(), [&](const PreflightCheck& check) {
      return check.node() == node && check.state() == kCheckStates.at(i);
    });
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kCheckStates.at(i));
  }
  return text.empty() ? "no checks" : text;
}

// Blocks with the same check, reason and remedy are one, with all their places: a fault of the
// image would otherwise repeat for every node and port.
std::string remedies_text(const PreflightReport& report, bool all_states) {
  struct Block {
    std::string head;
    std::string lines;
    std::string where;
  };
  std::vector<Block> blocks;
  for (const PreflightCheck& check : report.checks()) {
    const bool matters =
        check.state() == "fail" || check.state() == "error" || check.state() == "warn";
    if ((!matters && !all_states) || check.remedy().empty()) continue;
    Block block{.head = fmt::format("{} {}: {}", check.id(), check.state(), check.why()),
                .lines = fmt::format("    {}\n", fmt::join(check.remedy(), "\n    ")),
                .where = check.subject().empty()
                             ? check.node()
                             : fmt::format("{} {}", check.node(), check.subject())};
    const auto same = std::ranges::find_if(blocks, [&](const Block& other) {
      return other.head == block.head && other.lines == block.lines;
    });
    if (same == blocks.end())
      blocks.push_back(std::move(block));
    else
      same->where += ", " + block.where;
  }
  std::string text;
  for (const Block& block : blocks)
    text += fmt::format("{}{}\n  on {}\n{}", text.empty() ? "" : "\n", block.head, block.where,
                        block.lines);
  return text;
}

void append_report(const PreflightReport& from, PreflightReport& to) {
  to.mutable_nodes()->MergeFrom(from.nodes());
  to.mutable_checks()->MergeFrom(from.checks());
  to.mutable_pairs()->MergeFrom(from.pairs());
}

}  // namespace railgauge::api
