// The command lines of nvbandwidth and gdrcopy, read for our kernels.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "kernels/core/base/outcome.h"
#include "kernels/core/report/report.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/tool_options.h"
#include "kernels/runner/peer_command.h"
#include "kernels/runner/profile_run.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

constexpr std::string_view kNvbandwidth = "nvbandwidth";
constexpr std::string_view kGdrcopy = "gdrcopy";
// nvbandwidth's -b counts in it.
constexpr std::uint64_t kMib = 1U << 20U;
// Bounds of the flags, above all sensible values.
constexpr double kMaxBufferMib = 1 << 20;
constexpr std::uint64_t kMostBufferMib = 1024;  // where our kernels' sizes end
constexpr double kMaxBytes = 1 << 30;
constexpr double kMaxSamples = 1e6;
constexpr double kMaxIterations = 1e7;
constexpr int kMaxGpu = 255;
constexpr double kMaxDataBytes = 64 << 20;
constexpr double kMaxThreads = 1024;
// gdrcopy's words for a place, a mapping and a call.
const std::vector<std::string> kPlaces{"gpumem", "hostmem"};
const std::vector<std::string> kMappings{"default", "wc", "cache", "device"};
const std::vector<std::string> kAllocations{"cuMemAlloc", "cuMemCreate"};

// The command line of either tool, as typed.
struct Flags {
  // Both tools' flags. Counts are 0 where they are not given.
  std::vector<std::string> tests;
  std::uint64_t buffer_mib = 0;
  std::uint64_t samples = 0;
  int gpu = 0;
  bool adaptive = false;
  bool list = false;
  // nvbandwidth's.
  std::vector<std::string> prefixes;
  std::uint64_t loop_count = 0;
  bool skip_verification = false;
  bool disable_affinity = false;
  bool huge_pages = false;
  std::vector<std::string> pair;
  bool json = false;
  // gdrcopy's; 0: not given.
  std::uint64_t size_bytes = 0;
  std::uint64_t copy_bytes = 0;
  std::uint64_t writes = 0;
  std::uint64_t reads = 0;
  std::uint64_t iterations = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t timeout = 0;  // seconds
  std::uint64_t offset = 0;
  std::uint64_t threads = 0;
  std::uint64_t producer = 0;  // pplat's mode: 1, the GPU
  bool cold = false;
  std::string gpu_flag, cpu_flag, data_place, mapping, allocation;
  // Accepted only as 1, the number that our kernels use.
  std::uint64_t one = 1;
  // Accepted, and without effect.
  bool verbose = false;
  bool with_memcpy = false;
  std::vector<std::string> set;
  std::string deadline = canonical_duration(kDefaultDeadlineSeconds * 1e9);
  std::string format = "table";
};

bool is_nvbandwidth(const std::string& name) { return name == kNvbandwidth; }

// The tool's own number.
constexpr const char* kThreadsOfPplat = "1024";

// A whole number from 1 to `most`.
void declare_number(CLI::App& app, const char* name, std::uint64_t& value, double most,
                    const char* what) {
  app.add_option(name, value, what)->type_name("N")->check(CLI::Range(1.0, most).description(""));
}

// One of the tool's words.
void declare_word(CLI::App& app, const char* name, std::string& value,
                  const std::vector<std::string>& words, const char* what) {
  app.add_option(name, value, what)->type_name("WORD")->check(CLI::IsMember(words).description(""));
}

