// The runner's command line: lists and describes kernels, runs one between two terminals or alone,
// or serves an agent as its child. Only wires. peer_command.h has the command lines of other tools.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "kernels/catalog.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/group/tcp_group.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/core/text/variables.h"
#include "kernels/core/version/commit.h"
#include "kernels/peers/nccl_tests/tool_options.h"
#include "kernels/peers/osu/profile.h"
#include "kernels/peers/osu/table.h"
#include "kernels/runner/agent_task.h"
#include "kernels/runner/kernel_list.h"
#include "kernels/runner/local_ranks.h"
#include "kernels/runner/peer_command.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/task/watchdog.h"
#include "kernels/runner/world_relay.h"

namespace railgauge {
namespace {

// The command line as typed; it is checked afterwards.
struct Flags {
  // Filled in directly by flags that need no parsing.
  StandaloneOptions run;
  // The one operand.
  std::string kernel;
  bool list = false;
  std::string describe;
  bool version = false;
  // These two exclude each other; check_standalone() refuses both at once.
  std::string listen;
  std::string connect;
  std::vector<std::string> set;
  std::string deadline = canonical_duration(kDefaultDeadlineSeconds * 1e9);
  std::string format = "table";
  std::string units;
  // The agent's forms, which --help does not show.
  std::string probe;
  std::string probe_ports;
  std::string records_to;
  // The OSU program whose table is printed; "": ours.
  std::string as_osu;
  bool task = false;
  int request_fd = -1;
  int record_fd = -1;
};

// Flags of all kernels. Hidden ones are the agent's.
void add_general_flags(CLI::App& app, Flags& flags) {
  app.add_option("KERNEL", flags.kernel, "What to measure; --list names them all");
  app.add_flag("--list", flags.list, "Print every kernel");
  app.add_option("--describe", flags.describe, "Print one kernel's parameters")
      ->type_name("KERNEL");
  app.add_flag("--version", flags.version, "Print the version");
  app.add_option(
         "--listen", flags.listen,
         fmt::format("Wait for one peer on [ADDR:]PORT or ADDR (default port {}), run, exit",
                     kDefaultGroupPort))
      ->type_name("[ADDR:]PORT")
      ->expected(0, 1);
  app.add_option("--connect", flags.connect,
                 fmt::format("Measure against the listener at HOST (default port {}); this side's "
                             "parameters rule",
                             kDefaultGroupPort))
      ->type_name("HOST[:PORT]");
  app.add_flag("--keep", flags.run.keep, "With --listen: serve run after run until a signal");
  app.add_option("--ranks", flags.run.ranks,
                 "So many ranks on this host, a process each: collectives, a GPU for each")
      ->type_name("N")
      ->check(CLI::Range(1.0, static_cast<double>(kMaxLocalRanks)).description(""));
  app.add_option("--set", flags.set, "A parameter, as KEY=VALUE; repeat for more")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-d,--endpoint", flags.run.endpoint,
                 "Device and port to use; else the kernel chooses")
      ->type_name("DEV:PORT");
  app.add_option("--deadline", flags.deadline, "Longest time for one run")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_flag("--raw-samples", flags.run.raw_samples, "Keep every sample in the document");
  app.add_option("--format", flags.format, "table, json, csv or ndjson")
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_option("-o,--output", flags.run.file,
                 "Also write a document here: as --format says, else as .csv or .json")
      ->type_name("FILE");
  app.add_option("--units", flags.units,
                 "Show rates in bits or bytes; default as the kernel's kind")
      ->type_name("bits|bytes");
  // The agent's side of the contract; not for people.
  app.add_option("--probe-gpudirect", flags.probe)->group("");
  app.add_option("--probe-ports", flags.probe_ports)->group("");
  app.add_option("--records-to", flags.records_to)->group("");
  // For run_as_mpi() alone.
  app.add_option("--as-osu", flags.as_osu)->group("");
  app.add_flag("--task", flags.task)->group("");
  app.add_option("--request-fd", flags.request_fd)->group("");
  app.add_option("--record-fd", flags.record_fd)->group("");
}

// A parameter's name as a flag: underscores become dashes.
std::string flag_of(const std::string& parameter) {
  std::string flag = "--" + parameter;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// Every declared parameter is a flag too, unless a general flag has its name.
void add_parameter_flags(CLI::App& app, const KernelInfo& kernel, Flags& flags) {
  for (const ParameterInfo& parameter : kernel.parameters()) {
    // A parameter whose name is taken is still settable by --set.
    if (app.get_option_no_throw(flag_of(parameter.name())) != nullptr) continue;
    const std::string& name = parameter.name();
    const auto keep = [&flags, name](const std::vector<std::string>& values) {
      flags.run.parameters[name] = values.empty() || values.back().empty() ? "true" : values.back();
      return true;
    };
    auto* option = app.add_option(flag_of(name), keep, parameter.summary());
    option->group("Parameters of " + kernel.name())->type_name(parameter.type());
    if (parameter.type() == "boolean") option->expected(0, 1);
  }
}

// The kernel that the command line names, or nullptr. It is looked up before the parsing, since its
// parameters become flags.
const KernelRow* named_kernel(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (const KernelRow* row = find_kernel(argv[i])) return row;
  return nullptr;
}

// A parameter may be given by its flag or by --set, not by both.
Result<std::map<std::string, std::string>> parameters_of(const Flags& flags) {
  std::map<std::string, std::string> out = flags.run.parameters;
  for (const std::string& pair : flags.set) {
    auto setting = RG_TRY(read_setting(pair));
    if (out.contains(setting.first)) return invalid("parameter {} is given twice", setting.first);
    out.insert(std::move(setting));
  }
  return out;
}

// NICs are shown in bits a second, all else in bytes a second.
Result<RateUnit> rate_unit_of(const std::string& units, const KernelInfo& kernel) {
  if (units == "bits") return RateUnit::kBits;
  if (units == "bytes") return RateUnit::kBytes;
  if (!units.empty()) return invalid("units {} is not bits or bytes", in_quotes(units));
  return kernel.endpoint_kind() == "nic" ? RateUnit::kBits : RateUnit::kBytes;
}

// The format of the -o file. With a table on the terminal it follows from the file's name, else it
// is the format that was asked for.
Format file_format_of(const std::string& file, Format format) {
  if (format != Format::kTable) return format;
  return file.ends_with(".csv") ? Format::kCsv : Format::kJson;
}

// "[ADDR:]PORT". An address alone, or an empty text, takes the default port. The error is that of
// the text as it was typed.
Result<std::string> listen_address(const std::string& text) {
  if (text.empty()) return fmt::format("{}", kDefaultGroupPort);
  const auto whole = parse_listen_address(text);
  if (whole) return text;
  // A colon alone does not make a port: "::1" is an address of IPv6.
  const bool bare_ipv6 = !text.starts_with('[') && std::ranges::count(text, ':') > 1;
  const std::string with_port =
      fmt::format(fmt::runtime(bare_ipv6 ? "[{}]:{}" : "{}:{}"), text, kDefaultGroupPort);
  if (parse_listen_address(with_port)) return with_port;
  return tl::unexpected(whole.error());
}

// kInvalidArgument with one line for the terminal.
Result<StandaloneOptions> standalone_options(const CLI::App& app, const Flags& flags,
                                             const KernelRow& row) {
  // A run without a bound could hang in a driver for ever.
  const double deadline_seconds = RG_TRY(option_seconds("--deadline", flags.deadline));
  const Format format = RG_TRY(parse_format(flags.format));
  if (format == Format::kNdjson && !flags.run.file.empty())
    return invalid("--format ndjson streams to stdout; leave out -o");
  StandaloneOptions options = flags.run;
  options.row = &row;
  options.parameters = RG_TRY(parameters_of(flags));
  options.deadline_seconds = deadline_seconds;
  options.format = format;
  options.file_format = file_format_of(flags.run.file, format);
  options.style = {.rate_unit = RG_TRY(rate_unit_of(flags.units, row.info())),
                   .colour = stdout_takes_colour()};
  if (const OsuProgram* osu = find_osu_program(flags.as_osu))
    options.table = [osu](const RunnerReport& report, const TableStyle& style) {
      return osu_table(*osu, report, style);
    };
  if (app.count("--listen") > 0) options.listen = RG_TRY(listen_address(flags.listen));
  if (!flags.connect.empty())
    options.connect = RG_TRY(parse_connect_address(flags.connect, kDefaultGroupPort));
  if (flags.run.keep && !options.listen) return invalid("--keep: only with --listen");
  return options;
}

// --list and --describe share the message, so that JSON is the same for both.
int print_kernels(const Flags& flags) {
  const auto format = parse_format(flags.format);
  if (!format) return report_wrong_use(format.error().message);
  if (*format != Format::kTable && *format != Format::kJson)
    return report_wrong_use("--list and --describe print table or json");
  // --describe narrows the list to one kernel.
  KernelList list = kernel_list(catalog());
  if (!flags.describe.empty()) {
    const auto row = find_row(catalog(), flags.describe);
    if (!row) return report_wrong_use(row.error().message);
    list.clear_kernels();
    *list.add_kernels() = (*row)->info();
  }
  // The message is the same for both forms of output.
  const std::string table =
      flags.describe.empty() ? kernel_list_table(list) : kernel_description(list.kernels(0));
  fmt::print("{}", *format == Format::kJson ? to_json(list) + '\n' : table);
  return kExitPassed;
}

// The ranks of the MPI launcher that started this process; absent when none did. MPI is the calling
// process's own.
std::optional<World> mpi_ranks() {
  const auto world = mpi_world();
  if (!world) return std::nullopt;
  return World{.rank = world->rank,
               .size = world->size,
               .join = [world] { return join_mpi_world(*world); },
               .leave = leave_mpi_world};
}

// Replaces this program, which has no MPI, by the one beside it that has the launcher's. Returns
// only on failure: kFailedPrecondition, when there is none.
Status become_rank_of(const std::vector<std::string>& programs, char* const* argv) {
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const std::string& mpi : programs) {
    const std::string path = own / ("railgauge-runner-" + mpi);
    ::execv(path.c_str(), argv);
  }
  return fail(Code::kFailedPrecondition,
              "a launcher started this process as one of several ranks, and {}/railgauge-runner-{} "
              "cannot be run: {}; install it, or leave the launcher out and say --ranks N or -g N",
              own.string(), fmt::join(programs, " or -"), std::strerror(errno));
}

// The ranks of a launcher for kernels that use no MPI: a process beside this one calls it. Absent
// without a launcher. kFailedPrecondition, kUnavailable, kResourceExhausted.
Result<std::optional<World>> join_launched(char* const* argv) {
  const std::vector<std::string> programs = launcher_programs();
  if (programs.empty()) return std::optional<World>();
  if (mpi_of_program().empty()) RG_TRY_OK(become_rank_of(programs, argv));
  const auto ranks = mpi_ranks();
  if (!ranks) return std::optional<World>();
  const std::shared_ptr<WorldRelay> relay = RG_TRY(WorldRelay::start(*ranks));
  return World{.rank = ranks->rank,
               .size = ranks->size,
               .join = [relay] { return relay->group(); },
               .ended = [relay] { relay->end_task(); }};
}

// Decides how the ranks of an MPI or NCCL kernel start. A program with an MPI is one rank of a
// launcher; for an MPI kernel the program without an MPI starts the launcher. Errors as
// join_launched().
Status join_world(StandaloneOptions& options, const std::string& records_to, char* const* argv) {
  const KernelInfo info = options.row->info();
  if (info.name().starts_with("nccl.")) {
    // Ranks of its own, or a peer, on the command line of one process: not the launcher's.
    if (options.listen || options.connect || options.ranks > 1) return {};
    options.world = RG_TRY(join_launched(argv));
    return {};
  }
  if (!info.name().starts_with("mpi.")) return {};
  // The two kinds of program share one command line: this one asks a launcher to start the other.
  options.launches = mpi_of_program().empty();
  if (options.launches) return {};
  options.records_to = records_to;
  options.parameters.emplace("mpi", mpi_of_program());
  options.world = mpi_ranks();
  return {};
}

// Explains the first argument that CLI11 did not accept: a wrong flag or a second kernel. Returns
// the exit code.
int explain_extra(const CLI::App& app, const std::vector<std::string>& extras) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  // A flag's value is no part of its name.
  const std::string word = extras.front().substr(0, extras.front().find('='));
  return report_wrong_use(
      fmt::format("argument {} is unknown{}", in_quotes(word), did_you_mean(word, names)));
}

