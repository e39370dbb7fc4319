// A group of two terminals in which a rank that fails reports the reason to the others, so that
// both print the cause and not one the cause and the other "connection closed". (Under an agent the
// controller does this.)
#pragma once

#include <string>
#include <vector>

#include "kernels/core/group/group.h"

namespace railgauge {

// Not thread safe; `inner` outlives it.
class ErrorReportingGroup final : public Group {
 public:
  explicit ErrorReportingGroup(Group& inner) : inner_(inner) {}
  [[nodiscard]] std::uint32_t rank() const override { return inner_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return inner_.size(); }
  // Also the error that another rank reported, naming the rank.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;

  // Every rank calls this at a place where all agree to come, after prepare and at the end, with
  // its own state. The first error among all ranks is the result on each of them. The timeout is in
  // seconds.
  Status agree(const Status& mine, double timeout_seconds);

 private:
  // One step with tagged payloads.
  Result<std::vector<std::string>> pass(std::string tagged, double timeout_seconds);

  Group& inner_;
  // Nothing more can be sent: a rank is gone, or has reported its end.
  bool broken_ = false;
  // Another rank has reported its error.
  bool heard_error_ = false;
};

}  // namespace railgauge
