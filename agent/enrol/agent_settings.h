// The settings of an agent as `enroll` sees them: files that people and packages have, and one of
// its own beside them. A package asks at its next upgrade about a file of its own that was changed.
// Not thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/enrol/settings_edit.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

class AgentSettings {
 public:
  // Reads `config`, "agent.conf", and the files of "agent.d" (settings_folder()), of which
  // "enrolment.conf" is ours. Absent files are empty. kPermissionDenied: one cannot be read.
  static Result<AgentSettings> read(const std::string& config);

  [[nodiscard]] const std::string& own_path() const { return files_[own_].path; }
  // The value in force; "" for none.
  [[nodiscard]] std::string value(const std::string& key) const;

  // Our file with these keys. kAlreadyExists, with the place: a key has another value in any file.
  // `force` replaces it in ours, which counts before those that are read earlier; one that is read
  // later stays an error.
  [[nodiscard]] Result<EditedSettings> with(const Wanted& wanted, std::string_view remark,
                                            bool force) const;
  // Writes our file. A new one is for everybody to read, since it has paths and addresses and no
  // secret; one that is there keeps its mode and owner.
  [[nodiscard]] Status write(const EditedSettings& edited) const;

 private:
  struct File {
    std::string path{};
    std::string text{};
  };
  std::vector<File> files_;  // in the order in which they are read
  std::size_t own_ = 0;
};

}  // namespace railgauge::agent
