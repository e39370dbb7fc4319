// A group of two terminals in which a rank that fails reports the reason to the others, so that
// both print the cause and not one the cause and the other "connection closed". (Under an agent the
// controller does this.)
#pragma once

#include <string>
#include <vector>

#include "kernels/core/group/group.h"

namespace railgauge {

class ErrorReportingGroup final : public Group {
 public:
  explicit ErrorReportingGroup(Group& inner) : inner_(inner) {}
  [[nodiscard]] std::uint32_t rank() const override { return inner_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return inner_.size(); }
  // Also the error that another rank reported, naming the rank.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;

  // Every rank calls this at a place where all agree to come (after prepare, at the end) with its
  // own state; the first error among all ranks is everyone's.
  Status agree(const Status& mine, double timeout_seconds);

 private:
  Result<std::vector<std::string>> pass(std::string tagged, double timeout_seconds);

  Group& inner_;
  bool broken_ = false;       // nothing more can be sent: a rank is gone, or has reported its end
  bool heard_error_ = false;  // another rank has reported its error
};

}  // namespace railgauge
