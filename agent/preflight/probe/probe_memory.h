// The last results of registrations of GPU memory with NICs, so that a busy GPU's last answer can
// be reported. Kept in a small file of the state folder: neither an agent's restart nor its absence
// (`railgauge-agent --preflight`) forgets a proof.
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
inline constexpr std::size_t kMaxKeptAnswers = 256;  // pairs of a GPU and a NIC; the newest stay
inline constexpr std::size_t kMaxProbeFileBytes = 1U << 20U;  // more than these can fill
inline constexpr double kClockSlackSeconds = 60;  // so far a clock may have been set back

// The file's text. Pure.
std::string probe_file_text(std::span<const ProbeAnswer> answers);
// None where the text is cut, not ours, or has an answer of the future: a clock was set, and no age
// of it would be right. Pure.
std::vector<ProbeAnswer> parse_probe_file(std::string_view text, double now_unix_seconds);

// Thread safe.
class ProbeMemory {
 public:
  using Complain = std::function<void(const Error&)>;

  ProbeMemory() = default;  // without a file
  // `folder` is not made; "" is none. `complain` hears why the file could not be written.
  ProbeMemory(std::string folder, Complain complain);

  // Notes `answers` and gives, for those that are kBusy, the last one that was an answer.
  std::vector<ProbeAnswer> exchange(std::span<const ProbeAnswer> answers, double now_unix_seconds);
  // All that is remembered.
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
