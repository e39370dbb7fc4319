// The table of nccl-tests' options, the parser by getopt_long, and the tasks of the parsed options.
#include "kernels/peers/nccl_tests/options.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/tool_options.h"

namespace railgauge {

// The options as typed, with the tool's defaults.
struct NcclTestsReading {
  static constexpr std::uint64_t kDefaultBytes = 32U << 20U;
  NcclTestsCall call;
  std::int64_t threads = 1;
  std::int64_t gpus = 1;
  std::uint64_t first = kDefaultBytes;
  std::uint64_t last = kDefaultBytes;
  std::uint64_t step = 1U << 20U;
  // 1: sizes grow by steps.
  std::int64_t factor = 1;
  std::int64_t iterations = 20;
  // -n was given.
  bool counted = false;
  std::int64_t graph_launches = 0;
  std::string type = "float";
  std::string redop = "sum";
  std::string root = "0";
  std::string placement = "both";
  bool adaptive = false;
  // Parameters that hold for all tasks.
  std::map<std::string, std::string> parameters;
  // --set has the highest priority.
  std::map<std::string, std::string> set;
};

// One option: its spelling, and the function that reads its value.
struct NcclTestsOption {
  using Take = Status (*)(NcclTestsReading& reading, const NcclTestsOption& row,
                          const std::string& option, const std::string& value);
  std::string_view word;
  // 0: none.
  char letter;
  bool takes_value;
  Take take;
  // Honoured option: the text of --help. Other option: the reason why it has no effect, or the
  // alternative.
  std::string_view why;
  // Never honoured.
  bool refused = false;
};

namespace {

using Reading = NcclTestsReading;
using Row = NcclTestsOption;

// Upper bounds of counts and of -T, far above sensible ones.
constexpr std::int64_t kMostIterations = 1'000'000;
constexpr std::int64_t kMostSeconds = 86'400;
constexpr std::int64_t kMostAggregated = 64;  // of the kernels

// K, M and G count 1024 there.
Result<std::uint64_t> size(const std::string& option, const std::string& value) {
  std::string text = value;
  if (!text.empty() && std::string_view("KkMmGg").find(text.back()) != std::string_view::npos) {
    const char unit = text.back();
    text.back() = static_cast<char>(unit >= 'a' ? unit - 'a' + 'A' : unit);
    text += "iB";
  }
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0)
    return wrong_option(option, "{} is no size, as 8, 64K, 32M or 1G", in_quotes(value));
  return *bytes;
}

// A whole number from `least` to `most`.
Result<std::int64_t> option_number(const std::string& option, const std::string& value,
                                   std::int64_t least, std::int64_t most) {
  const auto parsed = parse_integer(value);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  return wrong_option(option, "{} is no whole number from {} to {}", in_quotes(value), least, most);
}

// --- what the rows do -------------------------------------------------------------------------

// These read one value into one field of the reading.
template <std::uint64_t Reading::*kField>
Status take_size(Reading& reading, const Row&, const std::string& option,
                 const std::string& value) {
  reading.*kField = RG_TRY(size(option, value));
  return {};
}
template <std::int64_t Reading::*kField, std::int64_t kLeast, std::int64_t kMost>
Status take_number(Reading& reading, const Row&, const std::string& option,
                   const std::string& value) {
  reading.*kField = RG_TRY(option_number(option, value, kLeast, kMost));
  return {};
}
// Notes that -n was typed, since it excludes --adaptive.
Status take_count(Reading& reading, const Row& row, const std::string& option,
                  const std::string& value) {
  reading.counted = true;
  return take_number<&Reading::iterations, 1, kMostIterations>(reading, row, option, value);
}
// A word that is checked later, against the kernel.
template <std::string Reading::*kField>
Status take_word(Reading& reading, const Row&, const std::string&, const std::string& value) {
  reading.*kField = value;
  return {};
}
// Ours alone: the tool always measures both.
Status take_placement(Reading& reading, const Row&, const std::string& option,
                      const std::string& value) {
  const std::vector<std::string> kWays{"both", "out", "in"};
  if (std::ranges::find(kWays, value) == kWays.end())
    return wrong_option(option, "{} is not {}", in_quotes(value), one_of(kWays));
  reading.placement = value;
  return {};
}
// The tool's number of checks; ours is on or off.
Status take_check(Reading& reading, const Row&, const std::string& option,
                  const std::string& value) {
  const std::int64_t checks = RG_TRY(option_number(option, value, 0, kMostIterations));
  reading.parameters["verify"] = checks > 0 ? "true" : "false";
  if (checks > 1) reading.call.infos.push_back(option + ": ours compares all bytes of a size once");
  return {};
}
Status take_registered(Reading& reading, const Row&, const std::string& option,
                       const std::string& value) {
  constexpr std::array kWays{"false", "true", "symmetric"};
  const std::int64_t way = RG_TRY(option_number(option, value, 0, 2));
  reading.parameters.erase("registered");
  if (way != 0) reading.parameters["registered"] = kWays[static_cast<std::size_t>(way)];
  return {};
}
// NCCL_CTA_POLICY_DEFAULT, _EFFICIENCY and _ZERO.
Status take_policy(Reading& reading, const Row&, const std::string& option,
                   const std::string& value) {
  constexpr std::array kPolicies{"default", "efficiency", "zero"};
  reading.parameters["cta_policy"] =
      kPolicies[static_cast<std::size_t>(RG_TRY(option_number(option, value, 0, 2)))];
  return {};
}
// Calls in one group; one is the kernels' default.
Status take_aggregate(Reading& reading, const Row&, const std::string& option,
                      const std::string& value) {
  const std::int64_t calls = RG_TRY(option_number(option, value, 1, kMostAggregated));
  if (calls > 1) reading.parameters["aggregate"] = std::to_string(calls);
  return {};
}
// 0 keeps our own deadline; in the tool it means no deadline.
Status take_timeout(Reading& reading, const Row&, const std::string& option,
                    const std::string& value) {
  const std::int64_t seconds = RG_TRY(option_number(option, value, 0, kMostSeconds));
  if (seconds > 0) reading.call.deadline_seconds = static_cast<double>(seconds);
  return {};
}
// A document beside the table.
Status take_file(Reading& reading, const Row&, const std::string& option,
                 const std::string& value) {
  reading.call.file = value;
  reading.call.infos.push_back(option + " writes railgauge's document, not nccl-tests'");
  return {};
}
// Accepts the only value that an option can have here.
template <int kOnly>
Status take_only(Reading&, const Row& row, const std::string& option, const std::string& value) {
  const auto parsed = parse_integer(value);
  if (parsed && *parsed == kOnly) return {};
  return wrong_option(option, "{}: allowed is {}; {}", in_quotes(value), kOnly, row.why);
}
// Ours alone.
Status take_adaptive(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.adaptive = true;
  return {};
}
// Refuses NDJSON, since a table of several tasks cannot be streamed.
Status take_format(Reading& reading, const Row&, const std::string& option,
                   const std::string& value) {
  reading.call.format = RG_TRY(parse_format(value));
  if (reading.call.format == Format::kNdjson)
    return wrong_option(option, "a profile prints table, json or csv");
  return {};
}
// Also the bound of the product of -t and -g, checked later.
constexpr std::int64_t kMostRanksNumber = kMaxLocalRanks;
// All rows, in the order of --help.
constexpr std::array kRows{
    Row{"nthreads", 't', true, take_number<&Reading::threads, 1, kMostRanksNumber>,
        "times -g: the ranks, a process and a GPU each (default 1)"},
    Row{"ngpus", 'g', true, take_number<&Reading::gpus, 1, kMostRanksNumber>,
        "ranks on this host, a process and a GPU each (default 1)"},
    Row{"minbytes", 'b', true, take_size<&Reading::first>, "first size (default 32M)"},
    Row{"maxbytes", 'e', true, take_size<&Reading::last>, "last size (default 32M)"},
    Row{"stepbytes", 'i', true, take_size<&Reading::step>, "from size to size (default 1M)"},
    Row{"stepfactor", 'f', true, take_number<&Reading::factor, 1, 1 << 30>,
        "from size to size, times this"},
    Row{"iters", 'n', true, take_count, "calls of a size (default 20)"},
    Row{"op", 'o', true, take_word<&Reading::redop>, "sum, prod, min, max, avg or all"},
    Row{"datatype", 'd', true, take_word<&Reading::type>, "one of its types, or all"},
    Row{"root", 'r', true, take_word<&Reading::root>, "a rank, or all"},
    Row{"check", 'c', true, take_check, "0 compares no bytes (default 1)"},
    Row{"cudagraph", 'G', true, take_number<&Reading::graph_launches, 0, kMostIterations>,
        "the calls of a size as a CUDA graph, launched so often"},
    Row{"agg_iters", 'm', true, take_aggregate, "calls in one group of NCCL (default 1)"},
    Row{"local_register", 'R', true, take_registered,
        "1: buffers registered with NCCL; 2: as a window of all ranks"},
    Row{"cta_policy", 'x', true, take_policy, "0 default, 1 efficiency, 2 zero"},
    Row{"timeout", 'T', true, take_timeout, "seconds that one task may take"},
    Row{"output_file", 'J', true, take_file, "also write the document here"},
    Row{"help", 'h', false, take_help, "this"},
    Row{"placement", 0, true, take_placement, "both, out or in: of place (default both)"},
    Row{"adaptive", 0, false, take_adaptive,
        "measure until the interval is narrow, instead of -n calls"},
    Row{"set", 0, true, take_set, "a parameter of the kernel, as KEY=VALUE"},
    Row{"deadline", 0, true, take_deadline, "longest time for one task, as 5min"},
    Row{"format", 0, true, take_format, "table, json or csv"},

    Row{"warmup_iters", 'w', true, take_nothing,
        "each batch of ours follows calls that are not timed", true},
    Row{"parallel_init", 'p', true, take_nothing, "ranks always join at once", true},
    Row{"run_cycles", 'N', true, take_only<1>, "start it again for another cycle", true},
    Row{"average", 'a', true, take_only<1>,
        "each rank's median is in --format json, as rank_median_ns", true},
    Row{"blocking", 'z', true, take_only<0>, "the times of single calls stand in --format json",
        true},
    Row{"stream_null", 'y', true, take_only<0>, "ours has a stream of its own", true},
    Row{"report_cputime", 'C', true, take_only<0>, "the time is that of the calls' ends", true},
    Row{"report_timestamps", 'S', true, take_only<0>, "each report has its start", true},
    Row{"memory_report", 'M', true, take_only<0>, "memory is not reported here", true},
    Row{"device_implementation", 'D', true, take_only<0>, "NCCL's own calls are measured", true},
    Row{"device_cta_count", 'V', true, refuse, "NCCL's own calls are measured; leave it out", true},
    Row{"unalign", 'u', true, take_only<0>, "buffers begin at multiples of 512 bytes", true},
    Row{"per_iter_timing", 'I', true, take_only<0>,
        "percentiles of single calls are in --format json", true},
    Row{"per_iter_skip", 'K', true, take_nothing, "the warm-up ends by rule", true},
};

using Strings = std::vector<std::string>;
using Parameters = std::map<std::string, std::string>;

// Bounds of the parameters `sizes` and `graph_calls`.
constexpr std::size_t kMostSizes = 256;
constexpr std::int64_t kMostGraphCalls = 1000;  // of the kernels

// --- options to tasks -------------------------------------------------------------------------

// -f with a factor above 1 multiplies, else -i adds, as in the tool.
Result<std::string> sizes_of(const NcclTestsReading& reading) {
  if (reading.first > reading.last)
    return wrong_option("-b", "{} B is above -e, {} B", reading.first, reading.last);
  Strings sizes;
  const auto factor = static_cast<std::uint64_t>(reading.factor);
  for (std::uint64_t size = reading.first; size <= reading.last;
       size = factor > 1 ? size * factor : size + reading.step) {
    if (sizes.size() == kMostSizes)
      return wrong_option("-b", "more than {} sizes up to {} B; -f 2 doubles from size to size",
                          kMostSizes, reading.last);
    sizes.push_back(canonical_bytes(size));
  }
  return fmt::format("{}", fmt::join(sizes, ","));
}

// In the tool's names.
Result<Strings> types_of(const NcclTestsReading& reading) {
  if (reading.type == "all") return nccl_tests_types();
  if (type_from_nccl_tests(reading.type)) return Strings{reading.type};
  return wrong_option("-d", "{} is not {} or all", in_quotes(reading.type),
                      fmt::join(nccl_tests_types(), ", "));
}

// "none" where the kernel reduces nothing, as the tool prints it.
Result<Strings> reductions_of(const NcclTestsReading& reading, const KernelInfo& kernel) {
  if (find_declared(kernel, "reduction") == nullptr) return Strings{"none"};
  const Strings kOps{"sum", "prod", "max", "min", "avg"};
  if (reading.redop == "all") return kOps;
  if (std::ranges::find(kOps, reading.redop) != kOps.end()) return Strings{reading.redop};
  return wrong_option("-o",
                      "{} is not {} or all; a reduction made from others is not measured here",
                      in_quotes(reading.redop), fmt::join(kOps, ", "));
}

Result<std::vector<std::int64_t>> roots_of(const NcclTestsReading& reading,
                                           const KernelInfo& kernel) {
  std::vector<std::int64_t> roots;
  if (find_declared(kernel, "root") == nullptr) return std::vector<std::int64_t>{-1};
  const std::int64_t ranks = reading.call.ranks;
  if (reading.root != "all")
    return std::vector<std::int64_t>{RG_TRY(option_number("-r", reading.root, 0, ranks - 1))};
  for (std::int64_t rank = 0; rank < ranks; ++rank) roots.push_back(rank);
  return roots;
}

// The parameters that all tasks of the call share.
Result<Parameters> common_parameters(const NcclTestsReading& reading) {
  Parameters common = reading.parameters;
  common["sizes"] = RG_TRY(sizes_of(reading));
  if (reading.adaptive && reading.counted)
    return wrong_option("-n", "a count of calls and --adaptive exclude each other");
  if (reading.graph_launches > 0) {
    if (reading.adaptive)
      return wrong_option("-G", "a count of launches and --adaptive exclude each other");
    if (reading.iterations > kMostGraphCalls)
      return wrong_option("-n", "{} calls: a graph has {} at most", reading.iterations,
                          kMostGraphCalls);
    common["mode"] = "graph";
    common["graph_calls"] = std::to_string(reading.iterations);
    common["iterations"] = std::to_string(reading.graph_launches);
    // The tool's buffers are NCCL's own, which NCCL registers when it captures a graph.
    common.try_emplace("registered", "allocated");
  } else if (!reading.adaptive) {
    common["iterations"] = std::to_string(reading.iterations);
  }
  return common;
}

// Out of place first, as the tool measures; empty where nothing is left to measure.
std::vector<bool> placements_of(const NcclTestsReading& reading, const KernelInfo& kernel) {
  const bool can_be_in_place = find_declared(kernel, "in_place") != nullptr;
  std::vector<bool> out;
  if (reading.placement != "in") out.push_back(false);
  if (reading.placement != "out" && can_be_in_place) out.push_back(true);
  return out;
}

// One task for each combination, each checked against the kernel before any of them runs.
Status add_tasks(const KernelInfo& kernel, NcclTestsReading& reading) {
  const Parameters common = RG_TRY(common_parameters(reading));
  const auto types = RG_TRY(types_of(reading));
  const auto reductions = RG_TRY(reductions_of(reading, kernel));
  const auto roots = RG_TRY(roots_of(reading, kernel));
  const auto placements = placements_of(reading, kernel);
  if (placements.empty())
    return wrong_option("--placement", "in: {} is never in place", kernel.name());
  for (const std::string& type : types)
    for (const std::string& redop : reductions)
      for (const std::int64_t root : roots)
        for (const bool in_place : placements) {
          NcclTestsTask task{type, redop, root, in_place, common};
          task.parameters["datatype"] = *type_from_nccl_tests(type);
          if (redop != "none") task.parameters["reduction"] = redop;
          if (root >= 0) task.parameters["root"] = std::to_string(root);
          if (in_place) task.parameters["in_place"] = "true";
          for (const auto& [name, value] : reading.set) task.parameters[name] = value;
          // A wrong --set is refused here, before the first task runs.
          RG_TRY_OK(Params::parse(kernel, task.parameters));
          reading.call.tasks.push_back(std::move(task));
        }
  return {};
}

// A matrix has its size in itself: the tool allows no sweep beside it.
Status apply_surroundings(const NcclTestsSurroundings& said, NcclTestsReading& reading) {
  reading.parameters.insert(said.parameters.begin(), said.parameters.end());
  reading.call.infos.insert(reading.call.infos.end(), said.infos.begin(), said.infos.end());
  if (said.matrix_bytes == 0) return {};
  if (reading.first != reading.last)
    return wrong_option("-b", "{} B is not -e, {} B; a matrix has one size", reading.first,
                        reading.last);
  reading.call.infos.push_back(
      fmt::format("the size is the matrix's: {} B of the busiest rank", said.matrix_bytes));
  reading.first = reading.last = said.matrix_bytes;
  return {};
}

}  // namespace

