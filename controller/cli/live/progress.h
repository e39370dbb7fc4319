// A run's progress on `err`: one line that is redrawn on a terminal, else a line for every change.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// Not thread safe; on a terminal a thread of its own redraws the elapsed time each second.
class Progress {
 public:
  explicit Progress(const Output& output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const railgauge::api::RunEvent& event);
  // A message on a line of its own, also while the progress line stands.
  void note(const std::string& text);
  // Takes the progress line away; nothing is drawn afterwards.
  void finish();

 private:
  void draw();  // with mutex_ held
  void tick(const std::stop_token& stop);

  const Output& output_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string counts_;
  std::string rounds_;
  std::optional<std::chrono::steady_clock::time_point> end_;  // as forecast
  std::string text_;
  bool drawn_ = false;
  std::jthread ticker_;  // last: ends before what it uses
};

// "round 2/3  1 failed  2 again", what is zero left out; "" of a controller that does not tell.
std::string rounds_text(const railgauge::api::RunProgress& progress);

// "[####------]  4/10  00:12  TEXT", at most `columns` characters.
std::string progress_line(const std::string& counts, const std::string& text,
                          std::int64_t elapsed_seconds, int columns);

}  // namespace railgauge::cli
