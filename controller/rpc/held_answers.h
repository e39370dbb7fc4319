// Answers that were given to gRPC and that their callers have not taken yet. A caller may open no
// HTTP/2 window for the answers to its calls; gRPC keeps each of them until its call ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace railgauge::rpc {

// Bounds what each caller leaves lying. Thread safe.
class HeldAnswers {
 public:
  // Serialised bytes of a caller, of which a message takes up to four times as much memory. A lone
  // answer may be larger.
  static constexpr std::size_t kMaxBytes = 16U << 20U;
  static constexpr std::size_t kCallBytes = 16U << 10U;  // what an open call takes besides
  static constexpr double kMaxSeconds = 120;

  // An answer that is held. Its end frees the bytes. The book outlives it.
  class Held {
   public:
    Held() = default;
    Held(HeldAnswers* book, std::uint64_t number) : book_(book), number_(number) {}
    Held(Held&& other) noexcept
        : book_(std::exchange(other.book_, nullptr)), number_(other.number_) {}
    Held& operator=(Held&& other) noexcept {
      std::swap(book_, other.book_);
      std::swap(number_, other.number_);
      return *this;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      if (book_ != nullptr) book_->release(number_);
    }

   private:
    HeldAnswers* book_ = nullptr;
    std::uint64_t number_ = 0;
  };

  // Holds an answer of `bytes` for `owner`, whose name is Call::owner()'s; "" has no bound.
  // `cancel` ends the call, and may be called until the Held ends. `now`: seconds of a clock that
  // never falls. Absent: the owner has not taken kMaxBytes of earlier answers.
  std::optional<Held> hold(const std::string& owner, std::size_t bytes,
                           std::function<void()> cancel, double now);
  // Whether a further answer is refused, whatever its size, so that no work is done for it.
  [[nodiscard]] bool is_full(const std::string& owner) const;
  // Cancels the calls whose answers wait for longer than kMaxSeconds, and returns how many.
  std::size_t cancel_overdue(double now);
  // Bytes of all owners, with kCallBytes each.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Answer {
    std::string owner{};
    std::size_t bytes = 0;
    double since = 0;
    std::function<void()> cancel{};
    bool is_cancelled = false;
  };
  void release(std::uint64_t number);

  mutable std::recursive_mutex mutex_;  // a cancel may end calls on its own thread
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Answer> answers_;                // by number, oldest first
  std::unordered_map<std::string, std::size_t> bytes_of_;  // by owner; never 0
};

}  // namespace railgauge::rpc