// Answers each word of a list with one line of JSON on stdout, and flushes it at once: a crash at a
// later word does not take away the answers before it.
template <class Probe>
int probe_each(std::string_view list, Probe probe) {
  if (list.empty()) return kExitPassed;
  for (const std::string_view word : split(list, ',')) {
    const auto answer = probe(word);
    fmt::print("{}\n", to_json(answer, JsonLayout::kCompact));
    std::fflush(stdout);
  }
  return kExitPassed;
}

// A misspelt RAILGAUGE_LIBNCCL would measure with another library. Rank 0 alone says so; an agent's
// child gets no variable that the agent does not name.
void report_unknown_variables(std::span<char* const> words) {
  const bool is_child = std::ranges::any_of(words, [](std::string_view word) {
    return word == "--task" || word == "--records-to" || word.starts_with("--probe-") ||
           word.starts_with("--records-to=");
  });
  const auto world = mpi_ranks();
  if (is_child || (world && world->rank != 0)) return;
  for (const std::string& line : unknown_variables(variable_names()))
    fmt::print(stderr, "info: {}\n", printable(line));
}

int run(int argc, char** argv, double entered_monotonic_ns);

// Converts another spelling of an MPI kernel ("MPI_Allreduce") or an OSU command line to ours, and
// runs it. Absent if the first argument is neither.
std::optional<int> run_as_mpi(std::span<char* const> argv, double entered_monotonic_ns) {
  if (argv.size() < 2) return std::nullopt;
  const OsuProgram* osu = find_osu_program(argv[1]);
  const OsuProgram* spelled = find_mpi_spelling(argv[1]);
  if (osu == nullptr && spelled == nullptr) return std::nullopt;
  std::vector<std::string> words(argv.begin() + 2, argv.end());
  if (osu != nullptr && std::ranges::any_of(words, [](std::string_view word) {
        return word == "-h" || word == "--help";
      })) {
    fmt::print("{}", folded_help(osu_help(*osu)));
    return kExitPassed;
  }
  if (osu != nullptr) {
    auto read = read_osu_command(*osu, words);
    if (!read) return report_wrong_use(read.error().message);
    words = std::move(*read);
    words.insert(words.end(), {"--as-osu", std::string(osu->name)});
  } else {
    words.insert(words.begin(), std::string(spelled->kernel));
  }
  words.insert(words.begin(), argv[0]);
  // argv as main() gets it, with the NULL behind the last word.
  std::vector<char*> own;
  own.reserve(words.size() + 1);
  for (std::string& word : words) own.push_back(word.data());
  own.push_back(nullptr);
  return run(static_cast<int>(words.size()), own.data(), entered_monotonic_ns);
}

