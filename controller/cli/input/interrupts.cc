#include "controller/cli/input/interrupts.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

constexpr int kPressesThatEnd = 3;
constexpr timespec kPatience{.tv_sec = 1, .tv_nsec = 0};  // should the wake-up signal get lost

}  // namespace

// Hooks run under the lock: a hook that is being removed is never called afterwards.
void Interrupts::press() {
  const std::scoped_lock lock(mutex_);
  ++presses_;
  for (const auto& cancel : hooks_) cancel();
  changed_.notify_all();
}

// Ends every wait and cancels every call in flight, like a press, but stays set.
void Interrupts::terminate() {
  const std::scoped_lock lock(mutex_);
  terminated_ = true;
  for (const auto& cancel : hooks_) cancel();
  changed_.notify_all();
}

int Interrupts::presses() const {
  const std::scoped_lock lock(mutex_);
  return presses_;
}

bool Interrupts::terminated() const {
  const std::scoped_lock lock(mutex_);
  return terminated_;
}

// Returns at once where more presses came already.
bool Interrupts::wait_beyond(int seen, double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return presses_ > seen || terminated_; });
}

// The hook is not called for presses that came before it; callers test any() after they made it.
Interrupts::Hook::Hook(Interrupts& interrupts, std::function<void()> cancel)
    : interrupts_(interrupts) {
  const std::scoped_lock lock(interrupts_.mutex_);
  entry_ = interrupts_.hooks_.insert(interrupts_.hooks_.end(), std::move(cancel));
}

// Takes the lock of the callbacks, so that none of them is removed while it runs.
Interrupts::Hook::~Hook() {
  const std::scoped_lock lock(interrupts_.mutex_);
  interrupts_.hooks_.erase(entry_);
}

Interrupts::LastAct::LastAct(Interrupts& interrupts, std::function<void()> act)
    : interrupts_(interrupts) {
  const std::scoped_lock lock(interrupts_.last_mutex_);
  interrupts_.last_act_ = std::move(act);
}

Interrupts::LastAct::~LastAct() {
  const std::scoped_lock lock(interrupts_.last_mutex_);
  interrupts_.last_act_ = nullptr;
}

void Interrupts::act_last() {
  const std::scoped_lock lock(last_mutex_);
  if (last_act_) last_act_();
}

// Waits with sigtimedwait in place of a handler, so that hooks may take locks and call gRPC.
SignalListener::SignalListener(Interrupts& interrupts) {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::jthread([this, &interrupts](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const int signal = sigtimedwait(&signals_, nullptr, &kPatience);
      if (signal >= 0 && signal != SIGUSR1) take(signal, interrupts);
    }
  });
}

void SignalListener::take(int signal, Interrupts& interrupts) {
  const auto end = [&](int code) {
    interrupts.act_last();
    _exit(code);
  };
  if (signal == SIGQUIT) {
    interrupts.act_last();
    // With the core file that Ctrl-\ is for.
    ::signal(SIGQUIT, SIG_DFL);
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    pthread_sigmask(SIG_UNBLOCK, &quit, nullptr);
    ::raise(SIGQUIT);
  } else if (signal == SIGINT) {
    if (interrupts.presses() + 1 >= kPressesThatEnd) end(kExitInterrupted);
    interrupts.press();
  } else {
    if (interrupts.terminated()) end(kExitTerminated);
    interrupts.terminate();
  }
}

// SIGUSR1 ends the wait of the thread at once.
SignalListener::~SignalListener() {
  thread_.request_stop();
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

}  // namespace railgauge::cli
