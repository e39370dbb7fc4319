// The rendezvous seam, by which the ranks of one task find each other. It has three forms: through
// the agent and the controller (relay_group.h), over plain TCP (tcp_group.h), and alone
// (SoloGroup). Never used inside a timed region.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Most ranks of one task on one host; each rank is a process.
inline constexpr std::uint32_t kMaxLocalRanks = 64;

// The ranks of one task, numbered from 0. Not thread safe. Unusable after an error.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  // Sends `mine` (at most kMaxPayload bytes) to all ranks and returns every rank's payload in rank
  // order. All ranks must call in the same order. Errors: kDeadlineExceeded, kUnavailable (a rank
  // is gone), kCancelled.
  virtual Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) = 0;
  // How much the other ranks need a payload of gather(): not at all, only when no rank reports
  // kCause, or always.
  enum class Loudness : std::uint32_t { kQuiet, kWaitedInVain, kCause };
  // Exchanges payloads that only rank 0 needs from every rank. Rank 0 gets all payloads. The others
  // get rank 0's payload and the loudest of the rest (step_answers.h), each at its rank's index,
  // and empty strings elsewhere, possibly at their own index too. A step's traffic thus grows with
  // the number of ranks, not with its square. Groups of few ranks may return all payloads.
  virtual Result<std::vector<std::string>> gather(std::string mine, Loudness /*loudness*/,
                                                  double timeout_seconds) {
    return exchange(std::move(mine), timeout_seconds);
  }
  // Sets this rank's place, in words. Each payload carries it, so that a rank which later waits in
  // vain can report it.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep it
  virtual void set_place(std::string /*place*/) {}
  // Returns when all ranks have called barrier(). Errors as exchange().
  Status barrier(double timeout_seconds) {
    RG_TRY_OK(exchange({}, timeout_seconds));
    return {};
  }
  // Most bytes of a payload: addresses and errors fit, samples do not.
  static constexpr std::size_t kMaxPayload = 64U << 10U;
};

// A group of one rank: exchange() returns at once.
class SoloGroup final : public Group {
 public:
  [[nodiscard]] std::uint32_t rank() const override { return 0; }
  [[nodiscard]] std::uint32_t size() const override { return 1; }
  Result<std::vector<std::string>> exchange(std::string mine, double) override {
    return std::vector<std::string>{std::move(mine)};
  }
};

}  // namespace railgauge
