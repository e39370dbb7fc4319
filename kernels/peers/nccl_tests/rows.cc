#include "kernels/peers/nccl_tests/rows.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/core/group/group.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

using Reading = NcclTestsReading;
using Row = NcclTestsOption;

constexpr std::int64_t kMostIterations = 1'000'000;
constexpr std::int64_t kMostSeconds = 86'400;

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
    return wrong_option(option,
                        fmt::format("{} is no size, as 8, 64K, 32M or 1G", in_quotes(value)));
  return *bytes;
}

// --- what the rows do -------------------------------------------------------------------------

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
Status take_count(Reading& reading, const Row& row, const std::string& option,
                  const std::string& value) {
  reading.counted = true;
  return take_number<&Reading::iterations, 1, kMostIterations>(reading, row, option, value);
}
template <std::string Reading::*kField>
Status take_word(Reading& reading, const Row&, const std::string&, const std::string& value) {
  reading.*kField = value;
  return {};
}
Status take_placement(Reading& reading, const Row&, const std::string& option,
                      const std::string& value) {
  const std::vector<std::string> kWays{"both", "out", "in"};
  if (std::ranges::find(kWays, value) == kWays.end())
    return wrong_option(option, fmt::format("{} is not {}", in_quotes(value), one_of(kWays)));
  reading.placement = value;
  return {};
}
Status take_check(Reading& reading, const Row&, const std::string& option,
                  const std::string& value) {
  const std::int64_t checks = RG_TRY(option_number(option, value, 0, kMostIterations));
  reading.parameters["verify"] = checks > 0 ? "true" : "false";
  if (checks > 1) reading.call.infos.push_back(option + ": ours compares all bytes of a size once");
  return {};
}
Status take_registered(Reading& reading, const Row&, const std::string& option,
                       const std::string& value) {
  if (value == "2")
    return wrong_option(option, "symmetric windows are not measured here; allowed are 0 and 1");
  reading.parameters["registered"] =
      RG_TRY(option_number(option, value, 0, 1)) == 1 ? "true" : "false";
  return {};
}
Status take_timeout(Reading& reading, const Row&, const std::string& option,
                    const std::string& value) {
  const std::int64_t seconds = RG_TRY(option_number(option, value, 0, kMostSeconds));
  if (seconds > 0) reading.call.deadline_seconds = static_cast<double>(seconds);
  return {};
}
Status take_file(Reading& reading, const Row&, const std::string& option,
                 const std::string& value) {
  reading.call.file = value;
  reading.call.infos.push_back(option + " writes railgauge's document, not nccl-tests'");
  return {};
}
// What is so already with one value, and cannot be otherwise.
template <int kOnly>
Status take_only(Reading&, const Row& row, const std::string& option, const std::string& value) {
  const auto parsed = parse_integer(value);
  if (parsed && *parsed == kOnly) return {};
  return wrong_option(option,
                      fmt::format("{}: allowed is {}; {}", in_quotes(value), kOnly, row.what));
}
Status take_nothing(Reading& reading, const Row& row, const std::string& option,
                    const std::string&) {
  reading.call.infos.push_back(fmt::format("{} changes nothing here: {}", option, row.what));
  return {};
}
Status refuse(Reading&, const Row& row, const std::string& option, const std::string&) {
  return wrong_option(option, row.what);
}
Status take_help(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.call.help = true;
  return {};
}
Status take_adaptive(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.adaptive = true;
  return {};
}
Status take_set(Reading& reading, const Row&, const std::string& option, const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string::npos || equals == 0)
    return wrong_option(option, fmt::format("{} is not KEY=VALUE", in_quotes(value)));
  reading.set[value.substr(0, equals)] = value.substr(equals + 1);
  return {};
}
Status take_format(Reading& reading, const Row&, const std::string& option,
                   const std::string& value) {
  reading.call.format = RG_TRY(parse_format(value));
  if (reading.call.format == Format::kNdjson)
    return wrong_option(option, "a profile prints table, json or csv");
  return {};
}
Status take_deadline(Reading& reading, const Row&, const std::string& option,
                     const std::string& value) {
  const double ns = RG_TRY(parse_duration_ns(value));
  if (ns <= 0) return wrong_option(option, "must be above 0");
  reading.call.deadline_seconds = ns / 1e9;
  return {};
}

constexpr std::int64_t kMostRanksNumber = kMaxLocalRanks;
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
    Row{"local_register", 'R', true, take_registered, "1: buffers registered with NCCL"},
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
    Row{"agg_iters", 'm', true, take_only<1>, "ours makes call by call, or graphs of them (-G)",
        true},
    Row{"run_cycles", 'N', true, take_only<1>, "start it again for another cycle", true},
    Row{"average", 'a', true, take_only<1>,
        "each rank's median stands in --format json, as rank_median_ns", true},
    Row{"blocking", 'z', true, take_only<0>, "the times of single calls stand in --format json",
        true},
    Row{"stream_null", 'y', true, take_only<0>, "ours has a stream of its own", true},
    Row{"report_cputime", 'C', true, take_only<0>, "the time is that of the calls' ends", true},
    Row{"report_timestamps", 'S', true, take_only<0>, "each report has its start", true},
    Row{"memory_report", 'M', true, take_only<0>, "memory is not told here", true},
    Row{"device_implementation", 'D', true, take_only<0>, "NCCL's own calls are measured", true},
    Row{"device_cta_count", 'V', true, refuse, "NCCL's own calls are measured; leave it out", true},
    Row{"cta_policy", 'x', true, refuse, "not measured here; --set max_nchannels=N bounds channels",
        true},
    Row{"", 'I', false, refuse, "times of single calls: --format json; leave it out", true},
    Row{"", 'K', false, refuse, "leave it out, and name the sizes wanted with -b, -e and -f", true},
};

}  // namespace

tl::unexpected<Error> wrong_option(const std::string& option, std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", option, what));
}

Result<std::int64_t> option_number(const std::string& option, const std::string& value,
                                   std::int64_t least, std::int64_t most) {
  const auto parsed = parse_integer(value);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  return wrong_option(
      option, fmt::format("{} is no whole number from {} to {}", in_quotes(value), least, most));
}

std::span<const NcclTestsOption> nccl_tests_options() { return kRows; }

}  // namespace railgauge
