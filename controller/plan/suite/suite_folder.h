// Suites of the controller: NAME.yaml in one folder, NAME:K/N (the same with the key `slice: K/N`),
// or text from a caller.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/whole_file.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Reads the folder on each call, so that new files need no restart. Thread safe.
class SuiteFolder {
 public:
  static constexpr std::size_t kMaxSuites = 1'000;

  explicit SuiteFolder(std::string folder) : folder_(std::move(folder)) {}

  // Returns the suites' names in order, at most kMaxSuites; empty when the folder is unreadable.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::string path_of(std::string_view name) const;
  struct Text {
    std::string text;
    // Name for messages.
    std::string file_name;
  };
  // Returns the source's text. kInvalidArgument: an unknown name ("did you mean"), neither name nor
  // text, or a file beyond kMaxSuiteBytes.
  Result<Text> text_of(const api::SuiteSource& source) const;
  // Reads another file of the folder by its name. kInvalidArgument: unreadable, or larger than
  // kMaxSuiteBytes.
  Result<std::string> text_beside(std::string_view name) const;
  // Reads and checks a suite; an empty `kernels` leaves `kernels_checked` false.
  Result<api::SuiteCheck> check(const api::SuiteSource& source,
                                std::span<const KernelInfo> kernels) const;

 private:
  std::string folder_;
};

}  // namespace railgauge
