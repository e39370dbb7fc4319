// The time that stages took in earlier runs, for the estimates of later ones. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::plan {

// The rounds of one stage in one run.
struct StageTime {
  std::string key{};  // PlannedStage::time_key
  std::uint32_t rounds = 0;
  double longest_seconds = 0;  // by the kernel's own caps, each round as long as its longest task
  double seconds = 0;          // from begin to begin of the rounds, and to the end of the last
};

// The shares of earlier runs, by stage. A plain value; thread safe for readers.
class LearnedTimes {
 public:
  // Adds a run. A time that is not positive and finite is left out.
  void add(const StageTime& time);
  // Returns the median over runs of seconds/longest_seconds. A key with a number of nodes that no
  // run had takes the runs of the nearest number, within a factor of 2: one node may be away.
  // Nothing without an earlier run.
  [[nodiscard]] std::optional<double> share_of(std::string_view key) const;

 private:
  using Shares = std::map<std::string, std::vector<double>, std::less<>>;
  // The runs of the nearest number of nodes; end(): there are none.
  [[nodiscard]] Shares::const_iterator nearest(std::string_view key) const;

  Shares shares_;
};

}  // namespace railgauge::plan