// --help precedes all errors.
Result<NcclTestsCall> read_nccl_tests_call(const NcclTestsProgram& program,
                                           const Strings& arguments, const FindKernel& find,
                                           std::uint32_t launched_ranks,
                                           const NcclTestsEnvironment& environment) {
  NcclTestsReading reading;
  reading.call.deadline_seconds = kDefaultDeadlineSeconds;
  const auto operands =
      RG_TRY(read_options(program.name, std::span<const Row>(kRows), arguments, reading));
  // nccl-tests has no operands.
  if (!operands.empty())
    return wrong_option(program.name, "{} is no option", in_quotes(operands.front()));
  if (reading.call.help) return std::move(reading.call);
  const KernelRow* row = find(program.kernel);
  if (row == nullptr)
    return fail(Code::kUnimplemented, "this build has no kernel {}", program.kernel);
  if (reading.threads * reading.gpus > kMaxLocalRanks)
    return wrong_option("-g", "{} ranks; at most {} run on one host",
                        reading.threads * reading.gpus, kMaxLocalRanks);
  reading.call.ranks = static_cast<std::uint32_t>(reading.threads * reading.gpus);
  if (launched_ranks > 0) {
    if (reading.call.ranks > 1)
      return wrong_option("-g",
                          "{} GPUs in a process that a launcher started as one of {} ranks; "
                          "a rank here has one GPU, so launch more of them with -t 1 -g 1",
                          reading.call.ranks, launched_ranks);
    reading.call.ranks = launched_ranks;
    reading.call.launched = true;
  }
  RG_TRY_OK(apply_surroundings(
      RG_TRY(read_surroundings(environment, program.kernel, reading.call.ranks)), reading));
  RG_TRY_OK(add_tasks(row->info(), reading));
  return std::move(reading.call);
}

// Lists no refused option: its own message has the alternative.
std::string nccl_tests_help(const NcclTestsProgram& program) {
  std::string out = fmt::format(
      "Measures what {0} of nccl-tests measures, by {1}, in its units.\n"
      "  railgauge-runner {0} [OPTIONS]\n"
      "All ranks are processes on this host, a GPU each. For several hosts: `mpirun -np N "
      "railgauge-runner {0} -g 1`, or a controller.\n\n",
      program.name, program.kernel);
  for (const NcclTestsOption& row : kRows)
    if (!row.refused) out += fmt::format("{}  {}\n", option_help(row), row.why);
  return out;
}

}  // namespace railgauge
