#include "controller/cli/live/follow.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "controller/api/states.h"
#include "controller/cli/input/stubs.h"
#include "controller/cli/live/run_view.h"
#include "controller/cli/live/watch.h"
#include "controller/cli/render/output.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

using Steady = std::chrono::steady_clock;
using namespace railgauge::api;

constexpr double kFirstRetrySeconds = 0.25;
constexpr double kSlowestRetrySeconds = 2;

// Negative when the time has passed.
double seconds_until(Steady::time_point then) {
  return std::chrono::duration<double>(then - Steady::now()).count();
}

// The steady clock, so that a change of the wall clock neither shortens nor lengthens a wait.
Steady::time_point after(double seconds) {
  return Steady::now() +
         std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
}

// Its outcome is stored: only then do the run's tasks and points say all.
bool has_ended(const RunSummary& run) {
  return run.state() == text_of(RunState::kEnded) && !run.outcome().empty();
}

constexpr auto kRedraw = std::chrono::milliseconds(250);
constexpr double kLeastRedrawSeconds = 0.05;  // events of a large run come faster
// Between two lines in a file or a pipe, where nothing begins meanwhile.
constexpr double kQuietSeconds = 30;

// The size of the terminal behind `err`, which may change while it is drawn on.
Screen screen_behind(const Output& output) {
  Screen screen{.columns = output.live_columns};
  winsize size{};
  if (&output.err != &std::cerr || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return screen;
  if (size.ws_col > 0) screen.columns = size.ws_col;
  screen.rows = size.ws_row;
  return screen;
}

// Not thread safe; on a terminal a thread of its own redraws the summary.
class Progress {
 public:
  // The redrawing thread exists where something is drawn.
  Progress(const Output& output, Detail detail)
      : output_(output),
        draws_(output.live_columns > 0 && detail == Detail::kSummary && !output.is_quiet),
        detail_(detail) {
    if (draws_) ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
  }
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws the summary on a terminal, nothing where the output is quiet. Elsewhere it is printed
  // when a stage begins, and from time to time. With all details every event is a line.
  void show(const RunEvent& event) {
    const std::scoped_lock lock(mutex_);
    view_.take(event);
    end_.reset();
    if (event.progress().has_seconds_left()) end_ = after(event.progress().seconds_left());
    if (draws_ && seconds_until(next_line_) <= 0) draw();
    if (draws_ || output_.is_quiet) return;
    if (detail_ == Detail::kAll) {
      const std::string& text = event.text().empty() ? event.run().state() : event.text();
      output_.err << fmt::format("{}/{} {}\n", event.run().tasks_ended(), event.run().tasks_total(),
                                 printable(text))
                  << std::flush;
      return;
    }
    if (!view_.is_milestone() && seconds_until(next_line_) > 0) return;
    next_line_ = after(kQuietSeconds);
    output_.err << view_.report(times()) << std::flush;
  }
  // Prints a message on a line of its own, also while the summary is drawn.
  void note(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    const bool was_drawn = drawn_ > 0;
    erase();
    print_notice(output_, text);
    if (was_drawn) draw();
  }
  // Stops the ticker and erases the summary. May be called twice.
  void finish() {
    if (ticker_.joinable()) {
      ticker_.request_stop();
      ticker_.join();
    }
    const std::scoped_lock lock(mutex_);
    erase();
  }

 private:
  [[nodiscard]] RunTimes times() const {
    RunTimes times{.elapsed = -static_cast<std::int64_t>(seconds_until(start_))};
    if (end_) times.left = static_cast<std::int64_t>(std::max(seconds_until(*end_), 0.0));
    return times;
  }
  // Over the last view. A new width may have wrapped it, so that it is left behind.
  void draw() {
    const Screen screen = screen_behind(output_);
    if (screen.columns != columns_) drawn_ = 0;
    columns_ = screen.columns;
    const std::vector<std::string> lines = view_.lines(times(), screen, output_.colour);
    output_.err << drawn_over(lines, drawn_) << std::flush;
    drawn_ = lines.size();
    next_line_ = after(kLeastRedrawSeconds);
  }
  void erase() {
    if (drawn_ > 0) output_.err << drawn_over({}, drawn_) << std::flush;
    drawn_ = 0;
  }
  // Redraws, so that elapsed time and time left move between events.
  void tick(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait_for(lock, stop, kRedraw, [] { return false; });
      if (drawn_ > 0 && !stop.stop_requested()) draw();
    }
  }

  const Output& output_;
  const bool draws_;
  const Detail detail_;
  const Steady::time_point start_ = Steady::now();
  std::mutex mutex_;
  std::condition_variable_any wake_;
  RunView view_;
  std::optional<Steady::time_point> end_;  // as forecast
  Steady::time_point next_line_ = start_;
  std::size_t drawn_ = 0;  // lines above the cursor
  int columns_ = 0;
  std::jthread ticker_;  // last: ends before what it uses
};

// Watches one run in slices and dials again after a loss. Used from one thread.
class Follower {
 public:
  Follower(Session& session, const std::string& run_id, int presses_seen, Detail detail)
      : session_(session), presses_seen_(presses_seen), progress_(session.output, detail) {
    followed_.run.set_run_id(run_id);
    ref_.set_run_id(run_id);
  }

  // Each turn is one watch of a bounded time. A watch that ended by its deadline after it heard
  // something is normal, and the next one begins at once.
  Result<Followed> follow(double wait_seconds) {
    const Steady::time_point end = after(wait_seconds);
    while (true) {
      if (interrupted()) return finish_interrupted();
      const double left = seconds_until(end);
      if (left <= 0) return finish(FollowEnd::kTimeUp);
      bool heard = false;
      const grpc::Status status = watch(std::min(left, session_.watch_slice_seconds), heard);
      if (has_ended(followed_.run)) return finish(FollowEnd::kRunEnded);
      if (interrupted()) return finish_interrupted();
      if (heard) away_ = false;
      if (heard && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) continue;
      if (!wait_for_return(status)) return tl::unexpected(failure(status));
    }
  }

