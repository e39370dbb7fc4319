// Forks a part of this program, and turns its end into a final record.
#include "kernels/runner/child.h"

#include <poll.h>

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/group/framing.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

// The child's time limit for this process to read a record.
constexpr double kPipeTimeoutSeconds = 10;
constexpr std::size_t kReadBytes = 64U << 10U;
constexpr int kLookMs = 20;  // between two looks at a child without a pidfd

// The child's end of the pipe.
class PipeSink final : public RecordSink {
 public:
  explicit PipeSink(int fd) : fd_(fd) {}
  Status write(const Record& record) override {
    return write_all(fd_, frame(record), kPipeTimeoutSeconds);
  }

 private:
  const int fd_;
};

// The parent's side of one child: its records, its end, and the signals that this process gets
// meanwhile.
class Supervisor {
 public:
  // All descriptors close on exec.
  Supervisor(pid_t child, Fd records, const std::function<void(const Record&)>& on_record)
      : child_(child),
        records_(std::move(records)),
        process_(exit_fd_of(child)),
        signals_(ending_signals_fd()),
        on_record_(on_record) {
    RG_CHECK(static_cast<bool>(signals_));
  }

  // Runs until the child has ended and its pipe is empty. The child ends itself at its deadline;
  // without a deadline (a listener) it waits for its peer until a person ends it.
  ChildEnd supervise() {
    for (;;) {
      std::array<pollfd, 3> wait{pollfd{process_.get(), POLLIN, 0},
                                 pollfd{signals_.get(), POLLIN, 0},
                                 pollfd{records_.get(), POLLIN, 0}};
      ::poll(wait.data(), wait.size(), process_ ? kill_timeout_ms() : kLookMs);
      // The child has had SIGTERM, and its grace is over.
      if (kill_at_ns_ != 0 && monotonic_now_ns() >= kill_at_ns_) ::kill(child_, SIGKILL);
      if (wait[1].revents != 0) take_signal();
      if (records_ && wait[2].revents != 0) drain();
      if (process_ ? wait[0].revents != 0 : has_ended()) break;
    }
    // The child is gone, but records may still be in the pipe.
    while (records_) drain();
    return reap();
  }

 private:
  // Looks without reaping, for systems without a pidfd.
  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child_;
  }
  // -1, which is for ever, until a signal was passed on.
  [[nodiscard]] int kill_timeout_ms() const {
    if (kill_at_ns_ == 0) return -1;
    return std::max(1, static_cast<int>((kill_at_ns_ - monotonic_now_ns()) / 1e6));
  }
  // The first signal counts; the child gets SIGTERM in either case, so that it ends in its own way.
  void take_signal() {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info || ending_signal_ != 0) return;
    ending_signal_ = static_cast<int>(info.ssi_signo);
    kill_at_ns_ = monotonic_now_ns() + kKillAfterSeconds * 1e9;
    ::kill(child_, SIGTERM);
  }
  // Reads once from the non-blocking pipe. Closes it at end of file and on garbage.
  void drain() {
    std::array<char, kReadBytes> bytes;
    const ssize_t got = ::read(records_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return records_.reset();
    frames_.feed({bytes.data(), static_cast<std::size_t>(got)});
    for (;;) {
      const auto next = frames_.next();
      Record record;
      if (!next || (*next && !record.ParseFromString(**next))) return records_.reset();
      if (!*next) return;
      // A child may run several tasks, so only the last record counts.
      final_seen_ = record.has_final();
      on_record_(record);
    }
  }
  // Ignores the exit code of a child without a final record.
  ChildEnd reap() {
    const auto waited = wait_for_end(child_);
    RG_CHECK(waited.has_value());
    const int status = *waited;
    ChildEnd end{.exit_code = kExitInvalid, .ending_signal = ending_signal_};
    if (!final_seen_) add_final(status);
    if (final_seen_ && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (ending_signal_ != 0) end.exit_code = exit_code_of_signal(ending_signal_);
    return end;
  }
  // The record that the child should have written.
  void add_final(int status) {
    Record record;
    Final& final = *record.mutable_final();
    final.set_outcome(std::string(ending_signal_ != 0 ? kCancelledOutcome : kCrashed));
    final.set_reason(ending_signal_ != 0
                         ? words_of_signal(ending_signal_)
                         : fmt::format("the kernel's process {}{}", words_of_end(status),
                                       WIFSIGNALED(status) ? "" : " before its final record"));
    if (WIFSIGNALED(status)) final.set_exit_signal(WTERMSIG(status));
    on_record_(record);
  }

  const pid_t child_;
  Fd records_;
  // Empty where Linux has no pidfd, or under valgrind.
  const Fd process_;
  const Fd signals_;
  const std::function<void(const Record&)>& on_record_;
  FrameReader frames_;
  bool final_seen_ = false;
  int ending_signal_ = 0;
  // 0: no signal yet.
  double kill_at_ns_ = 0;
};

// Errors: those of make_pipe() and fork_process().
Result<ChildEnd> fork_and_supervise(const std::function<int(RecordSink&)>& body,
                                    const std::function<void(const Record&)>& on_record) {
  PipeEnds pipe = RG_TRY(make_pipe());
  set_nonblocking(pipe.read);
  const pid_t child = RG_TRY(fork_process("railgauge-runner", [&] {
    pipe.read.reset();
    PipeSink sink(pipe.write.get());
    return body(sink);
  }));
  pipe.write.reset();
  return Supervisor(child, std::move(pipe.read), on_record).supervise();
}

}  // namespace

ChildEnd run_in_child(const std::function<int(RecordSink&)>& body,
                      const std::function<void(const Record&)>& on_record) {
  const auto end = fork_and_supervise(body, on_record);
  if (end) return *end;
  Record record;
  record.mutable_final()->set_outcome(std::string(kCrashed));
  record.mutable_final()->set_reason(end.error().message);
  on_record(record);
  return {.exit_code = kExitInvalid};
}

}  // namespace railgauge
