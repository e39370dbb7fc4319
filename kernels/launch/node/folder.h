// A private folder of one run, closed to other users, removed at its end.
#pragma once

#include <string>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge {

// Owns the folder; move only. Its contents are removed with it, errors ignored.
class OwnFolder {
 public:
  // Creates the folder below that for temporary files. kUnavailable: it cannot be created.
  static Result<OwnFolder> make();
  OwnFolder(OwnFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  OwnFolder& operator=(OwnFolder&&) = delete;
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit OwnFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace railgauge