 private:
  [[nodiscard]] bool interrupted() const {
    return session_.interrupts.terminated() || session_.interrupts.presses() > presses_seen_;
  }

  Followed finish(FollowEnd end) {
    progress_.finish();
    followed_.end = end;
    return followed_;
  }
  Followed finish_interrupted() {
    return finish(session_.interrupts.terminated() ? FollowEnd::kTerminated
                                                   : FollowEnd::kInterrupted);
  }

  // The stream ends without an ended run when the controller goes away, in whatever words.
  static bool worth_another_try(const grpc::Status& status) {
    const grpc::StatusCode code = status.error_code();
    return status.ok() || code == grpc::StatusCode::UNAVAILABLE ||
           code == grpc::StatusCode::CANCELLED || code == grpc::StatusCode::DEADLINE_EXCEEDED;
  }

  // The controller is away: waits before the next try, longer each time. False when it has been
  // away for too long, or said no.
  bool wait_for_return(const grpc::Status& status) {
    // A refusal by the controller is final.
    if (!worth_another_try(status)) return false;
    // The first loss starts the time in which the controller may return.
    if (!away_) {
      away_ = true;
      give_up_ = after(session_.reconnect_seconds);
      retry_seconds_ = kFirstRetrySeconds;
      progress_.note(fmt::format("controller {} went away; trying again for {:.0f} s",
                                 session_.address, session_.reconnect_seconds));
    }
    if (seconds_until(give_up_) <= 0) return false;
    if (session_.interrupts.wait_beyond(presses_seen_, retry_seconds_)) return true;
    // Twice as long each time, up to two seconds.
    retry_seconds_ = std::min(retry_seconds_ * 2, kSlowestRetrySeconds);
    return true;
  }

  // The error after the last try, with the command that shows the run.
  Error failure(const grpc::Status& status) {
    progress_.finish();
    // Whatever the words: the run was there, so this is no wrong use.
    const grpc::Status lost(grpc::StatusCode::UNAVAILABLE, status.error_message());
    return {Code::kUnavailable,
            fmt::format("run {}: watch: {}; the run may go on, see: {} runs show {}", ref_.run_id(),
                        error_of(lost, session_).message, session_.again, ref_.run_id())};
  }

  // One watch of at most `seconds`. `heard` is set when the controller sent anything.
  grpc::Status watch(double seconds, bool& heard) {
    grpc::ClientContext context;
    set_deadline(context, seconds);
    const Interrupts::Hook hook(session_.interrupts, [&context] { context.TryCancel(); });
    if (interrupted()) return grpc::Status::CANCELLED;
    const auto reader = session_.stubs.control->WatchRun(&context, ref_);
    RunEvent event;
    while (reader->Read(&event)) {
      heard = true;
      note_data_kind(context, session_.output);
      make_safe(session_.output, event);
      take(event);
      if (has_ended(event.run())) {
        context.TryCancel();  // nothing follows that matters
        break;
      }
    }
    return reader->Finish();
  }

  // Shows an event unless it repeats the last one: each new watch begins with the present state.
  void take(const RunEvent& event) {
    followed_.run = event.run();
    RunEvent lasting = event;
    lasting.mutable_progress()->clear_seconds_left();  // changes while nothing else does
    std::string line = to_json(lasting, JsonLayout::kCompact);
    if (line == last_line_) return;  // a new watch begins with what is known already
    last_line_ = std::move(line);
    if (session_.output.format == Format::kNdjson)
      session_.output.out << marked_object(session_.output, to_json(event, JsonLayout::kCompact))
                          << '\n'
                          << std::flush;
    else
      progress_.show(event);
  }

  Session& session_;
  const int presses_seen_;
  RunRef ref_;
  Followed followed_;
  std::string last_line_;
  bool away_ = false;  // the controller does not answer, since before give_up_
  Steady::time_point give_up_;
  double retry_seconds_ = kFirstRetrySeconds;
  Progress progress_;
};

}  // namespace

Result<Followed> follow_run(Session& session, const std::string& run_id, double wait_seconds,
                            int presses_seen, Detail detail) {
  return Follower(session, run_id, presses_seen, detail).follow(wait_seconds);
}

// The cancel is verified by following the run to its end.
Result<RunSummary> cancel_run(Session& session, const std::string& run_id) {
  const auto answer = RG_TRY(call_through(session, rpc::kCancelRun, request_for<RunRef>(run_id)));
  if (has_ended(answer)) return answer;
  // A further Ctrl-C is the listener's matter: it ends the process.
  const Followed followed = RG_TRY(follow_run(session, run_id, session.cancel_seconds, INT_MAX));
  if (followed.end == FollowEnd::kRunEnded) return followed.run;
  return fail(
      Code::kDeadlineExceeded,
      fmt::format("run {}: cancel: asked for, but not verified within {:.0f} s, the run is "
                  "\"{}\"; see: {} runs show {}",
                  run_id, session.cancel_seconds, followed.run.state(), session.again, run_id));
}

// Quoted for a shell by same_invocation(), because people paste it.
std::string cancel_command(const Session& session, const std::string& run_id) {
  return fmt::format("{} runs cancel {}", session.again, run_id);
}

// Cut at the columns; a character of UTF-8 that the cut divides is removed whole.
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

}  // namespace railgauge::cli
