#include "controller/cli/demo/demo_programs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

// A controller without a run ends in less than a second.
constexpr double kEndSeconds = 15;

std::vector<std::string> environment_without_settings() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("RAILGAUGE_")) kept.emplace_back(*entry);
  return kept;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "it wrote nothing";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

Result<std::unique_ptr<DemoFolder>> DemoFolder::make() {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string path = (base / "railgauge-demo-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    return fail(errno == EACCES ? Code::kPermissionDenied : Code::kResourceExhausted,
                fmt::format("demo: a folder below {}: {}; TMPDIR names another one", base.string(),
                            errno_words(errno)));
  return std::unique_ptr<DemoFolder>(new DemoFolder(std::move(path)));
}

DemoFolder::~DemoFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status DemoFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream file(path(name));
  file << text;
  file.close();
  if (file) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("demo: {}: write: {}", path(name), errno_words(errno)));
}

Result<std::unique_ptr<DemoProgram>> DemoProgram::start(std::vector<std::string> argv,
                                                        std::string log) {
  const std::string name = std::filesystem::path(argv.front()).filename().string();
  const Fd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (out.get() < 0)
    return fail(Code::kResourceExhausted,
                fmt::format("demo: {}: open: {}", log, errno_words(errno)));
  const pid_t pid =
      RG_TRY(start_program({.argv = std::move(argv),
                            .environment = environment_without_settings(),
                            .descriptors = {{STDOUT_FILENO, out.get()}, {STDERR_FILENO, out.get()}},
                            .detached = true,
                            .closes_others = true}));
  return std::unique_ptr<DemoProgram>(new DemoProgram(pid, name, std::move(log)));
}

DemoProgram::~DemoProgram() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  if (wait_for_end(pid_, kEndSeconds)) return;
  ::kill(pid_, SIGKILL);
  wait_for_end(pid_);
}

Status DemoProgram::check() {
  if (pid_ >= 0 && wait_for_end(pid_, 0)) pid_ = -1;
  if (pid_ >= 0) return {};
  return fail(Code::kInternal, fmt::format("demo: {} has ended: {}", name_, last_line(log_text())));
}

std::string DemoProgram::log_text() const {
  std::ifstream file(log_);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string beside_this_program(const std::string& name) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name).string();
}

}  // namespace railgauge::cli
