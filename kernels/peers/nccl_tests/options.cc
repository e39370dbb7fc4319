#include "kernels/peers/nccl_tests/options.h"

#include <getopt.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/rows.h"

namespace railgauge {
namespace {

using Strings = std::vector<std::string>;
using Parameters = std::map<std::string, std::string>;

constexpr std::size_t kMostSizes = 256;         // in a parameter
constexpr std::int64_t kMostGraphCalls = 1000;  // of the kernels

// --- words to options -------------------------------------------------------------------------

constexpr int kWords = 1000;  // above every letter

std::pair<const NcclTestsOption*, std::string> row_of(int found) {
  const auto rows = nccl_tests_options();
  if (found >= kWords) {
    const NcclTestsOption& row = rows[static_cast<std::size_t>(found - kWords)];
    return {&row, fmt::format("--{}", row.word)};
  }
  const auto row = std::ranges::find(rows, static_cast<char>(found), &NcclTestsOption::letter);
  return {&*row, fmt::format("-{}", static_cast<char>(found))};
}

tl::unexpected<Error> unknown(const std::string& program, const std::string& typed) {
  Strings words;
  for (const NcclTestsOption& row : nccl_tests_options())
    words.push_back(fmt::format("--{}", row.word));
  const bool is_word = typed.starts_with("--");
  return wrong_option(program,
                      fmt::format("option {} is not known here; --help names what is{}",
                                  in_quotes(is_word ? typed.substr(0, typed.find('=')) : typed),
                                  is_word ? did_you_mean(typed, words) : ""));
}

Status read_words(const std::string& program, const Strings& arguments, NcclTestsReading& reading) {
  std::string letters = ":";
  std::vector<option> longs;
  const auto rows = nccl_tests_options();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NcclTestsOption& row = rows[i];
    if (row.letter != 0) letters += row.letter;
    if (row.letter != 0 && row.takes_value) letters += ':';
    if (*row.word != '\0')
      longs.push_back({row.word, row.takes_value ? required_argument : no_argument, nullptr,
                       kWords + static_cast<int>(i)});
  }
  longs.push_back({});
  Strings words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());
  opterr = 0;
  optind = 0;  // glibc: from the beginning
  for (;;) {
    const int at = std::max(optind, 1);
    const int found = getopt_long(argc, argv.data(), letters.c_str(), longs.data(), nullptr);
    if (found == -1) break;
    if (found == '?') {
      const bool is_letter = optopt > 0 && optopt < kWords;
      const int place = std::clamp(optind - 1, at, argc - 1);
      return unknown(program, is_letter ? fmt::format("-{}", static_cast<char>(optopt))
                                        : words[static_cast<std::size_t>(place)]);
    }
    if (found == ':') return wrong_option(program, row_of(optopt).second + " needs a value");
    const auto [row, option] = row_of(found);
    RG_TRY_OK(row->take(reading, *row, option, optarg == nullptr ? "" : optarg));
  }
  if (optind < argc)
    return wrong_option(
        program, fmt::format("{} is no option", in_quotes(argv[static_cast<std::size_t>(optind)])));
  return {};
}

// --- options to tasks -------------------------------------------------------------------------

const ParameterInfo* declared(const KernelInfo& kernel, const std::string& name) {
  const auto found = std::ranges::find(kernel.parameters(), name, &ParameterInfo::name);
  return found == kernel.parameters().end() ? nullptr : &*found;
}

Result<std::string> sizes_of(const NcclTestsReading& reading) {
  if (reading.first > reading.last)
    return wrong_option("-b", fmt::format("{} B is above -e, {} B", reading.first, reading.last));
  Strings sizes;
  const auto factor = static_cast<std::uint64_t>(reading.factor);
  for (std::uint64_t size = reading.first; size <= reading.last;
       size = factor > 1 ? size * factor : size + reading.step) {
    if (sizes.size() == kMostSizes)
      return wrong_option(
          "-b", fmt::format("more than {} sizes up to {} B; -f 2 doubles from size to size",
                            kMostSizes, reading.last));
    sizes.push_back(canonical_bytes(size));
  }
  return fmt::format("{}", fmt::join(sizes, ","));
}

Result<Strings> types_of(const NcclTestsReading& reading) {
  if (reading.type == "all") return nccl_tests_types();
  if (type_from_nccl_tests(reading.type)) return Strings{reading.type};
  return wrong_option("-d", fmt::format("{} is not {} or all", in_quotes(reading.type),
                                        fmt::join(nccl_tests_types(), ", ")));
}

