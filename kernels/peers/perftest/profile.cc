// perftest's defaults by program, and its rules that change them by the given options.
#include "kernels/peers/perftest/profile.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/profile.h"
#include "kernels/peers/osu/profile.h"

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;

// Constants of perftest: queue depth, interval of completions, and the size above which each
// message completes.
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kSignalEvery = 100;
constexpr std::uint64_t kEachSignalledAboveBytes = 8192;
constexpr const char* kDatagramInlineBytes = "188";  // of its latency; connected sends have 236

// The settings that all streams have.
Parameters stream(std::string iterations) {
  return {{"iterations", std::move(iterations)},
          {"depth", std::to_string(kDepth)},
          {"signal_every", std::to_string(kSignalEvery)}};
}

// perftest registers for relaxed ordering by default, except in the program that polls memory.
constexpr const char* kRelaxed = "relaxed_ordering";

Parameters sized_stream(const std::string& iterations) {
  Parameters out = stream(iterations);
  out["sizes"] = "64KiB";
  out[kRelaxed] = "on";
  return out;
}

// A parameter of `base` wins over the same one of `more`.
Parameters with(Parameters base, const Parameters& more) {
  base.insert(more.begin(), more.end());
  return base;
}

// One row a program, read off the tool's source.
std::vector<PerftestProgram> make_programs() {
  const Parameters fetched{{"sizes", "2"}, {"iterations", "1000"}};
  const auto pushed = [&](const char* inline_bytes) {
    return with(fetched, {{"inline_bytes", inline_bytes}, {"signal_every", "1"}});
  };
  const Parameters no_inline{{"inline_bytes", "0"}};
  const Parameters relaxed{{kRelaxed, "on"}};
  return {
      {"ib_write_bw", "verbs.write_bw", "verbs.write_imm_bw",
       with(sized_stream("5000"), no_inline)},
      {"ib_write_lat", "verbs.write_lat", "verbs.write_imm_lat", pushed("220")},
      {"ib_read_bw", "verbs.read_bw", "", sized_stream("1000")},
      {"ib_read_lat", "verbs.read_lat", "", with(fetched, relaxed)},
      {"ib_send_bw", "verbs.send_bw", "",
       with(sized_stream("1000"), with(no_inline, {{"receive_depth", "512"}}))},
      {"ib_send_lat", "verbs.send_lat", "", with(pushed("236"), relaxed)},
      {"ib_atomic_bw", "verbs.atomic_bw", "", stream("1000")},
      {"ib_atomic_lat", "verbs.atomic_lat", "", {{"iterations", "1000"}}},
  };
}

// Returns a given whole number; 0 if it is absent or no number.
std::int64_t number_in(const Parameters& given, const std::string& name) {
  return parse_integer(value_of(given, name)).value_or(0);
}

// Whether the parameter is given with exactly that value, which is not empty.
bool is(const Parameters& given, const std::string& name, std::string_view value) {
  return value_of(given, name) == value;
}

// Whether the parameter is given with any value.
bool has(const Parameters& given, const std::string& name) {
  return !value_of(given, name).empty();
}

// Whether the run is bounded by time: a duration, both directions, or several ports. Our kernels
// then count no messages.
bool is_a_stretch_of_time(const Parameters& given) {
  if (is(given, "direction", "both") || has(given, "devices")) return true;
  return parse_duration_ns(value_of(given, "duration")).value_or(0) > 0;
}

// Whether the tool completes each message: if all are large and no interval is given. Not over all
// sizes (-a), most of which are small.
bool signals_each(const Parameters& given, const Parameters& chosen) {
  if (is(given, "transport", "UD") || is(given, "poll", "events")) return false;
  const auto sizes = parse_bytes_list(value_of(given, "sizes", value_of(chosen, "sizes")));
  // Atomics have no sizes.
  return sizes && std::ranges::all_of(
                      *sizes, [](std::uint64_t size) { return size > kEachSignalledAboveBytes; });
}

