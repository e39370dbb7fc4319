// The last results of registrations of GPU memory with NICs, reported while a GPU is busy. Kept in
// a small file of the state folder, so that a proof survives a restart and reaches `railgauge-agent
// --preflight`.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/preflight/rules/check.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

inline constexpr const char* kProbeFile = "agent-gpudirect";
inline constexpr std::size_t kMaxKeptAnswers = 256;           // one a pair; the newest stay
inline constexpr std::size_t kMaxProbeFileBytes = 1U << 20U;  // above the size of kMaxKeptAnswers
inline constexpr double kClockSlackSeconds = 60;  // a clock set back by less is tolerated

// Returns the file's text, without answers of busy GPUs and untried pairs. Pure.
std::string probe_file_text(std::span<const ProbeAnswer> answers);
// Parses the file's text. Empty if the text is cut, foreign, or has an answer from the future: the
// clock was set, so every age would be wrong. Pure.
std::vector<ProbeAnswer> parse_probe_file(std::string_view text, double now_unix_seconds);

// Thread safe.
class ProbeMemory {
 public:
  using Complain = std::function<void(const Error&)>;

  ProbeMemory() = default;  // without a file
  // `folder` must exist; "": no file. `complain` receives the error when the file cannot be
  // written.
  ProbeMemory(std::string folder, Complain complain);

  // Stores `answers` and returns the last real answer of each pair that is kBusy now.
  std::vector<ProbeAnswer> exchange(std::span<const ProbeAnswer> answers, double now_unix_seconds);
  // Returns all stored answers.
  std::vector<ProbeAnswer> all(double now_unix_seconds);

 private:
  void learn(double now_unix_seconds);
  void note(const ProbeAnswer& answer);
  [[nodiscard]] std::vector<ProbeAnswer> known() const;
  Status keep(double now_unix_seconds);

  const std::string folder_{};
  const Complain complain_{};
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, ProbeAnswer> last_;  // by GPU and NIC
};

}  // namespace railgauge::agent
