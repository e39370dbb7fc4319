// Random numbers by name in place of a stream: a key says what is drawn, and the same key gives the
// same number, whatever was drawn before it. Pure; thread safe.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include <boost/math/distributions/normal.hpp>

namespace railgauge::fleet {

// Mixes by the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

// The name of one draw, made of words and numbers in a fixed order.
class DrawKey {
 public:
  explicit constexpr DrawKey(std::uint64_t seed) : state_(mixed(seed + kStep)) {}

  [[nodiscard]] constexpr DrawKey with(std::uint64_t number) const {
    DrawKey longer = *this;
    longer.state_ = mixed(mixed(state_ + kStep) ^ (number * kStep + 1));
    return longer;
  }
  [[nodiscard]] constexpr DrawKey with(std::int64_t number) const {
    return with(static_cast<std::uint64_t>(number));
  }
  [[nodiscard]] constexpr DrawKey with(std::string_view word) const {
    DrawKey longer = with(std::uint64_t{word.size()});
    for (const char each : word)
      longer.state_ = (longer.state_ ^ static_cast<unsigned char>(each)) * kFnvPrime;
    longer.state_ = mixed(longer.state_);
    return longer;
  }

  [[nodiscard]] constexpr std::uint64_t bits() const { return mixed(state_ ^ kStep); }
  // A uniform number in (0, 1), without the ends.
  [[nodiscard]] constexpr double uniform() const {
    return (static_cast<double>(bits() >> 12U) + 0.5) * 0x1p-52;
  }
  // A standard normal number.
  [[nodiscard]] double normal() const {
    return boost::math::quantile(boost::math::normal(), uniform());
  }
  // An exponential number of mean 1.
  [[nodiscard]] double exponential() const { return -std::log(uniform()); }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;
  static constexpr std::uint64_t kFnvPrime = 0x100000001B3ULL;
  std::uint64_t state_;
};

}  // namespace railgauge::fleet
