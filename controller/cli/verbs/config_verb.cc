// config
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/input/unit_environment.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

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

// The answer of one program.
struct CheckedProgram {
  std::string name{};  // "railgauge-agent"
  std::string text{};  // its lines of --check-config
  std::string fault{};
  int exit_code = 0;  // kExitInvalid when a signal ended it
};

// Runs the program with --check-config. Its fault goes to stderr at once, or into the answer with
// `keeps_fault`: a document has the fault too.
Result<CheckedProgram> check_settings_of(const std::filesystem::path& program,
                                         const std::string& file, bool keeps_fault) {
  auto environment = RG_TRY(environment_of(file));
  PipeEnds pipe = RG_TRY(make_pipe());
  // A file in memory: a second pipe could fill while the first is read.
  const Fd faults(keeps_fault ? ::memfd_create("faults", MFD_CLOEXEC) : -1);
  std::map<int, int> descriptors{{STDOUT_FILENO, pipe.write.get()}};
  if (faults.get() >= 0) descriptors[STDERR_FILENO] = faults.get();
  const pid_t child = RG_TRY(start_program({.argv = {program.string(), "--check-config"},
                                            .environment = std::move(environment),
                                            .descriptors = std::move(descriptors)}));
  pipe.write.reset();  // or reading would never end
  CheckedProgram checked{.name = program.filename().string()};
  read_available(pipe.read.get(), kMostSettingsBytes, checked.text);
  pipe.read.reset();  // one that still prints gets SIGPIPE
  const int status = wait_for_end(child).value_or(0);
  checked.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kExitInvalid;
  if (faults.get() < 0) return checked;
  ::lseek(faults.get(), 0, SEEK_SET);
  read_available(faults.get(), kMostSettingsBytes, checked.fault);
  checked.fault = trimmed(checked.fault.substr(0, checked.fault.find('\n')));
  return checked;
}

// A line "key = value  # source", as both programs print it. The value may have a "#" of its own,
// so the source is behind the last one. The parts refer to the line.
struct SettingLine {
  std::string_view key{};
  std::string_view value{};
  std::string_view source{};
};
// Absent for a remark and for a line of another form.
std::optional<SettingLine> setting_of(std::string_view line) {
  const std::size_t equals = line.find(" = ");
  const std::size_t source = line.rfind("  # ");
  if (line.starts_with('#') || equals == line.npos || source == line.npos) return std::nullopt;
  return SettingLine{line.substr(0, equals), line.substr(equals + 3, source - equals - 3),
                     line.substr(source + 4)};
}

// One program of the document, in one line. Lines that are no setting are its remarks.
std::string json_of(const CheckedProgram& checked) {
  std::vector<std::string> settings;
  std::vector<std::string> remarks;
  for (const std::string_view line : split_lines(checked.text)) {
    if (const auto setting = setting_of(line))
      settings.push_back(fmt::format(R"({{"key": {}, "value": {}, "source": {}}})",
                                     json_string(setting->key), json_string(setting->value),
                                     json_string(setting->source)));
    else
      remarks.push_back(json_string(line.starts_with("# ") ? line.substr(2) : line));
  }
  return fmt::format(
      R"({{"program": {}, "exit_code": {}, "fault": {}, "settings": [{}], "remarks": [{}]}})",
      json_string(checked.name), checked.exit_code,
      checked.fault.empty() ? "null" : json_string(checked.fault), fmt::join(settings, ", "),
      fmt::join(remarks, ", "));
}

// csv has a row for each setting, the other forms one for each program.
void print_checked(const Output& output, std::span<const CheckedProgram> all) {
  RowPrinter rows(output, "program,key,value,source", "\"programs\"");
  const auto nothing = [] { return ""; };
  for (const CheckedProgram& checked : all) {
    if (!checked.fault.empty()) output.err << checked.fault << '\n';
    if (output.format != Format::kCsv) rows.print(nothing, [&] { return json_of(checked); });
    for (const std::string_view line : split_lines(checked.text)) {
      const auto setting = setting_of(line);
      if (output.format != Format::kCsv || !setting) continue;
      const auto row = [&] {
        return fmt::format("{},{},{},{}", checked.name, setting->key,
                           csv_cell(std::string(setting->value)),
                           csv_cell(std::string(setting->source)));
      };
      rows.print(row, nothing);
    }
  }
  rows.end();
}

}  // namespace

// The programs read their settings themselves, as at a start, so that there is one reader. The
// files of their units' environments are systemd's to read.
Result<int> check_config(Session& session, const Arguments&) {
  const Output& output = session.output;
  const bool is_text = output.format == Format::kTable;
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<CheckedProgram> all;
  std::vector<int> codes;
  for (const std::string name : {"controller", "agent"}) {
    const auto program = folder / ("railgauge-" + name);
    if (!std::filesystem::exists(program, error)) continue;
    if (is_text) output.out << "# railgauge-" << name << '\n' << std::flush;
    all.push_back(
        RG_TRY(check_settings_of(program, fmt::format("/etc/railgauge/{}.env", name), !is_text)));
    codes.push_back(all.back().exit_code);
    if (is_text) output.out << all.back().text;
  }
  if (codes.empty())
    return fail(Code::kNotFound, fmt::format("{}: has neither railgauge-controller nor "
                                             "railgauge-agent; install one on this host",
                                             folder.string()));
  if (!is_text) print_checked(output, all);
  return combine_exit_codes(codes);
}

}  // namespace railgauge::cli