Result<Strings> reductions_of(const NcclTestsReading& reading, const KernelInfo& kernel) {
  if (declared(kernel, "reduction") == nullptr) return Strings{"none"};
  const Strings kOps{"sum", "prod", "max", "min", "avg"};
  if (reading.redop == "all") return kOps;
  if (std::ranges::find(kOps, reading.redop) != kOps.end()) return Strings{reading.redop};
  return wrong_option("-o", fmt::format("{} is not {} or all; a reduction made from others is not "
                                        "measured here",
                                        in_quotes(reading.redop), fmt::join(kOps, ", ")));
}

Result<std::vector<std::int64_t>> roots_of(const NcclTestsReading& reading,
                                           const KernelInfo& kernel) {
  std::vector<std::int64_t> roots;
  if (declared(kernel, "root") == nullptr) return std::vector<std::int64_t>{-1};
  const std::int64_t ranks = reading.call.ranks;
  if (reading.root != "all")
    return std::vector<std::int64_t>{RG_TRY(option_number("-r", reading.root, 0, ranks - 1))};
  for (std::int64_t rank = 0; rank < ranks; ++rank) roots.push_back(rank);
  return roots;
}

Result<Parameters> common_parameters(const NcclTestsReading& reading) {
  Parameters common = reading.parameters;
  common["sizes"] = RG_TRY(sizes_of(reading));
  if (reading.adaptive && reading.counted)
    return wrong_option("-n", "a count of calls and --adaptive exclude each other");
  if (reading.graph_launches > 0) {
    if (reading.adaptive)
      return wrong_option("-G", "a count of launches and --adaptive exclude each other");
    if (reading.iterations > kMostGraphCalls)
      return wrong_option("-n", fmt::format("{} calls: a graph has {} at most", reading.iterations,
                                            kMostGraphCalls));
    common["mode"] = "graph";
    common["graph_calls"] = std::to_string(reading.iterations);
    common["iterations"] = std::to_string(reading.graph_launches);
  } else if (!reading.adaptive) {
    common["iterations"] = std::to_string(reading.iterations);
  }
  return common;
}

std::vector<bool> placements_of(const NcclTestsReading& reading, const KernelInfo& kernel) {
  const bool can_be_in_place = declared(kernel, "in_place") != nullptr;
  std::vector<bool> out;
  if (reading.placement != "in") out.push_back(false);
  if (reading.placement != "out" && can_be_in_place) out.push_back(true);
  return out;
}

Status add_tasks(const KernelInfo& kernel, NcclTestsReading& reading) {
  const Parameters common = RG_TRY(common_parameters(reading));
  const auto types = RG_TRY(types_of(reading));
  const auto reductions = RG_TRY(reductions_of(reading, kernel));
  const auto roots = RG_TRY(roots_of(reading, kernel));
  const auto placements = placements_of(reading, kernel);
  if (placements.empty())
    return wrong_option("--placement", fmt::format("in: {} is never in place", kernel.name()));
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
          RG_TRY(Params::parse(kernel, task.parameters));
          reading.call.tasks.push_back(std::move(task));
        }
  return {};
}

}  // namespace

Result<NcclTestsCall> read_nccl_tests_call(const NcclTestsProgram& program,
                                           const Strings& arguments, const FindKernel& find) {
  NcclTestsReading reading;
  reading.call.deadline_seconds = kDefaultDeadlineSeconds;
  RG_TRY_OK(read_words(std::string(program.name), arguments, reading));
  if (reading.call.help) return std::move(reading.call);
  const KernelRow* row = find(program.kernel);
  if (row == nullptr)
    return fail(Code::kUnimplemented, fmt::format("this build has no kernel {}", program.kernel));
  if (reading.threads * reading.gpus > kMaxLocalRanks)
    return wrong_option("-g", fmt::format("{} ranks; at most {} run on one host",
                                          reading.threads * reading.gpus, kMaxLocalRanks));
  reading.call.ranks = static_cast<std::uint32_t>(reading.threads * reading.gpus);
  RG_TRY_OK(add_tasks(row->info(), reading));
  return std::move(reading.call);
}

std::string nccl_tests_help(const NcclTestsProgram& program) {
  std::string out = fmt::format(
      "Measures what {0} of nccl-tests measures, by {1}, in its units.\n"
      "  railgauge-runner {0} [OPTIONS]\n"
      "All ranks are processes on this host, a GPU each; several hosts take a controller.\n\n",
      program.name, program.kernel);
  for (const NcclTestsOption& row : nccl_tests_options()) {
    if (row.refused) continue;
    const std::string letter = row.letter == 0 ? "    " : fmt::format("-{}, ", row.letter);
    out += fmt::format("  {}--{}{}  {}\n", letter, row.word, row.takes_value ? " VALUE" : "",
                       row.what);
  }
  return out;
}

}  // namespace railgauge
