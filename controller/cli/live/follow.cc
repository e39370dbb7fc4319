#include "controller/cli/live/follow.h"

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "controller/cli/live/progress.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

using Steady = std::chrono::steady_clock;
using railgauge::api::RunEvent;
using railgauge::api::RunRef;

constexpr double kFirstRetrySeconds = 0.25;
constexpr double kSlowestRetrySeconds = 2;

double seconds_until(Steady::time_point then) {
  return std::chrono::duration<double>(then - Steady::now()).count();
}

Steady::time_point after(double seconds) {
  return Steady::now() +
         std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
}

// Its outcome is stored: only then do the run's tasks and points say all.
bool has_ended(const railgauge::api::RunSummary& run) {
  return run.state() == "ended" && !run.outcome().empty();
}

class Follower {
 public:
  Follower(Session& session, const std::string& run_id, int presses_seen)
      : session_(session), presses_seen_(presses_seen), progress_(session.output) {
    followed_.run.set_run_id(run_id);
    ref_.set_run_id(run_id);
  }

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
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::CANCELLED:
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return true;
      default:
        return false;
    }
  }

  // The controller is away: waits before the next try, longer each time. False when it has been
  // away for too long, or said no.
  bool wait_for_return(const grpc::Status& status) {
    if (!worth_another_try(status)) return false;
    if (!away_) {
      away_ = true;
      give_up_ = after(session_.reconnect_seconds);
      retry_seconds_ = kFirstRetrySeconds;
      progress_.note(fmt::format("controller {} went away; trying again for {:.0f} s",
                                 session_.address, session_.reconnect_seconds));
    }
    if (seconds_until(give_up_) <= 0) return false;
    if (session_.interrupts.wait_beyond(presses_seen_, retry_seconds_)) return true;
    retry_seconds_ = std::min(retry_seconds_ * 2, kSlowestRetrySeconds);
    return true;
  }

  Error failure(const grpc::Status& status) {
    progress_.finish();
    // Whatever the words: the run was there, so this is no wrong use.
    const grpc::Status lost(grpc::StatusCode::UNAVAILABLE, status.error_message());
    return {Code::kUnavailable,
            fmt::format("run {}: watch: {}; the run may go on, see: {} runs show {}", ref_.run_id(),
                        error_of(lost, session_).message, session_.again, ref_.run_id())};
  }

  // One watch of at most `seconds`. `heard` tells whether the controller said anything.
  grpc::Status watch(double seconds, bool& heard) {
    grpc::ClientContext context;
    set_deadline(context, seconds);
    const Interrupts::Hook hook(session_.interrupts, [&context] { context.TryCancel(); });
    if (interrupted()) return grpc::Status::CANCELLED;
    const auto reader = session_.control.WatchRun(&context, ref_);
    RunEvent event;
    while (reader->Read(&event)) {
      heard = true;
      take(event);
      if (has_ended(event.run())) {
        context.TryCancel();  // nothing follows that matters
        break;
      }
    }
    return reader->Finish();
  }

  void take(const RunEvent& event) {
    followed_.run = event.run();
    RunEvent lasting = event;
    lasting.mutable_progress()->clear_seconds_left();  // changes while nothing else does
    std::string line = to_json(lasting, JsonLayout::kCompact);
    if (line == last_line_) return;  // a new watch begins with what is known already
    last_line_ = std::move(line);
    if (session_.output.format == Format::kNdjson)
      session_.output.out << to_json(event, JsonLayout::kCompact) << '\n' << std::flush;
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
                            int presses_seen) {
  return Follower(session, run_id, presses_seen).follow(wait_seconds);
}

Result<railgauge::api::RunSummary> cancel_run(Session& session, const std::string& run_id) {
  RunRef ref;
  ref.set_run_id(run_id);
  const auto answer = RG_TRY(call_through(session, &Control::StubInterface::CancelRun, ref));
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

std::string cancel_command(const Session& session, const std::string& run_id) {
  return fmt::format("{} runs cancel {}", session.again, run_id);
}

}  // namespace railgauge::cli
