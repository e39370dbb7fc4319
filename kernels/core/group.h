// The rendezvous seam: how the ranks of one task find each other. Three forms: through the agent
// and the controller (relay_group.h), plain TCP (tcp_group.h), alone (solo). Never inside a timed
// region.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/result.h"

namespace railgauge {

class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  // Gives `mine` (at most kMaxPayload bytes) to all and returns everyone's, in rank order. All
  // ranks must call in the same order. Errors: kDeadlineExceeded, kUnavailable (a rank is gone),
  // kCancelled.
  virtual Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) = 0;
  // Returns when all ranks have come here. Errors as exchange.
  Status barrier(double timeout_seconds) {
    RG_TRY(exchange({}, timeout_seconds));
    return {};
  }
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
