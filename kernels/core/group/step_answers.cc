// The selection of a brief answer's payloads, and the reading of both kinds of answers.
#include "kernels/core/group/step_answers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace railgauge {
namespace {

// The ranks whose payloads a brief answer has, ascending.
std::vector<std::uint32_t> heard_by_all(const std::vector<GroupStep>& said) {
  std::vector<std::uint32_t> loud;
  for (std::uint32_t rank = 1; rank < said.size(); ++rank)
    if (said[rank].loudness() > 0) loud.push_back(rank);
  std::ranges::stable_sort(loud,
                           [&](auto a, auto b) { return said[a].loudness() > said[b].loudness(); });
  loud.resize(std::min(loud.size(), kMostHeardAloud));
  loud.push_back(0);
  std::ranges::sort(loud);
  return loud;
}

}  // namespace

// The brief answer copies its payloads before the full one takes all of them.
StepAnswers answers_of(std::uint32_t step, std::vector<GroupStep> said) {
  StepAnswers answers;
  answers.full.set_step(step);
  answers.brief.set_step(step);
  for (GroupStep& one : said)
    if (one.payloads().empty()) one.add_payloads();
  for (const std::uint32_t rank : heard_by_all(said)) {
    answers.brief.add_ranks(rank);
    answers.brief.add_payloads(said[rank].payloads(0));
  }
  for (GroupStep& one : said) answers.full.add_payloads(std::move(*one.mutable_payloads(0)));
  return answers;
}

// An answer without a list of ranks is a full one.
Result<std::vector<std::string>> payloads_of(GroupStep answer, std::uint32_t step,
                                             std::uint32_t size) {
  if (answer.step() != step)
    return fail(Code::kInternal, "rendezvous: step {} came for step {}", answer.step(), step);
  auto& payloads = *answer.mutable_payloads();
  if (answer.ranks().empty()) {
    if (static_cast<std::uint32_t>(payloads.size()) != size)
      return fail(Code::kInternal, "rendezvous: step {} has {} payloads for {} ranks", step,
                  payloads.size(), size);
    return std::vector<std::string>(std::make_move_iterator(payloads.begin()),
                                    std::make_move_iterator(payloads.end()));
  }
  std::vector<std::string> all(size);
  if (answer.ranks_size() != payloads.size())
    return fail(Code::kInternal, "rendezvous: step {} has {} payloads of {} ranks", step,
                payloads.size(), answer.ranks_size());
  for (int i = 0; i < payloads.size(); ++i) {
    if (answer.ranks(i) >= size)
      return fail(Code::kInternal, "rendezvous: step {} has a payload of rank {} of {}", step,
                  answer.ranks(i), size);
    all[answer.ranks(i)] = std::move(payloads[i]);
  }
  return all;
}

}  // namespace railgauge
