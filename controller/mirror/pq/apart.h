// Work that may block for as long as it likes, as a lookup of a name does: it runs on a thread of
// its own, and is left to itself when its owner waits no longer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace railgauge::pq {

// Runs `work` and waits for its result, `seconds` at most and until `is_over` (empty: never).
// Absent: the wait ended first; the work sees it by its argument, and its result is dropped on its
// own thread. `work` may use nothing that ends before the process.
template <class Work>
std::optional<std::invoke_result_t<Work, const std::atomic<bool>&>> run_apart(
    Work work, double seconds, const std::function<bool()>& is_over) {
  using Value = std::invoke_result_t<Work, const std::atomic<bool>&>;
  constexpr std::chrono::milliseconds kLook{20};
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Value> value{};
    std::atomic<bool> is_given_up = false;
  };
  const auto shared = std::make_shared<Shared>();
  std::thread([shared, work = std::move(work)]() mutable {
    std::optional<Value> value(work(std::as_const(shared->is_given_up)));
    const std::lock_guard lock(shared->mutex);
    shared->value = std::move(value);
    shared->changed.notify_all();
  }).detach();
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::unique_lock lock(shared->mutex);
  while (!shared->value) {
    if (std::chrono::steady_clock::now() >= until || (is_over && is_over())) {
      shared->is_given_up = true;
      return std::nullopt;
    }
    shared->changed.wait_for(lock, kLook);
  }
  return std::move(shared->value);
}

}  // namespace railgauge::pq
