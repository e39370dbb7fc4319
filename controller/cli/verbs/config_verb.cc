// config
#include <sys/wait.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"

namespace railgauge::cli {
namespace {

// Runs the program with --check-config; its lines go to this program's streams. Returns its exit
// code, or kExitInvalid when a signal ended it.
Result<int> check_settings_of(const std::filesystem::path& program) {
  const pid_t child = RG_TRY(start_program({.argv = {program.string(), "--check-config"}}));
  const int status = wait_for_end(child).value_or(0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitInvalid;
}

}  // namespace

// The programs read their settings themselves, as at a start, so that there is one reader.
Result<int> check_config(Session& session, const Arguments&) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<int> codes;
  for (const char* name : {"railgauge-controller", "railgauge-agent"}) {
    const auto program = folder / name;
    if (!std::filesystem::exists(program, error)) continue;
    session.output.out << "# " << name << '\n' << std::flush;
    codes.push_back(RG_TRY(check_settings_of(program)));
  }
  if (codes.empty())
    return fail(Code::kNotFound, fmt::format("{}: has neither railgauge-controller nor "
                                             "railgauge-agent; install one on this host",
                                             folder.string()));
  return combine_exit_codes(codes);
}

}  // namespace railgauge::cli
