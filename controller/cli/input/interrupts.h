// Ctrl-C and SIGTERM as values that verbs query, so that "detach first, cancel second" is tested
// without signals.
#pragma once

#include <condition_variable>
#include <csignal>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace railgauge::cli {

// Thread safe.
class Interrupts {
 public:
  void press();      // Ctrl-C
  void terminate();  // SIGTERM, SIGHUP

  [[nodiscard]] int presses() const;
  [[nodiscard]] bool terminated() const;
  [[nodiscard]] bool any() const { return presses() > 0 || terminated(); }
  // Waits for more than `seen` presses or a termination; returns false after `seconds` without.
  bool wait_beyond(int seen, double seconds);

  // While it lives, a press or a termination calls `cancel`, which must not wait.
  class Hook {
   public:
    Hook(Interrupts& interrupts, std::function<void()> cancel);
    ~Hook();
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

   private:
    Interrupts& interrupts_;
    std::list<std::function<void()>>::iterator entry_;
  };

  // While it lives, a signal that ends the process at once calls `act` before, on its own thread.
  class LastAct {
   public:
    LastAct(Interrupts& interrupts, std::function<void()> act);
    ~LastAct();
    LastAct(const LastAct&) = delete;
    LastAct& operator=(const LastAct&) = delete;

   private:
    Interrupts& interrupts_;
  };
  // Calls the last act, if there is one.
  void act_last();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int presses_ = 0;
  bool terminated_ = false;
  std::list<std::function<void()>> hooks_;
  std::mutex last_mutex_;  // held while the last act runs, which waits
  std::function<void()> last_act_;
};

// Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT and reports the first three to `interrupts` from its
// own thread. Make it before any other thread, so that all threads inherit the mask. A third
// Ctrl-C, a second SIGTERM or SIGHUP, and SIGQUIT end the process at once, after its last act, as
// the way out of a hang.
class SignalListener {
 public:
  explicit SignalListener(Interrupts& interrupts);
  ~SignalListener();
  SignalListener(const SignalListener&) = delete;
  SignalListener& operator=(const SignalListener&) = delete;

 private:
  void take(int signal, Interrupts& interrupts);

  sigset_t signals_{};
  std::jthread thread_;
};

}  // namespace railgauge::cli
