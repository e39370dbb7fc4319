// A group of two terminals in which a failing rank reports its error to the other, so that both
// print the cause and neither prints "connection closed". (Under an agent the controller does
// this.)
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
  // Fails also with an error that another rank reported; the message names the rank.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;

  // Exchanges the state of all ranks: the first error among them is the result on each. Every rank
  // calls it at the same points, after prepare and at the end, with its own state. The timeout is
  // in seconds.
  Status agree(const Status& mine, double timeout_seconds);

 private:
  // Exchanges payloads that are tagged as value or error.
  Result<std::vector<std::string>> pass(std::string tagged, double timeout_seconds);

  Group& inner_;
  // No further step is possible: a rank is gone or has reported its end.
  bool broken_ = false;
  // Another rank has reported its error.
  bool heard_error_ = false;
};

}  // namespace railgauge
