// analyze: works on files alone, no controller is asked.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "controller/cli/input/session.h"
#include "controller/cli/report/analysis_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using analysis::Better;

// Nothing without the flag: changes are then neither better nor worse.
Result<std::optional<Better>> direction_of(const Arguments& arguments) {
  if (!arguments.has("direction")) return std::nullopt;
  const std::string text = arguments.value("direction");
  if (text == "higher") return Better::kHigher;
  if (text == "lower") return Better::kLower;
  return fail(Code::kInvalidArgument,
              fmt::format("--direction: {} is none of higher, lower", in_quotes(text)));
}

// "-" is stdin. A directory opens without an error on Linux, so it is refused here.
Result<SeriesFile> open_series(const std::string& path) {
  if (path == "-") return read_series(std::cin, "stdin");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail(Code::kInvalidArgument, fmt::format("{}: read: Is a directory", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kNotFound, fmt::format("{}: open: {}", path, std::strerror(errno)));
  return read_series(file, path);
}

}  // namespace

// A file that cannot be read ends the verb before anything is printed.
Result<int> analyze_files(Session& session, const Arguments& arguments) {
  const std::optional<Better> better = RG_TRY(direction_of(arguments));
  if (std::ranges::count(arguments.operands, "-") > 1)
    return fail(Code::kInvalidArgument, "-: stdin can be read once");
  AnalysisReport report;
  report.set_schema_version(1);
  for (const std::string& path : arguments.operands) {
    const SeriesFile file = RG_TRY(open_series(path));
    *report.add_series() = analyse_series(path, file, better);
  }
  if (print_document(session.output, report, "series")) return kExitPassed;
  for (int i = 0; i < report.series_size(); ++i)
    session.output.out << (i > 0 ? "\n" : "")
                       << analysis_text(report.series(i), session.output.colour);
  return kExitPassed;
}

}  // namespace railgauge::cli
