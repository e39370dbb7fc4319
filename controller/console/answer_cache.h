// Answers that are made once for several pages, because each costs a core tenths of a second.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge::console {

struct CacheBounds {
  std::size_t count = 8;      // values
  std::size_t weight = 0;     // of all together, but for the newest; in the unit of `weigh`
  double turn_seconds = 5;    // to wait while another value is made
  double long_seconds = 300;  // for which a value is given while nothing was written
};

// Values by key. A value is given again as long as the store has written nothing since it was made;
// during a night it is given for its short time. One value is made at a time. Thread safe.
template <class Value>
class AnswerCache {
 public:
  using Make = std::function<Result<std::shared_ptr<const Value>>()>;
  // `writes` counts what the store wrote; where it is empty all values have their short time.
  // `now` is in seconds, and so is what `lasts` says of a value after a write.
  AnswerCache(CacheBounds bounds, std::function<std::uint64_t()> writes,
              std::function<double()> now, std::function<std::size_t(const Value&)> weigh,
              std::function<double(const Value&)> lasts)
      : bounds_(bounds),
        writes_(std::move(writes)),
        now_(std::move(now)),
        weigh_(std::move(weigh)),
        lasts_(std::move(lasts)) {}

  // The value of the key, made by `make` where none is kept. kResourceExhausted: others were made
  // for the whole turn. Errors: those of `make`, which are not kept.
  Result<std::shared_ptr<const Value>> get(const std::string& key, const Make& make) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(bounds_.turn_seconds));
    while (true) {
      if (std::shared_ptr<const Value> kept = find(key)) return kept;
      if (!is_making_) break;
      if (changed_.wait_until(lock, end) == std::cv_status::timeout && is_making_)
        return fail(Code::kResourceExhausted, "another answer is being made; try again");
    }
    is_making_ = true;
    // Before the reading: what is written meanwhile counts as written after it.
    const std::uint64_t writes = writes_ ? writes_() : 0;
    Result<std::shared_ptr<const Value>> made = make_unlocked(lock, make);
    if (!made) return made;
    const double now = now_();
    entries_.push_front({.key = key, .writes = writes, .made_seconds = now, .value = *made});
    std::size_t count = 0;
    std::size_t weight = 0;
    std::erase_if(entries_, [&](const Entry& entry) {
      weight += weigh_(*entry.value);
      return ++count > bounds_.count || (count > 1 && weight > bounds_.weight);
    });
    return made;
  }

 private:
  struct Entry {
    std::string key{};
    std::uint64_t writes = 0;
    double made_seconds = 0;
    std::shared_ptr<const Value> value{};
  };

  // The turn ends whatever `make` does.
  Result<std::shared_ptr<const Value>> make_unlocked(std::unique_lock<std::mutex>& lock,
                                                     const Make& make) {
    struct Turn {
      std::unique_lock<std::mutex>& lock;
      AnswerCache& cache;
      ~Turn() {
        lock.lock();
        cache.is_making_ = false;
        cache.changed_.notify_all();
      }
    };
    lock.unlock();
    const Turn turn{.lock = lock, .cache = *this};
    return make();
  }

  // A hit becomes the newest.
  std::shared_ptr<const Value> find(const std::string& key) {
    const double now = now_();
    const std::uint64_t writes = writes_ ? writes_() : 0;
    std::erase_if(entries_, [&](const Entry& entry) {
      const double age = now - entry.made_seconds;
      const bool is_same = writes_ && entry.writes == writes && age <= bounds_.long_seconds;
      return !is_same && !(age < lasts_(*entry.value));
    });
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().value;
  }

  const CacheBounds bounds_;
  const std::function<std::uint64_t()> writes_;
  const std::function<double()> now_;
  const std::function<std::size_t(const Value&)> weigh_;
  const std::function<double(const Value&)> lasts_;
  std::mutex mutex_;  // guards the next three; not held while a value is made
  std::condition_variable changed_;
  bool is_making_ = false;
  std::list<Entry> entries_;  // the newest first
};

}  // namespace railgauge::console
