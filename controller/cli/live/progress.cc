#include "controller/cli/live/progress.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr std::uint32_t kBarCells = 20;
constexpr auto kRedraw = std::chrono::seconds(1);

std::string counts_of(const railgauge::api::RunSummary& run) {
  const std::uint32_t total = std::max(run.tasks_total(), 1U);
  const std::uint32_t ended = std::min(run.tasks_ended(), total);
  const std::uint32_t filled = static_cast<std::uint32_t>(std::uint64_t{kBarCells} * ended / total);
  return fmt::format("[{}{}] {}/{}", std::string(filled, '#'), std::string(kBarCells - filled, '-'),
                     run.tasks_ended(), run.tasks_total());
}

std::string clock_text(std::int64_t seconds) {
  if (seconds >= 3600)
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return fmt::format("{:02}:{:02}", seconds / 60, seconds % 60);
}

}  // namespace

std::string rounds_text(const railgauge::api::RunProgress& progress) {
  if (progress.rounds_total() == 0) return "";
  std::string text = fmt::format("round {}/{}", progress.round(), progress.rounds_total());
  if (progress.failures() > 0) text += fmt::format("  {} failed", progress.failures());
  if (progress.waiting_again() > 0) text += fmt::format("  {} again", progress.waiting_again());
  if (!progress.held_by().empty()) text += fmt::format("  held: {}", progress.held_by());
  return text;
}

std::string progress_line(const std::string& counts, const std::string& text,
                          std::int64_t elapsed_seconds, int columns) {
  std::string line = fmt::format("{}  {:02}:{:02}  {}", counts, elapsed_seconds / 60,
                                 elapsed_seconds % 60, printable(text));
  // The last column stays free: some terminals wrap when it is written.
  const auto most = static_cast<std::size_t>(std::max(columns - 1, 1));
  if (line.size() > most) {
    line.resize(most);
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0x80) != 0) line.pop_back();
  }
  return line;
}

Progress::Progress(const Output& output) : output_(output) {
  if (output_.live_columns > 0)
    ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
}

Progress::~Progress() { finish(); }

void Progress::show(const railgauge::api::RunEvent& event) {
  const std::scoped_lock lock(mutex_);
  counts_ = counts_of(event.run());
  rounds_ = rounds_text(event.progress());
  end_.reset();
  if (event.progress().has_seconds_left())
    end_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(event.progress().seconds_left()));
  text_ = event.text().empty() ? event.run().state() : event.text();
  if (output_.live_columns > 0) {
    draw();
  } else {
    output_.err << fmt::format("{}/{} {}\n", event.run().tasks_ended(), event.run().tasks_total(),
                               printable(text_))
                << std::flush;
  }
}

void Progress::note(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (drawn_) output_.err << "\r\x1b[K";
  output_.err << "railgauge: " << printable(text) << '\n' << std::flush;
  if (drawn_) draw();
}

void Progress::finish() {
  if (ticker_.joinable()) {
    ticker_.request_stop();
    ticker_.join();
  }
  const std::scoped_lock lock(mutex_);
  if (drawn_) output_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void Progress::draw() {
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
  std::string counts = counts_ + (rounds_.empty() ? "" : "  " + rounds_);
  if (end_) {
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(*end_ - std::chrono::steady_clock::now());
    counts += fmt::format("  {} left", clock_text(std::max<std::int64_t>(left.count(), 0)));
  }
  output_.err << "\r\x1b[K" << progress_line(counts, text_, elapsed.count(), output_.live_columns)
              << std::flush;
  drawn_ = true;
}

void Progress::tick(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kRedraw, [] { return false; });
    if (drawn_ && !stop.stop_requested()) draw();
  }
}

}  // namespace railgauge::cli
