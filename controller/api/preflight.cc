#include "controller/api/preflight.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/states.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"

namespace railgauge::api {
namespace {

std::optional<CheckState> state_in(const PreflightCheck& check) {
  return state_of<CheckState>(check.state());
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

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

std::string_view worst_check_state(const PreflightReport& report, std::string_view node) {
  std::optional<CheckState> worst;  // what is not understood is worst
  for (const PreflightCheck& check : report.checks())
    if (check.node() == node)
      worst = std::max(worst, {state_in(check).value_or(CheckState::kFail)});
  return text_of(worst.value_or(CheckState::kUnknown));
}

int preflight_exit_code(const PreflightReport& report, const PreflightDemand& demand) {
  bool invalid = report.nodes().empty() || lacks_a_required_check(report, demand);
  for (const PreflightNode& node : report.nodes()) invalid = invalid || !node.error().empty();
  bool failed = false;
  bool open = false;
  for (const PreflightCheck& check : report.checks()) {
    const std::optional<CheckState> state = state_in(check);
    failed = failed || state == CheckState::kFail;
    invalid = invalid || state == CheckState::kError || !state;
    open = open || (state == CheckState::kUnknown &&
                    (demand.strict || contains(demand.require, check.id())));
  }
  if (failed) return kExitFailed;
  if (invalid) return kExitInvalid;
  return open ? kExitInconclusive : kExitPassed;
}

std::string gpudirect_text(const GpuDirectPair& pair) {
  if (pair.answer() == "yes") return fmt::format("GPUDirect: yes, by {}", pair.path());
  std::string text = fmt::format("GPUDirect: {}, because {}",
                                 pair.answer() == "no" ? "no" : "not proven", pair.because());
  if (!pair.remedy().empty()) text += fmt::format(", do: {}", fmt::join(pair.remedy(), "; "));
  return text;
}

std::string state_counts_text(const PreflightReport& report, std::string_view node) {
  std::string text;
  const auto states = texts_of(CheckState());
  for (auto at = states.rbegin(); at != states.rend(); ++at) {
    const std::string_view state = *at;
    const auto count = std::ranges::count_if(report.checks(), [&](const PreflightCheck& check) {
      return check.node() == node && check.state() == state;
    });
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  }
  return text.empty() ? "no checks" : text;
}

constexpr std::size_t kMostWhere = 120;  // bytes of the places of a remedy

std::string remedies_text(const PreflightReport& report, bool all_states) {
  struct Block {
    std::string head;
    std::string lines;
    std::vector<std::string> where;
    std::size_t others = 0;  // blocks of the same check with other lines
  };
  std::vector<Block> blocks;
  for (const PreflightCheck& check : report.checks()) {
    const std::optional<CheckState> state = state_in(check);
    const bool matters =
        state == CheckState::kFail || state == CheckState::kError || state == CheckState::kWarn;
    if ((!matters && !all_states) || check.remedy().empty()) continue;
    Block block{
        .head = fmt::format("{} {}: {}", check.id(), check.state(), check.why()),
        .lines = fmt::format("    {}\n", fmt::join(check.remedy(), "\n    ")),
        .where = {check.subject().empty() ? check.node()
                                          : fmt::format("{} {}", check.node(), check.subject())}};
    const auto same = std::ranges::find_if(blocks, [&](const Block& other) {
      return other.head == block.head && other.lines == block.lines;
    });
    const auto like = std::ranges::find(blocks, block.head, &Block::head);
    if (same != blocks.end())
      same->where.push_back(std::move(block.where.front()));
    else if (like == blocks.end() || all_states)
      blocks.push_back(std::move(block));
    else
      ++like->others;
  }
  std::string text;
  for (const Block& block : blocks) {
    text += fmt::format("{}{}\n  on {}\n{}", text.empty() ? "" : "\n", block.head,
                        fold_briefly(block.where, kMostWhere), block.lines);
    if (block.others > 0)
      text += fmt::format("    likewise {} others: --explain {} has their lines\n", block.others,
                          block.head.substr(0, block.head.find(' ')));
  }
  return text;
}

void append_report(const PreflightReport& from, PreflightReport& to) {
  to.mutable_nodes()->MergeFrom(from.nodes());
  to.mutable_checks()->MergeFrom(from.checks());
  to.mutable_pairs()->MergeFrom(from.pairs());
}

}  // namespace railgauge::api