// Names and letters are nvbandwidth's own.
void declare_nvbandwidth(CLI::App& app, Flags& flags) {
  constexpr int kAnyNumber = -1;
  const auto words = [&app](const char* name, std::vector<std::string>& value, const char* what) {
    app.add_option(name, value, what)
        ->type_name("TEST")
        ->expected(kAnyNumber)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  words("-t,--testcase", flags.tests, "Tests to run, by name or number");
  words("-p,--testcasePrefixes", flags.prefixes, "Tests to run, by how their names begin");
  app.add_option("-b,--bufferSize", flags.buffer_mib, "Bytes of one copy, in MiB (default 512)")
      ->type_name("MIB")
      ->check(CLI::Range(1.0, kMaxBufferMib).description(""));
  declare_number(app, "-i,--testSamples", flags.samples, kMaxSamples,
                 "Samples of 16 copies each (default 3)");
  declare_number(app, "--loopCount", flags.loop_count, kMaxIterations,
                 "Copies in one sample (default 16)");
  app.add_flag("-s,--skipVerification", flags.skip_verification, "Compare no bytes");
  app.add_flag("-d,--disableAffinity", flags.disable_affinity, "CPU and memory of any NUMA node");
  app.add_option("--pair", flags.pair, "Tests between two GPUs: these two alone, by UUID")
      ->type_name("UUID")
      ->expected(2);
  app.add_flag("-H,--useHugePages", flags.huge_pages, "The host's memory in huge pages of 2 MiB");
  app.add_flag("-j,--json", flags.json, "As --format json");
  app.add_flag("-v,--verbose", flags.verbose, "Accepted; changes nothing");
  app.add_flag("-l,--list", flags.list, "Print the tests");
}

// Each of gdrcopy's programs has its own letters; the same letter means different things.
void declare_gdrcopy(CLI::App& app, const std::string& test, Flags& flags) {
  app.add_option("-d", flags.gpu, "GPU to use (default 0)")
      ->type_name("N")
      ->check(CLI::Range(0, kMaxGpu).description(""));
  if (test == "sanity") app.add_flag("-v", flags.verbose, "Accepted; changes nothing");
  if (test == "pplat") {
    declare_number(app, "-t", flags.iterations, kMaxIterations, "Round trips (default 1000)");
    declare_number(app, "-B", flags.one, 1, "Blocks that answer: 1 alone, the tool has 8");
    declare_number(app, "-T", flags.threads, kMaxThreads, "Threads of the block (default 1024)");
    app.add_option("-s", flags.data_bytes, "Bytes of data beside each flag (default 0)")
        ->type_name("N")
        ->check(CLI::Range(0.0, kMaxDataBytes).description(""));
    app.add_option("-m", flags.producer, "Who makes the data: 0, the CPU (default), or 1, the GPU")
        ->type_name("N")
        ->check(CLI::Range(0, 1).description(""));
    declare_word(app, "-G", flags.gpu_flag, kPlaces, "Memory of the GPU's flag (default gpumem)");
    declare_word(app, "-C", flags.cpu_flag, kPlaces, "Memory of the CPU's flag (default hostmem)");
    declare_word(app, "-D", flags.data_place, kPlaces, "Memory of the data (default gpumem)");
    app.add_option("-u", flags.timeout, "Seconds for all of it; 0: as --deadline")
        ->type_name("N")
        ->check(CLI::Range(0.0, kMaxBytes).description(""));
  }
  if (test != "sanity") {
    declare_word(app, "-M", flags.mapping, kMappings, "How the CPU's side is cached");
    declare_word(app, "-a", flags.allocation, kAllocations, "The call that makes GPU memory");
  }
  if (test == "apiperf")
    declare_number(app, "-n", flags.iterations, kMaxIterations, "Mappings (default 100)");
  if (test == "copybw" || test == "copylat") {
    declare_number(app, "-w", flags.writes, kMaxIterations, "Writes of a size (default 10000)");
    declare_number(app, "-r", flags.reads, kMaxIterations, "Reads of a size (default 100)");
  }
  if (test == "copybw") {
    declare_number(app, "-s", flags.size_bytes, kMaxBytes, "Bytes mapped (default 131072)");
    declare_number(app, "-c", flags.copy_bytes, kMaxBytes, "Bytes of one copy (default: all)");
    app.add_option("-o", flags.offset, "Where a copy begins, a multiple of 4 (default 0)")
        ->type_name("N")
        ->check(CLI::Range(0.0, kMaxBytes).description(""));
  }
  if (test == "copylat") {
    app.add_flag("-c", flags.with_memcpy, "Accepted; changes nothing");
    app.add_flag("-C", flags.cold, "The GPU writes the memory before each copy");
  }
  if (test == "copylat" || test == "apiperf")
    declare_number(app, "-s", flags.size_bytes, kMaxBytes, "Largest size in bytes");
}

// The tool's flags, and ours beside them.
void declare(CLI::App& app, const std::string& name, Flags& flags) {
  if (is_nvbandwidth(name)) {
    declare_nvbandwidth(app, flags);
  } else {
    declare_gdrcopy(app, name.substr(kGdrcopy.size() + 1), flags);
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
  app.add_option(is_nvbandwidth(name) ? "-F,--format" : "--format", flags.format,
                 is_nvbandwidth(name) ? "table (or text), json or csv" : "table, json or csv")
      ->type_name("FORMAT")
      ->capture_default_str();
}

// nvbandwidth's tests of several processes are kernels of several ranks here, and no part of a run
// over one process's GPUs. Returns the command line that measures one; "" for any other test.
std::string command_of_multinode(std::string_view test) {
  struct Several {
    std::string_view stem;
    std::string_view command;
  };
  constexpr std::array kSeveral{
      Several{"device_to_device_memcpy_read", "cuda.rank_copy_bw --ranks 2 --set direction=read"},
      Several{"device_to_device_memcpy_write", "cuda.rank_copy_bw --ranks 2 --set direction=write"},
      Several{"device_to_device_bidirectional_memcpy_read",
              "cuda.ranks_copy_bw --ranks 2 --set pattern=both_read"},
      Several{"device_to_device_bidirectional_memcpy_write",
              "cuda.ranks_copy_bw --ranks 2 --set pattern=both_write"},
      Several{"device_to_device_all_to_one_write",
              "cuda.ranks_copy_bw --ranks N --set pattern=all_to_one"},
      Several{"device_to_device_all_from_one_read",
              "cuda.ranks_copy_bw --ranks N --set pattern=all_from_one"},
      Several{"device_to_device_broadcast_one_to_all",
              "cuda.broadcast_bw --ranks N --set multicast=allow --set pattern=one_to_all"},
      Several{"device_to_device_broadcast_all_to_all",
              "cuda.broadcast_bw --ranks N --set multicast=allow --set pattern=all_to_all"},
      Several{"bisect_write", "cuda.ranks_copy_bw --ranks N --set pattern=bisect"}};
  constexpr std::string_view kBegin = "multinode_";
  constexpr std::size_t kEngine = 3;  // "_ce", "_sm"
  if (!test.starts_with(kBegin) || !(test.ends_with("_ce") || test.ends_with("_sm"))) return "";
  const std::string_view stem = test.substr(kBegin.size(), test.size() - kBegin.size() - kEngine);
  const auto found = std::ranges::find(kSeveral, stem, &Several::stem);
  if (found == kSeveral.end()) return "";
  return fmt::format("railgauge-runner {} --set engine={}", found->command,
                     test.substr(test.size() - 2));
}

// By name or by the number that -l prints.
Result<std::string> test_named(const std::string& word, const std::vector<std::string>& all) {
  if (const auto number = parse_integer(word)) {
    const auto numbered = peer_tests_by_number(kNvbandwidth);
    if (*number < 0 || *number >= static_cast<std::int64_t>(numbered.size()))
      return invalid("test {} is not 0 to {}", *number, numbered.size() - 1);
    return test_named(numbered[static_cast<std::size_t>(*number)], all);
  }
  if (const std::string_view why = why_left_out(word); !why.empty())
    return invalid("test {} is not measured here: {}", word, why);
  if (std::ranges::find(all, word) != all.end()) return word;
  if (const std::string command = command_of_multinode(word); !command.empty())
    return invalid("test {} is of several processes, which are ranks here: {}", word, command);
  return invalid("test {} is unknown; -l lists them{}", in_quotes(word), did_you_mean(word, all));
}

// Prints one line on stderr for a flag that cannot do here what it does in the tool.
void info(std::string_view text) { fmt::print(stderr, "info: {}\n", printable(text)); }

// Sets the parameter of one of the tool's flags, unless --set names it.
void set_default(ProfileOptions& options, const std::string& name, const std::string& value) {
  options.parameters.try_emplace(name, value);
}

// Where and how memory is mapped, and pplat's roles.
void take_places(const Flags& flags, ProfileOptions& options) {
  const auto place = [&options](const std::string& word, const char* name) {
    if (!word.empty()) set_default(options, name, word == "gpumem" ? "gpu" : "host");
  };
  place(flags.gpu_flag, "flag_memory");
  place(flags.cpu_flag, "answer_memory");
  place(flags.data_place, "data_memory");
  if (flags.data_bytes > 0) set_default(options, "data", canonical_bytes(flags.data_bytes));
  if (flags.producer == 1) set_default(options, "data_from", "gpu");
  if (flags.threads > 0) set_default(options, "threads", std::to_string(flags.threads));
  if (flags.offset > 0) set_default(options, "offset", canonical_bytes(flags.offset));
  if (flags.cold) set_default(options, "cache", "cold");
  const std::map<std::string, std::string> words{
      {"wc", "write_combined"}, {"cache", "cached"}, {"device", "device"}};
  if (const auto word = words.find(flags.mapping); word != words.end())
    set_default(options, "mapping", word->second);
  if (flags.allocation == "cuMemCreate") set_default(options, "allocation", "create");
}

// Counts and sizes of gdrcopy as our parameters. Flags that we cannot honour print one line.
Status take_gdrcopy(const Flags& flags, ProfileOptions& options) {
  const std::string& test = options.tests.front();
  if (flags.adaptive && flags.writes + flags.reads + flags.iterations > 0)
    return invalid("counts (-w, -r, -t, -n) and --adaptive exclude each other");
  if (flags.copy_bytes > 0 && flags.size_bytes > 0 && flags.copy_bytes > flags.size_bytes)
    return invalid("-c: more than the bytes mapped (-s)");
  if (flags.writes > 0) options.writes = flags.writes;
  if (flags.reads > 0) options.reads = flags.reads;
  if (flags.iterations > 0) set_default(options, "iterations", std::to_string(flags.iterations));
  take_places(flags, options);
  if (test == "pplat") set_default(options, "threads", kThreadsOfPplat);
  if (flags.timeout > 0) options.deadline_seconds = static_cast<double>(flags.timeout);
  if (flags.verbose) info("-v changes nothing here");
  if (flags.with_memcpy) info("-c changes nothing here: bar.crossover measures cuMemcpy beside it");
  if (test == "copybw") {
    const std::uint64_t bytes = flags.copy_bytes > 0 ? flags.copy_bytes : flags.size_bytes;
    if (bytes > 0) set_default(options, "sizes", canonical_bytes(bytes));
    if (flags.copy_bytes > 0 && flags.size_bytes > flags.copy_bytes)
      info("-s changes nothing beside -c: what is copied is mapped");
  } else if (flags.size_bytes > 0) {
    const std::uint64_t last = std::bit_floor(flags.size_bytes);
    if (last != flags.size_bytes) info(fmt::format("sizes double and end at {} B", last));
    const char* first = test == "apiperf" ? "64KiB" : "1";
    set_default(options, "sizes", fmt::format("{}:{}", first, canonical_bytes(last)));
  }
  return {};
}

// Tests by name and by prefix, and nvbandwidth's counts as our parameters.
Status take_nvbandwidth(const Flags& flags, ProfileOptions& options) {
  const auto all = peer_test_names(kNvbandwidth);
  for (const std::string& word : flags.tests)
    options.tests.push_back(RG_TRY(test_named(word, all)));
  for (const std::string& prefix : flags.prefixes) {
    const std::size_t before = options.tests.size();
    for (const std::string& test : all)
      if (test.starts_with(prefix)) options.tests.push_back(test);
    if (options.tests.size() == before)
      return invalid("no test begins with {}; -l lists them", in_quotes(prefix));
  }
  if (options.tests.empty()) options.tests = all;
  if (flags.buffer_mib > kMostBufferMib)
    return invalid("-b {}: sizes end at 1 GiB here, -b 1024", flags.buffer_mib);
  if (flags.buffer_mib > 0) options.buffer_bytes = flags.buffer_mib * kMib;
  if (flags.samples > 0) options.samples = flags.samples;
  if (flags.samples > 0 && flags.adaptive)
    return invalid("--testSamples and --adaptive exclude each other");
  if (flags.loop_count > 0) set_default(options, "copies", std::to_string(flags.loop_count));
  if (flags.skip_verification) set_default(options, "verify", "false");
  if (flags.disable_affinity) set_default(options, "numa", "any");
  if (!flags.pair.empty()) options.pair = flags.pair[0] + "," + flags.pair[1];
  for (const std::string& uuid : flags.pair)
    if (!uuid.starts_with("GPU-"))
      return invalid("--pair: {} is no UUID of a GPU; `nvidia-smi -L` lists them", in_quotes(uuid));
  if (flags.huge_pages) set_default(options, "host_memory", "huge");
  if (flags.verbose) info("-v changes nothing here");
  if (flags.json) info("-j prints railgauge's document, not nvbandwidth's");
  return {};
}

// kInvalidArgument for flags that exclude each other.
Result<ProfileOptions> options_of(const std::string& name, const Flags& flags) {
  ProfileOptions options{.name = name,
                         .tool = std::string(is_nvbandwidth(name) ? kNvbandwidth : kGdrcopy),
                         .tests = {}};
  options.deadline_seconds = RG_TRY(option_seconds("--deadline", flags.deadline));
  // The last --set of a name counts.
  for (const std::string& text : flags.set) {
    const auto [key, value] = RG_TRY(read_setting(text));
    options.parameters[key] = value;
  }
  options.adaptive = flags.adaptive;
  if (is_nvbandwidth(name)) {
    RG_TRY_OK(take_nvbandwidth(flags, options));
    return options;
  }
  options.tests = {name.substr(kGdrcopy.size() + 1)};
  options.endpoint = fmt::format("gpu{}", flags.gpu);
  RG_TRY_OK(take_gdrcopy(flags, options));
  return options;
}

// Parses the parameters of every task, so that a setting which a kernel would refuse is refused
// before any of them runs.
Status check_parameters(const ProfileOptions& options, const ProfileHost& host) {
  constexpr int kAnyNumber = 1;
  // The parameters do not depend on the number of GPUs.
  for (const ProfileTask& task : profile_tasks(options, host.find, kAnyNumber))
    if (const KernelRow* row = host.find(task.row->kernel))
      RG_TRY_OK(Params::parse(row->info(), task.parameters));
  return {};
}

// The notes of all tasks of a test.
void print_notes(const ProfileTest& test) {
  for (const ProfileFigure& figure : test.figures())
    for (const RunnerReport& report : figure.reports())
      for (const Note& note : report.notes())
        fmt::print(stderr, "{}: {} {}: {}\n", note.severity(), test.test(),
                   report.started().endpoint(), printable(note.text()));
}

// With --format table each test is printed as it ends; a document is printed as a whole.
int run_and_print(const ProfileOptions& options, const ProfileHost& host, Format format) {
  block_ending_signals();
  // Documents are for programs, so nothing is printed before they are complete.
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

// gdrcopy's tests are programs of their own, nvbandwidth's are not.
std::vector<std::string> profile_names() {
  std::vector<std::string> names{std::string(kNvbandwidth)};
  for (const std::string& test : peer_test_names(kGdrcopy))
    names.push_back(fmt::format("{}_{}", kGdrcopy, test));
  return names;
}

// CLI11 takes the words from the back, and reports --help and errors as exceptions.
std::optional<int> parse_flags(CLI::App& app, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", folded_help(app.help()));
    return kExitPassed;
  } catch (const CLI::ParseError& error) {
    return report_wrong_use(error.what());
  }
  return std::nullopt;
}

int run_profile_command(const std::string& name, const std::vector<std::string>& arguments,
                        const ProfileHost& host) {
  Flags flags;
  CLI::App app{fmt::format("Measures what {} measures, by our kernels, in its units.", name), name};
  declare(app, name, flags);
  if (const auto ended = parse_flags(app, arguments)) return *ended;
  if (flags.list) {
    int number = 0;
    for (const std::string& test : peer_tests_by_number(kNvbandwidth)) {
      const std::string_view why = why_left_out(test);
      fmt::print("{:>2}  {}{}{}\n", number++, test, why.empty() ? "" : ": not measured: ", why);
    }
    return kExitPassed;
  }
  if (is_nvbandwidth(name) && flags.format == "text") flags.format = "table";
  const auto format = parse_format(flags.json ? "json" : flags.format);
  if (!format) return report_wrong_use(format.error().message);
  // A profile's tests have no order of records that a stream could follow.
  if (*format == Format::kNdjson) return report_wrong_use("a profile prints table, json or csv");
  const auto options = options_of(name, flags);
  if (!options) return report_wrong_use(options.error().message);
  if (const Status sound = check_parameters(*options, host); !sound)
    return report_wrong_use(sound.error().message);
  return run_and_print(*options, host, *format);
}

}  // namespace railgauge
