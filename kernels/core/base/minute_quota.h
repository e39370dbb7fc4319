// Bounds how often something is written for one peer: so many times a minute, then a count. A peer
// that repeats a mistake or attacks must not fill logs and tables. Time is passed in, in seconds of
// any clock that does not step back. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railgauge {

// One quota for each key. Beyond kMostKeys the further keys share one quota.
class MinuteQuota {
 public:
  static constexpr double kMinuteSeconds = 60;
  static constexpr std::size_t kMostKeys = 4'096;
  // The key that further ones share.
  static constexpr std::string_view kOthers = "others";

  explicit MinuteQuota(std::uint32_t most) : most_(most) {}

  // Uses one of the key's turns in this minute, which begins with its first one. False: none is
  // left, and the use is counted.
  bool take(std::string_view key, double now) {
    auto found = turns_.find(key);
    if (found == turns_.end()) {
      if (turns_.size() >= kMostKeys) key = kOthers;
      found = turns_.try_emplace(std::string(key), Turns{.since = now}).first;
    }
    Turns& turns = found->second;
    if (now >= turns.since + kMinuteSeconds && turns.left_out == 0) turns = {.since = now};
    if (turns.used < most_) return ++turns.used, true;
    ++turns.left_out;
    return false;
  }

  // A key whose minute is over, and how many of its uses were counted.
  using LeftOut = std::pair<std::string, std::uint64_t>;
  // Forgets the keys whose minute is over. Returns those that have a count.
  std::vector<LeftOut> end_minutes(double now) {
    std::vector<LeftOut> ended;
    std::erase_if(turns_, [&](const auto& entry) {
      const auto& [key, turns] = entry;
      if (now < turns.since + kMinuteSeconds) return false;
      if (turns.left_out > 0) ended.emplace_back(key, turns.left_out);
      return true;
    });
    return ended;
  }

 private:
  struct Turns {
    double since = 0;
    std::uint32_t used = 0;
    std::uint64_t left_out = 0;
  };
  const std::uint32_t most_;
  std::map<std::string, Turns, std::less<>> turns_;
};

}  // namespace railgauge
