// The optional settings file: `key = value` lines, `#` starts a comment line. Keys are the flags'
// names with underscores.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kernels/core/result.h"

namespace railgauge::agent {

struct Setting {
  std::string value;
  int line = 0;
};
using Settings = std::map<std::string, Setting>;

// Errors: kInvalidArgument naming `path` and the line. Pure.
Result<Settings> parse_settings(std::string_view text, const std::string& path);
// No file gives no settings; one that cannot be read is kPermissionDenied.
Result<Settings> read_settings(const std::string& path);

}  // namespace railgauge::agent
