#include "agent/preflight/command.h"

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "agent/preflight/report.h"
#include "agent/preflight/text.h"
#include "controller/api/preflight.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

std::vector<std::string> words_in(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Returns the stored answers; none for a tree of files, which is another machine.
ProbeMemory memory_of(const PreflightCommand& command, const std::string& state_folder) {
  std::error_code ignored;
  if (!command.root.empty() || !std::filesystem::is_directory(state_folder, ignored)) return {};
  return ProbeMemory(state_folder, [](const Error& error) {
    fmt::print(stderr, "railgauge-agent: {}; these answers are not kept for later\n",
               error.message);
  });
}

}  // namespace

int run_preflight_command(const PreflightCommand& command, const std::string& node_name,
                          const std::string& runner, const std::string& state_folder) {
  PreflightOptions options{.node_name = node_name,
                           .inventory = {.root = command.root},
                           .require = words_in(command.require),
                           .probe = command.probe,
                           .runner = runner};
  if (const auto unknown = unknown_checks(options.require); !unknown.empty()) {
    std::vector<std::string> ids;
    for (const Check& check : all_checks()) ids.emplace_back(check.id);
    fmt::print(stderr, "railgauge-agent: --require: there is no check {}{}\n",
               in_quotes(unknown.front()), did_you_mean(unknown.front(), ids));
    return kExitUsage;
  }
  ProbeMemory memory = memory_of(command, state_folder);
  const api::PreflightReport report = run_preflight(options, memory);
  fmt::print("{}", command.format == "json" ? to_json(report) + "\n" : preflight_text(report));
  return api::preflight_exit_code(report, {.require = options.require, .strict = command.strict});
}

}  // namespace railgauge::agent
