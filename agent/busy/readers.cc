#include "agent/busy/readers.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/os/subprocess.h"
#include "agent/tasks/final.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kMostHookBytes = 64U << 10U;
constexpr std::size_t kMostLineBytes = 200;

std::string first_line(std::string_view text) {
  std::string line = valid_utf8(text.substr(0, std::min(text.find('\n'), kMostLineBytes)));
  std::erase_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return line;
}

Code code_of(int error) {
  return error == EACCES || error == EPERM ? Code::kPermissionDenied : Code::kUnknown;
}

}  // namespace

std::string one_line(std::string_view text) { return printable(valid_utf8(text)); }

Result<std::optional<std::string>> read_marker(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
    return fail(code_of(errno), fmt::format("{}: look for it: {}", path, std::strerror(errno)));
  }
  // Reads regular files only, since a pipe would block; the existence alone counts.
  const std::string said = first_line(small_file(path, 4096));
  return std::optional(said.empty() ? path + " is there"
                                    : fmt::format("{} says {}", path, in_quotes(said)));
}

std::optional<double> parse_load(std::string_view text) {
  double load = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), load);
  if (error != std::errc() || !(load >= 0) || load > 1e9) return std::nullopt;
  return load;
}

Result<double> read_load(const std::string& proc_root) {
  const std::string path = proc_root + "/loadavg";
  const auto load = parse_load(line_of(path));
  if (!load) return fail(Code::kUnknown, fmt::format("{}: read: no load average in it", path));
  return *load;
}

Result<std::optional<std::string>> ask_hook(const std::vector<std::string>& argv,
                                            double deadline_seconds) {
  const CommandOutput said = RG_TRY(run_command(argv, deadline_seconds, kMostHookBytes));
  const bool exited = WIFEXITED(said.wait_status);
  if (exited && WEXITSTATUS(said.wait_status) == 0) return std::optional<std::string>();
  if (exited && WEXITSTATUS(said.wait_status) == 1) {
    const std::string line = first_line(said.out);
    return std::optional(line.empty() ? argv.front() + " says so" : line);
  }
  const std::string line = first_line(said.err);
  return fail(Code::kUnknown,
              fmt::format("{}: {}, which is neither idle (0) nor busy (1){}{}", argv.front(),
                          describe_wait_status(said.wait_status), line.empty() ? "" : ": ", line));
}

}  // namespace railgauge::agent
