#include "controller/plan/suite/suite_folder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::string_view kSuffix = ".yaml";

// The problem as the API message.
api::SuiteProblem to_api(const plan::SuiteProblem& problem) {
  api::SuiteProblem out;
  out.set_file(problem.file);
  out.set_line(problem.line);
  out.set_column(problem.column);
  out.set_key(problem.key);
  out.set_message(problem.message);
  return out;
}

// Splits "fabric:3/96" into the name and the slice, "" for none. A source that does not look so is
// returned whole as the name; no suite has such a name.
std::pair<std::string, std::string> parts_of(const std::string& source) {
  const std::size_t colon = source.find(':');
  if (colon == std::string::npos ||
      source.find_first_not_of("0123456789/", colon + 1) != std::string::npos)
    return {source, ""};
  return {source.substr(0, colon), source.substr(colon + 1)};
}

}  // namespace

Result<std::string> SuiteFolder::text_beside(std::string_view name) const {
  return read_whole_file(fmt::format("{}/{}", folder_, name), plan::kMaxSuiteBytes);
}

// An unreadable folder has no suites.
std::vector<std::string> SuiteFolder::names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder_, error);
       !error && entry != std::filesystem::directory_iterator() && names.size() < kMaxSuites;
       entry.increment(error))
    if (entry->path().extension() == kSuffix) names.push_back(entry->path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string SuiteFolder::path_of(std::string_view name) const {
  return fmt::format("{}/{}{}", folder_, name, kSuffix);
}

// A text in the source wins over a name. A name must be in the listed folder, so a path cannot
// leave it.
Result<SuiteFolder::Text> SuiteFolder::text_of(const api::SuiteSource& source) const {
  if (!source.text().empty()) {
    if (source.text().size() > plan::kMaxSuiteBytes)
      return fail(
          Code::kInvalidArgument,
          fmt::format("the suite is larger than {} bytes, its limit", plan::kMaxSuiteBytes));
    return Text{source.text(), source.file_name().empty() ? "suite" : source.file_name()};
  }
  const auto [name, slice] = parts_of(source.name());
  const std::vector<std::string> known = names();
  if (std::ranges::find(known, name) == known.end())
    return fail(Code::kInvalidArgument, fmt::format("suite {} is not in {}{}", in_quotes(name),
                                                    folder_, did_you_mean(name, known)));
  const std::string path = path_of(name);
  std::string text = RG_TRY(read_whole_file(path, plan::kMaxSuiteBytes));
  // The slice is a key of the text, so that it is stored with the run and a stopped run can resume.
  if (!slice.empty()) text += fmt::format("\nslice: {}\n", slice);
  return Text{std::move(text), path};
}

// Problems of the suite are part of the result; only a source without text is an error.
Result<api::SuiteCheck> SuiteFolder::check(const api::SuiteSource& source,
                                           std::span<const KernelInfo> kernels) const {
  const Text text = RG_TRY(text_of(source));
  const plan::SuiteReading reading = plan::read_suite(text.text, text.file_name, kernels);
  auto check = new_document<api::SuiteCheck>();
  check.set_ok(reading.problems.empty());
  check.set_kernels_checked(reading.kernels_checked);
  for (const plan::SuiteProblem& problem : reading.problems)
    *check.add_problems() = to_api(problem);
  api::SuiteInfo& suite = *check.mutable_suite();
  suite.set_name(source.name());
  suite.set_path(text.file_name);
  if (reading.suite) {
    suite.set_name(reading.suite->name);
    suite.set_summary(reading.suite->summary);
    suite.set_stages(static_cast<std::uint32_t>(reading.suite->stages.size()));
  } else {
    suite.set_error(plan::error_of(reading.problems).message);
  }
  return check;
}

}  // namespace railgauge
