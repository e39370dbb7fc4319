#include "controller/plan/suite/whole_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace railgauge {

// Reads in parts, so that a device file cannot exceed the bound.
Result<std::string> read_whole_file(const std::string& path, std::size_t max_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(Code::kInvalidArgument, fmt::format("{}: open: {}", path, std::strerror(errno)));
  std::string text;
  std::string part(64U << 10U, '\0');
  while (text.size() <= max_bytes) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part, 0, static_cast<std::size_t>(file.gcount()));
    if (!file) break;
  }
  if (file.bad())
    return fail(Code::kInvalidArgument, fmt::format("{}: read: {}", path, std::strerror(errno)));
  if (text.size() <= max_bytes) return text;
  return fail(Code::kInvalidArgument,
              fmt::format("{}: larger than {} bytes, its limit", path, max_bytes));
}

}  // namespace railgauge
