// config
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/input/unit_environment.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"

namespace railgauge::cli {
namespace {

// Where systemd runs services, a program has the environment of its unit, which is not that of the
// shell in which this one runs. Elsewhere, as in a container, both have the same: absent.
Result<std::optional<std::vector<std::string>>> environment_of(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_directory("/run/systemd/system", error)) return std::nullopt;
  std::vector<std::string> own;
  for (char** entry = environ; *entry != nullptr; ++entry) own.emplace_back(*entry);
  const bool is_there = std::filesystem::exists(file, error);
  return unit_environment(own, is_there ? RG_TRY(read_file(file)) : std::string());
}

// More than any settings file can have.
constexpr std::size_t kMostSettingsBytes = 1U << 20U;

// Runs the program with --check-config, with its lines on `out`. Returns its exit code, or
// kExitInvalid when a signal ended it.
Result<int> check_settings_of(const std::filesystem::path& program, const std::string& file,
                              std::ostream& out) {
  auto environment = RG_TRY(environment_of(file));
  PipeEnds pipe = RG_TRY(make_pipe());
  const pid_t child = RG_TRY(start_program({.argv = {program.string(), "--check-config"},
                                            .environment = std::move(environment),
                                            .descriptors = {{STDOUT_FILENO, pipe.write.get()}}}));
  pipe.write.reset();  // or reading would never end
  std::string text;
  read_available(pipe.read.get(), kMostSettingsBytes, text);
  pipe.read.reset();  // one that still prints gets SIGPIPE
  out << text;
  const int status = wait_for_end(child).value_or(0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitInvalid;
}

}  // namespace

// The programs read their settings themselves, as at a start, so that there is one reader. The
// files of their units' environments are systemd's to read.
Result<int> check_config(Session& session, const Arguments&) {
  if (session.output.format != Format::kTable)
    return fail(Code::kInvalidArgument,
                "config check: it prints the programs' own lines; leave out --format");
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<int> codes;
  for (const std::string name : {"controller", "agent"}) {
    const auto program = folder / ("railgauge-" + name);
    if (!std::filesystem::exists(program, error)) continue;
    session.output.out << "# railgauge-" << name << '\n' << std::flush;
    codes.push_back(RG_TRY(check_settings_of(program, fmt::format("/etc/railgauge/{}.env", name),
                                             session.output.out)));
  }
  if (codes.empty())
    return fail(Code::kNotFound, fmt::format("{}: has neither railgauge-controller nor "
                                             "railgauge-agent; install one on this host",
                                             folder.string()));
  return combine_exit_codes(codes);
}

}  // namespace railgauge::cli
