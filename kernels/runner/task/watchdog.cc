// A thread that waits for a signal, a cancel or a time, and ends the process.
#include "kernels/runner/task/watchdog.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

constexpr double kFarNs = 1e18;        // no deadline yet
constexpr double kMaxPollMs = 60'000;  // one wait of the loop

// SIGINT of a terminal, SIGTERM of an agent or a parent.
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

// Threads inherit the mask, hence before any of them starts.
void block_ending_signals() {
  const sigset_t set = ending_signals();
  RG_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
}

// Not blocking, so that a loop may read it without a poll.
int ending_signals_fd() {
  const sigset_t set = ending_signals();
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

const char* words_of_signal(int signal) {
  return signal == SIGINT ? "interrupted (SIGINT)" : "terminated (SIGTERM)";
}

int exit_code_of_signal(int signal) {
  return signal == SIGINT ? kExitInterrupted : kExitTerminated;
}

std::string words_of_end(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return fmt::format("exited with {}", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(signal);  // nullptr for a real-time signal
  if (name == nullptr) return fmt::format("was ended by signal {}", signal);
  return fmt::format("was ended by signal {} (SIG{})", signal, name);
}

// Guards nothing yet, but ends the process on a signal from here on.
Watchdog::Watchdog()
    : end_monotonic_ns_(kFarNs),
      signal_fd_(ending_signals_fd()),
      wake_fd_(::eventfd(0, EFD_CLOEXEC)) {
  RG_CHECK(signal_fd_ && wake_fd_);
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  RG_CHECK(::eventfd_write(wake_fd_.get(), 1) == 0);
  thread_.join();
}

// Wakes the thread, which waits until an earlier time.
void Watchdog::guard(RecordWriter& records, double deadline_monotonic_ns) {
  const std::lock_guard lock(mutex_);
  records_ = &records;
  end_monotonic_ns_ = deadline_monotonic_ns + kGraceSeconds * 1e9;
  RG_CHECK(::eventfd_write(wake_fd_.get(), 1) == 0);
}

// Shortens the time that is left; never lengthens it.
void Watchdog::end(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (why_) return;
  why_ = why;
  end_monotonic_ns_ = std::min(end_monotonic_ns_, monotonic_now_ns() + kCancelGraceSeconds * 1e9);
  RG_CHECK(::eventfd_write(wake_fd_.get(), 1) == 0);
}

// Never holds the lock while it waits.
void Watchdog::watch() {
  for (;;) {
    std::array<pollfd, 2> wait{pollfd{signal_fd_.get(), POLLIN, 0},
                               pollfd{wake_fd_.get(), POLLIN, 0}};
    double left_ms = 0;
    std::optional<Error> why;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      left_ms = (end_monotonic_ns_ - monotonic_now_ns()) / 1e6;
      why = why_;
    }
    // A cancel, which shortened the deadline, is the reason then.
    if (left_ms <= 0 && why) end_process(outcome_of(why->code), why->message, exit_code_of(*why));
    if (left_ms <= 0)
      end_process(kTimedOut, "the kernel did not come back by its deadline",
                  exit_code_of(kTimedOut));
    // One more millisecond, so that the loop does not spin just before the end.
    ::poll(wait.data(), wait.size(), static_cast<int>(std::min(left_ms, kMaxPollMs)) + 1);
    eventfd_t woken = 0;
    if (wait[1].revents != 0) ::eventfd_read(wake_fd_.get(), &woken);
    signalfd_siginfo signal{};
    if (wait[0].revents != 0 && ::read(signal_fd_.get(), &signal, sizeof signal) == sizeof signal) {
      const int number = static_cast<int>(signal.ssi_signo);
      end_process(kCancelledOutcome, words_of_signal(number), exit_code_of_signal(number));
    }
  }
}

// A later signal still ends the process, without a record.
void Watchdog::release() {
  const std::lock_guard lock(mutex_);
  records_ = nullptr;
}

// _exit runs no destructor: a thread that hangs may hold any lock.
void Watchdog::end_process(std::string_view outcome, std::string reason, int exit_code) {
  const std::lock_guard lock(mutex_);  // held to the end, so that the records cannot go away
  if (records_ != nullptr) records_->finish(outcome, std::move(reason));
  ::_exit(exit_code);
}

}  // namespace railgauge
