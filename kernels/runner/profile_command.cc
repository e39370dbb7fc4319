#include "kernels/runner/profile_command.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "kernels/core/json.h"
#include "kernels/core/outcome.h"
#include "kernels/core/text.h"
#include "kernels/core/units.h"
#include "kernels/runner/report.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/watchdog.h"

namespace railgauge {
namespace {

constexpr std::string_view kNvbandwidth = "nvbandwidth";
constexpr std::string_view kGdrcopy = "gdrcopy";
constexpr std::uint64_t kMib = 1U << 20U;
constexpr double kMaxBufferMib = 1 << 20;
constexpr double kMaxSamples = 1e6;
constexpr int kMaxGpu = 255;

struct Flags {
  std::vector<std::string> tests;
  std::uint64_t buffer_mib = 0;
  std::uint64_t samples = 0;
  int gpu = 0;
  bool adaptive = false;
  bool list = false;
  std::vector<std::string> set;
  std::string deadline = canonical_duration(kDefaultDeadlineSeconds * 1e9);
  std::string format = "table";
};

bool is_nvbandwidth(const std::string& name) { return name == kNvbandwidth; }

void declare(CLI::App& app, const std::string& name, Flags& flags) {
  if (is_nvbandwidth(name)) {
    app.add_option("-t,--testcase", flags.tests, "Test to run, by name or number; repeat for more")
        ->type_name("TEST")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("-b,--bufferSize", flags.buffer_mib, "Bytes of one copy, in MiB (default 512)")
        ->type_name("MIB")
        ->check(CLI::Range(1.0, kMaxBufferMib).description(""));
    app.add_option("-i,--testSamples", flags.samples, "Samples of 16 copies each (default 3)")
        ->type_name("N")
        ->check(CLI::Range(1.0, kMaxSamples).description(""));
    app.add_flag("-l,--list", flags.list, "Print the tests");
  } else {
    app.add_option("-d", flags.gpu, "GPU to use (default 0)")
        ->type_name("N")
        ->check(CLI::Range(0, kMaxGpu).description(""));
  }
  app.add_flag("--adaptive", flags.adaptive,
               "Measure until the interval is narrow, instead of the tool's counts");
  app.add_option("--set", flags.set, "A parameter for every kernel that has it, as KEY=VALUE")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--deadline", flags.deadline, "Longest time for one kernel")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--format", flags.format, "table, json or csv")
      ->type_name("FORMAT")
      ->capture_default_str();
}

Result<std::string> test_named(const std::string& word, const std::vector<std::string>& all) {
  if (const auto number = parse_integer(word)) {
    if (*number >= 0 && *number < static_cast<std::int64_t>(all.size()))
      return all[static_cast<std::size_t>(*number)];
    return fail(Code::kInvalidArgument,
                fmt::format("test {} is not 0 to {}", *number, all.size() - 1));
  }
  if (std::ranges::find(all, word) != all.end()) return word;
  return fail(Code::kInvalidArgument, fmt::format("test {} is unknown; -l lists them{}",
                                                  in_quotes(word), did_you_mean(word, all)));
}

Result<std::map<std::string, std::string>> parameters_of(const std::vector<std::string>& set) {
  std::map<std::string, std::string> out;
  for (const std::string& pair : set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::kInvalidArgument,
                  fmt::format("--set {} is not KEY=VALUE", in_quotes(pair)));
    out[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return out;
}

Result<ProfileOptions> options_of(const std::string& name, const Flags& flags) {
  ProfileOptions options{.name = name,
                         .tool = std::string(is_nvbandwidth(name) ? kNvbandwidth : kGdrcopy),
                         .tests = {}};
  const double deadline_ns = RG_TRY(parse_duration_ns(flags.deadline));
  if (deadline_ns <= 0) return fail(Code::kInvalidArgument, "--deadline: must be above 0");
  options.deadline_seconds = deadline_ns / 1e9;
  options.parameters = RG_TRY(parameters_of(flags.set));
  options.adaptive = flags.adaptive;
  if (!is_nvbandwidth(name)) {
    options.tests = {name.substr(kGdrcopy.size() + 1)};
    options.endpoint = fmt::format("gpu{}", flags.gpu);
    return options;
  }
  const auto all = peer_test_names(kNvbandwidth);
  for (const std::string& word : flags.tests)
    options.tests.push_back(RG_TRY(test_named(word, all)));
  if (options.tests.empty()) options.tests = all;
  if (flags.buffer_mib > 0) options.buffer_bytes = flags.buffer_mib * kMib;
  if (flags.samples > 0) options.samples = flags.samples;
  if (flags.samples > 0 && flags.adaptive)
    return fail(Code::kInvalidArgument, "--testSamples and --adaptive exclude each other");
  return options;
}

// What a kernel would refuse is refused before any of them runs.
Status check_parameters(const ProfileOptions& options, const ProfileHost& host) {
  constexpr int kAnyNumber = 1;
  for (const ProfileTask& task : profile_tasks(options, host.find, kAnyNumber))
    if (const KernelRow* row = host.find(task.row->kernel))
      RG_TRY_OK(Params::parse(row->info(), task.parameters));
  return {};
}

int wrong_use(const std::string& message) {
  fmt::print(stderr, "railgauge-runner: {}\n", message);
  return kExitUsage;
}

void print_notes(const ProfileTest& test) {
  for (const ProfileFigure& figure : test.figures())
    for (const RunnerReport& report : figure.reports())
      for (const Note& note : report.notes())
        fmt::print(stderr, "{}: {} {}: {}\n", note.severity(), test.test(),
                   report.started().endpoint(), note.text());
}

int run_and_print(const ProfileOptions& options, const ProfileHost& host, Format format) {
  block_ending_signals();
  const bool table = format == Format::kTable;
  if (table)
    fmt::print("railgauge {}: the tests of {} by our kernels{}\n\n", RAILGAUGE_VERSION,
               options.name, options.adaptive ? "" : ", with its sizes and counts");
  const ProfileEnd end = run_profile(options, host, [&](const ProfileTest& test) {
    if (!table) return;
    print_notes(test);
    fmt::print("{}", profile_test_text(test, options.tool));
    std::fflush(stdout);
  });
  fmt::print("{}", table                    ? profile_summary(end.report)
                   : format == Format::kCsv ? profile_csv(end.report)
                                            : to_json(end.report) + '\n');
  return end.exit_code;
}

}  // namespace

std::vector<std::string> profile_names() {
  std::vector<std::string> names{std::string(kNvbandwidth)};
  for (const std::string& test : peer_test_names(kGdrcopy))
    names.push_back(fmt::format("{}_{}", kGdrcopy, test));
  return names;
}

ProfileCall profile_call(std::span<char* const> argv) {
  const auto names = profile_names();
  for (std::size_t i = 0; i < std::min<std::size_t>(argv.size(), 2); ++i) {
    std::string word = argv[i];
    if (i == 0) word = word.substr(word.rfind('/') + 1);
    if (std::ranges::find(names, word) == names.end()) continue;
    return {.name = word,
            .arguments = {argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end()}};
  }
  return {};
}

int run_profile_command(const ProfileCall& call, const ProfileHost& host) {
  Flags flags;
  CLI::App app{fmt::format("Measures what {} measures, by our kernels, in its units.", call.name),
               call.name};
  declare(app, call.name, flags);
  std::vector<std::string> reversed(call.arguments.rbegin(), call.arguments.rend());
  try {
    app.parse(reversed);  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return kExitPassed;
  } catch (const CLI::ParseError& error) {
    return wrong_use(error.what());
  }
  if (flags.list) {
    int number = 0;
    for (const std::string& test : peer_test_names(kNvbandwidth))
      fmt::print("{:>2}  {}\n", number++, test);
    return kExitPassed;
  }
  const auto format = parse_format(flags.format);
  if (!format) return wrong_use(format.error().message);
  if (*format == Format::kNdjson) return wrong_use("a profile prints table, json or csv");
  const auto options = options_of(call.name, flags);
  if (!options) return wrong_use(options.error().message);
  if (const Status sound = check_parameters(*options, host); !sound)
    return wrong_use(sound.error().message);
  return run_and_print(*options, host, *format);
}

}  // namespace railgauge