// In this order: another tool's name, information, the agent's forms, one run.
int run(int argc, char** argv, double entered_monotonic_ns) {
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  if (const auto ended = run_as_mpi(words, entered_monotonic_ns)) return *ended;
  if (const auto ended = run_peer_command(
          words, {find_kernel, count_gpus, keep_gpus_warm, [argv] { return join_launched(argv); }}))
    return *ended;
  Flags flags;
  CLI::App app{"Measures one thing of a cluster's fabric: between two hosts, or on this one.",
               "railgauge-runner"};
  app.allow_extras();
  app.footer(fmt::format("In place of KERNEL another tool's name measures what it measures: {}.",
                         fmt::join(peer_command_names(), ", ")));
  add_general_flags(app, flags);
  if (const KernelRow* row = named_kernel(argc, argv)) add_parameter_flags(app, row->info(), flags);
  if (const auto ended = parse_flags(app, {argv + 1, argv + argc})) return *ended;
  if (flags.version) {
    fmt::print("railgauge-runner {} (GPU code: {}, commit {})\n", RAILGAUGE_VERSION,
               gpu_code_needs(), build_commit());
    return kExitPassed;
  }
  // An agent's child. Signals are blocked before any thread exists.
  if (flags.task) {
    block_ending_signals();
    return run_agent_task({.request_fd = flags.request_fd,
                           .record_fd = flags.record_fd,
                           .entered_monotonic_ns = entered_monotonic_ns,
                           .launches_mpi = mpi_of_program().empty()},
                          find_kernel);
  }
  // Probes run in this process, so that a crash in a driver does not end the agent.
  if (!flags.probe.empty()) return probe_each(flags.probe, probe_gpudirect);
  if (!flags.probe_ports.empty()) return probe_each(flags.probe_ports, probe_port);
  if (flags.list || !flags.describe.empty()) return print_kernels(flags);
  if (flags.kernel.empty())
    return report_wrong_use("no kernel named; --list prints them, --help the rest");
  const auto row = find_row(catalog(), flags.kernel);
  if (!row) return report_wrong_use(row.error().message);
  if (!app.remaining().empty()) return explain_extra(app, app.remaining());
  auto options = standalone_options(app, flags, **row);
  if (!options) return report_wrong_use(options.error().message);
  block_ending_signals();
  if (const Status joined = join_world(*options, flags.records_to, argv); !joined)
    return report_wrong_use(joined.error().message, exit_code_of(joined.error()));
  return run_standalone(*options);
}

}  // namespace
}  // namespace railgauge

// Takes the time first, because a task's phases begin with the process.
int main(int argc, char** argv) {
  const double entered_monotonic_ns = railgauge::monotonic_now_ns();
  railgauge::report_unknown_variables({argv, static_cast<std::size_t>(argc)});
  return railgauge::run(argc, argv, entered_monotonic_ns);
}