// The interval of completions.
std::int64_t interval_of(const Parameters& given, const Parameters& chosen) {
  const std::int64_t depth = has(given, "depth") ? number_in(given, "depth") : kDepth;
  const std::int64_t list = number_in(given, "post_list");
  // The tool uses the list's length. Our kernel needs room in the queue for list and interval, so
  // the interval shrinks for a long list that is legal without the profile.
  if (list > 1) return depth >= list ? std::min(list, depth + 1 - list) : list;
  if (signals_each(given, chosen)) return 1;
  return depth > 0 ? std::min(depth, kSignalEvery) : kSignalEvery;
}

// Whether a side's memory is staged.
bool is_staged(const Parameters& given) {
  return is(given, "memory", "staged") || is(given, "target_memory", "staged");
}

// Removes the tool's relaxed ordering where a staging takes part.
void leave_out_ordering(const Parameters& given, Parameters& chosen) {
  // Staging refuses relaxed ordering: the count that reports a chunk must not overtake the chunk.
  // Its twin in GPU memory runs without it too, so that the two differ in nothing else.
  if (is_staged(given) || is(given, "staged_twin", "true")) chosen.erase(kRelaxed);
}

// Removes settings of the tool's streams that conflict with parameters that only our kernels have.
void leave_out(const Parameters& given, Parameters& chosen) {
  // Each staged chunk completes by itself, into receives of its own.
  if (is_staged(given))
    for (const char* name : {"signal_every", "receive_depth"}) chosen.erase(name);
  if (is_a_stretch_of_time(given)) chosen.erase("iterations");
}

// The settings that follow from the given ones; `chosen` are the program's settings.
void follow(const Parameters& given, Parameters& chosen) {
  if (chosen.contains("inline_bytes")) {
    if (is(given, "transport", "UD") && chosen["inline_bytes"] != "0")
      chosen["inline_bytes"] = kDatagramInlineBytes;
    // The CPU cannot copy from a GPU's memory into a request.
    for (const char* side : {"memory", "target_memory"})
      if (is(given, side, "cuda") || is(given, side, "staged")) chosen["inline_bytes"] = "0";
  }
  leave_out_ordering(given, chosen);
  if (!chosen.contains("depth")) return;
  chosen["signal_every"] = std::to_string(interval_of(given, chosen));
  leave_out(given, chosen);
  // The tool counts for each queue pair, ours for all together.
  if (const std::int64_t qps = number_in(given, "qps"); qps > 1 && chosen.contains("iterations"))
    chosen["iterations"] = std::to_string(qps * number_in(chosen, "iterations"));
}

}  // namespace

// Made on first use; lives as long as the process.
std::span<const PerftestProgram> perftest_programs() {
  static const std::vector<PerftestProgram> kPrograms = make_programs();
  return kPrograms;
}

const PerftestProgram* find_perftest_program(std::string_view name) {
  return row_where(perftest_programs(), &PerftestProgram::name, name);
}

const PerftestProgram* perftest_program_of(std::string_view kernel) {
  for (const PerftestProgram& program : perftest_programs())
    if (program.kernel == kernel || (program.immediate == kernel && !kernel.empty()))
      return &program;
  return nullptr;
}

// A given parameter always wins over the profile's. No profile is empty.
Result<Parameters> with_profile(std::string_view profile, std::string_view kernel,
                                const Parameters& given) {
  Parameters chosen;
  if (profile == kNcclTestsProfile) {
    if (nccl_tests_program_of(kernel) != nullptr) chosen = nccl_tests_defaults();
  } else if (profile == kOsuProfile) {
    if (const OsuProgram* osu = osu_program_of(kernel)) chosen = osu_defaults(*osu);
  } else if (profile == kPerftestProfile) {
    if (const PerftestProgram* program = perftest_program_of(kernel)) {
      chosen = program->defaults;
      follow(given, chosen);
    }
  } else {
    return invalid("profile {} is not known; {}, {} and {} are", in_quotes(profile),
                   kPerftestProfile, kNcclTestsProfile, kOsuProfile);
  }
  if (chosen.empty())
    return invalid("profile {}: {} measures nothing like {}", profile,
                   profile == kPerftestProfile ? profile : "it", kernel);
  Parameters out = given;
  out.merge(chosen);
  return out;
}

}  // namespace railgauge
