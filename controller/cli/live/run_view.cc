#include "controller/cli/live/run_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "controller/cli/live/follow.h"
#include "controller/cli/live/watch.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

constexpr std::uint32_t kBarCells = 20;
constexpr std::size_t kKindsShown = 5;
constexpr std::size_t kMostFailures = 2'000;  // of which the texts are kept

// The bar and the counts: "[####------] 4/10".
std::string counts_of(const api::RunSummary& run) {
  // A run without tasks must not divide by zero.
  const std::uint32_t total = std::max(run.tasks_total(), 1U);
  const std::uint32_t ended = std::min(run.tasks_ended(), total);
  const std::uint32_t filled = static_cast<std::uint32_t>(std::uint64_t{kBarCells} * ended / total);
  return fmt::format("[{}{}] {}/{}", std::string(filled, '#'), std::string(kBarCells - filled, '-'),
                     run.tasks_ended(), run.tasks_total());
}

// "02:05", from an hour on "1:02:05".
std::string clock_text(std::int64_t seconds) {
  if (seconds >= 3600)
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return fmt::format("{:02}:{:02}", seconds / 60, seconds % 60);
}

std::uint32_t failed_of(const api::RunSummary& run) {
  std::uint32_t failed = 0;
  for (const std::string_view outcome : {kFailed, kCrashed, kTimedOut})
    if (const auto found = run.outcomes().find(std::string(outcome)); found != run.outcomes().end())
      failed += found->second;
  return failed;
}

// "round 2/3  1 failed  2 requeued", without parts that are zero.
std::string rounds_text(const api::RunProgress& progress, std::uint32_t failed,
                        std::string_view gap) {
  std::string text;
  const auto add = [&](const std::string& part) { text += std::string(gap) + part; };
  if (progress.rounds_total() > 0)
    add(fmt::format("round {}/{}", progress.round(), progress.rounds_total()));
  if (failed > 0) add(fmt::format("{} failed", failed));
  if (progress.waiting_again() > 0) add(fmt::format("{} requeued", progress.waiting_again()));
  if (!progress.held_by().empty()) add(fmt::format("held: {}", printable(progress.held_by())));
  return text;
}

// The text of a task's event begins with its id.
std::string without_id(const api::RunEvent& event) {
  const std::string begin = event.task_id() + " ";
  return event.text().starts_with(begin) ? event.text().substr(begin.size()) : event.text();
}

}  // namespace

void RunView::take(const api::RunEvent& event) {
  if (event.run().nodes_size() > 0)
    nodes_.assign(event.run().nodes().begin(), event.run().nodes().end());
  run_ = event.run();
  progress_ = event.progress();
  text_ = event.text().empty() ? event.run().state() : event.text();
  const std::uint32_t failed = std::max(failed_of(event.run()), event.progress().failures());
  const std::string text = without_id(event);
  const std::string kernel = text.substr(0, text.find(' '));
  is_milestone_ = event.task_id().empty();
  if (!event.task_id().empty() && std::ranges::find(kernels_, kernel) == kernels_.end()) {
    kernels_.push_back(kernel);
    is_milestone_ = true;
  }
  // A new watch begins with the counts alone, without the texts of what failed meanwhile.
  if (failed > failed_ && !event.task_id().empty() && failures_.size() < kMostFailures)
    failures_.push_back(text);
  failed_ = std::max(failed_, failed);
}

std::vector<RunView::Kind> RunView::kinds_of(const std::vector<std::string>& failures,
                                             const std::vector<std::string>& nodes) {
  std::vector<Kind> kinds;
  for (const TextGroup& group : group_texts(failures, nodes))
    kinds.push_back({.text = group.text, .tasks = group.members.size()});
  std::ranges::stable_sort(kinds, std::ranges::greater(), &Kind::tasks);
  return kinds;
}

std::vector<std::string> RunView::lines(const RunTimes& times, const Screen& screen, bool colour) {
  // When it is shown, not at each event: a run may have thousands of failures.
  if (std::exchange(grouped_, failures_.size()) != failures_.size())
    kinds_ = kinds_of(failures_, nodes_);
  std::string counts = counts_of(run_) + rounds_text(progress_, failed_, "  ");
  if (times.left) counts += fmt::format("  {} left", clock_text(*times.left));
  std::vector<std::string> lines{progress_line(counts, text_, times.elapsed, screen.columns)};
  // The progress line, the rest of the kinds, and the row of the cursor.
  constexpr int kOtherRows = 3;
  const auto room = static_cast<std::size_t>(std::max(screen.rows - kOtherRows, 1));
  const std::size_t most = screen.rows == 0 ? kKindsShown : std::min(kKindsShown, room);
  const std::size_t shown = std::min(most, kinds_.size());
  for (std::size_t i = 0; i < shown; ++i)
    lines.push_back(
        fit_line(toned(printable(fmt::format("  {} x {}", kinds_[i].tasks, kinds_[i].text)),
                       Tone::kBad, colour),
                 screen.columns));
  if (kinds_.size() > shown)
    lines.push_back(fit_line(fmt::format("  more kinds of failures: {}", kinds_.size() - shown),
                             screen.columns));
  return lines;
}

std::string RunView::report(const RunTimes& times) {
  std::string report = fmt::format("{}/{}", run_.tasks_ended(), run_.tasks_total()) +
                       rounds_text(progress_, failed_, ", ");
  if (times.left) report += fmt::format(", {} left", clock_text(*times.left));
  report += fmt::format(": {}\n", printable(text_));
  const std::vector<std::string> fresh(failures_.begin() + static_cast<std::ptrdiff_t>(reported_),
                                       failures_.end());
  reported_ = failures_.size();
  const std::vector<Kind> kinds = kinds_of(fresh, nodes_);
  for (std::size_t i = 0; i < std::min(kinds.size(), kKindsShown); ++i)
    report += fmt::format("  {} x {}\n", kinds[i].tasks, printable(kinds[i].text));
  if (kinds.size() > kKindsShown)
    report += fmt::format("  more kinds of failures: {}\n", kinds.size() - kKindsShown);
  return report;
}

}  // namespace railgauge::cli
