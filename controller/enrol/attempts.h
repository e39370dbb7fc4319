// Slows guesses of tokens and floods of renewals. How often each of many parties may try: an
// allowance that refills. Bounded memory, whatever the parties are. Knows no clock. Not thread
// safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace railgauge::enrol {

class Attempts {
 public:
  // An allowance of `burst` tries that refills evenly within `seconds`.
  struct Bounds {
    double burst = 10;    // tries at once
    double seconds = 60;  // in which they come back
    std::size_t most_parties = 1'024;
  };

  explicit Attempts(Bounds bounds) : bounds_(bounds) {}

  // Whether the party has a try left.
  [[nodiscard]] bool may(const std::string& party, double now) {
    return allowance_of(party, now) >= 1;
  }
  // Takes a try.
  void take(const std::string& party, double now) {
    double& left = allowance_of(party, now);
    left = std::max(0.0, left - 1);
  }
  [[nodiscard]] std::size_t parties() const { return parties_.size(); }

 private:
  // The tries that were left at a time.
  struct Party {
    double left = 0;
    double at = 0;
  };

  // Parties beyond the bound share one allowance.
  double& allowance_of(const std::string& party, double now) {
    if (!parties_.contains(party) && parties_.size() >= bounds_.most_parties) {
      std::erase_if(parties_, [&](const auto& entry) {
        return refilled(entry.second, now) >= bounds_.burst;
      });
      if (parties_.size() >= bounds_.most_parties) return refill(others_, now);
    }
    const auto [entry, is_new] = parties_.try_emplace(party, Party{bounds_.burst, now});
    return refill(entry->second, now);
  }
  // A clock that goes back refills nothing.
  [[nodiscard]] double refilled(const Party& party, double now) const {
    return std::min(bounds_.burst,
                    party.left + std::max(0.0, now - party.at) * bounds_.burst / bounds_.seconds);
  }
  double& refill(Party& party, double now) const {
    party.left = refilled(party, now);
    party.at = now;
    return party.left;
  }

  const Bounds bounds_;
  std::map<std::string, Party> parties_;
  Party others_{};
};

}  // namespace railgauge::enrol
