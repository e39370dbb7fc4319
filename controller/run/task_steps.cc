// The task machine's rendezvous: steps of its ranks in, answers out.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/run/task_machine.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/group/group.h"

namespace railgauge::run {
namespace {

constexpr std::size_t kMostPlaceBytes = 64;  // of a line that has room for several

}  // namespace

void TaskMachine::step(std::uint32_t attempt, std::uint32_t rank, GroupStep said, double now,
                       TaskActions& out) {
  Rank* r = live_rank(attempt, rank);
  if (r == nullptr || !alive(*r) || state_ == TaskState::kEnding) return;
  const std::size_t bytes = said.payloads().empty() ? 0 : said.payloads(0).size();
  if (state_ != TaskState::kRunning || said.step() > step_ || bytes > Group::kMaxPayload)
    return end_steps(
        fmt::format("{} sent rendezvous step {} of {} bytes where step {} of at most {} was due",
                    who(rank), said.step(), bytes, step_, Group::kMaxPayload),
        now, out);
  if (said.step() + 1 == step_) {  // the answer was lost with a stream
    if (attached(rank)) out.emplace_back(SendStep{rank, last_answers_, said.brief()});
    return;
  }
  if (said.step() < step_) return;
  r->place = said.at().substr(0, kMostPlaceBytes);
  r->said = std::move(said);
  complete_step(now, out);
}

void TaskMachine::complete_step(double now, TaskActions& out) {
  if (!std::ranges::all_of(ranks_, [](const Rank& r) { return r.said.has_value(); })) return;
  std::vector<GroupStep> said;
  std::vector<bool> brief;
  for (Rank& r : ranks_) {
    brief.push_back(r.said->brief());
    said.push_back(std::move(*r.said));
    r.said.reset();
  }
  const auto answers = std::make_shared<StepAnswers>(answers_of(step_, std::move(said)));
  const std::size_t bytes = answers->full.ByteSizeLong();
  if (bytes > kMostAnswerBytes && std::ranges::find(brief, false) != brief.end())
    return end_steps(fmt::format("the payloads of {} ranks for rendezvous step {} are {} bytes "
                                 "together, of which at most {} can be handed round",
                                 size(), step_, bytes, kMostAnswerBytes),
                     now, out);
  last_answers_ = answers;
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (attached(rank) && alive(ranks_[rank]))
      out.emplace_back(SendStep{rank, last_answers_, brief[rank]});
  ++step_;
}

void TaskMachine::end_steps(const std::string& reason, double now, TaskActions& out) {
  add_cause(std::string(kCrashed), reason);
  cancel_rest(kCrashed, reason, now, out);
}

// A rank that waits in vain knows the group only. Whom it waits for is who has not come to the step
// that others have come to: "; rank 2 on n7 (last at: sampling 8 B) has not come to rendezvous step
// 5".
std::string TaskMachine::missing() const {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (!ranks_[rank].said) names.push_back(who(rank) + last_place(rank));
  if (state_ != TaskState::kRunning || names.empty() || names.size() == size()) return "";
  const std::size_t more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - more);
  return fmt::format("; {}{} {} not come to rendezvous step {}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "",
                     names.size() + more == 1 ? "has" : "have", step_);
}

// " (last at: sampling 8 B)", or nothing where the rank told none.
std::string TaskMachine::last_place(std::uint32_t rank) const {
  const std::string& place = ranks_[rank].place;
  return place.empty() ? "" : fmt::format(" (last at: {})", place);
}

}  // namespace railgauge::run
