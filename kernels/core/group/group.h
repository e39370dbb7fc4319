// The rendezvous seam, by which the ranks of one task find each other. Three forms: through the
// agent and the controller (relay_group.h), by plain TCP (tcp_group.h), alone (SoloGroup). Never
// used inside a timed region.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Ranks of one task on one host at most; each is a process.
inline constexpr std::uint32_t kMaxLocalRanks = 64;

// The ranks of one task, numbered from 0. Not thread safe. After an error the group is of no use.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  // Sends `mine` (at most kMaxPayload bytes) to all ranks and returns every rank's payload in rank
  // order. All ranks must call in the same order. Errors: kDeadlineExceeded, kUnavailable (a rank
  // is gone), kCancelled.
  virtual Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) = 0;
  // How much the other ranks need a payload of gather(): not at all, where nothing louder was said,
  // or in any case.
  enum class Loudness : std::uint32_t { kQuiet, kWaitedInVain, kCause };
  // The same for payloads that only rank 0 needs from everybody. The others get rank 0's payload
  // and the loudest of the rest (step_answers.h), at their places, and empty ones elsewhere,
  // perhaps at their own too. So the traffic of a step grows with the ranks, not with their square.
  // Groups of few ranks may return all payloads.
  virtual Result<std::vector<std::string>> gather(std::string mine, Loudness /*loudness*/,
                                                  double timeout_seconds) {
    return exchange(std::move(mine), timeout_seconds);
  }
  // This rank's place from now on, in words: sent with each payload, for a rank that misses it
  // later.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep it
  virtual void set_place(std::string /*place*/) {}
  // Returns when all ranks have come here. Errors as exchange.
  Status barrier(double timeout_seconds) {
    RG_TRY(exchange({}, timeout_seconds));
    return {};
  }
  // Bytes of a payload at most: addresses and errors fit, samples do not.
  static constexpr std::size_t kMaxPayload = 64U << 10U;
};

// A group of one: exchange returns at once.
class SoloGroup final : public Group {
 public:
  [[nodiscard]] std::uint32_t rank() const override { return 0; }
  [[nodiscard]] std::uint32_t size() const override { return 1; }
  Result<std::vector<std::string>> exchange(std::string mine, double) override {
    return std::vector<std::string>{std::move(mine)};
  }
};

}  // namespace railgauge
