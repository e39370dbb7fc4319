// A file to which whole lines are appended, for programs that follow it and for logrotate. Not
// thread safe.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge::audit {

struct DescriptorTraits {
  using Type = int;
  static Type empty() { return -1; }
  static void release(Type descriptor);
};

class LineFile {
 public:
  // `path`: "-" is standard output, "" is no file. The file is made with mode 0640.
  explicit LineFile(std::string path) : path_(std::move(path)) {}

  // Opens the file, or opens it anew under its name: logrotate may have moved the old one, which
  // stays in use after an error. kInvalidArgument: the path is no file. kPermissionDenied,
  // kNotFound, kResourceExhausted, kUnavailable: the system's error.
  Status open();
  // Appends the lines, each of which ends in a newline. A line that was cut by an error, as on a
  // full disk, is ended before the next one. Opens the file when it is not open. Errors: as open().
  Status append(std::string_view lines);

 private:
  const std::string path_;
  Handle<DescriptorTraits> file_;
  bool is_cut_ = false;  // the last byte in the file is not a newline
};

}  // namespace railgauge::audit
