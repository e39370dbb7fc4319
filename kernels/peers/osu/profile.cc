// OSU's programs, their defaults by kind (latency, window, collective), and their command line.
#include "kernels/peers/osu/profile.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;

// A pair program takes the memory of both sides; the others take --accelerator. The first row of a
// kernel is the program that is nearest to it.
constexpr std::array kPrograms{
    OsuProgram{"osu_latency", "", "mpi.lat", true},
    OsuProgram{"osu_latency_mt", "", "mpi.threads_lat", true},
    OsuProgram{"osu_bw", "", "mpi.bw", true},
    OsuProgram{"osu_bibw", "", "mpi.bibw", true},
    OsuProgram{"osu_latency_persistent", "", "mpi.lat", true, "persistent"},
    OsuProgram{"osu_bw_persistent", "", "mpi.bw", true, "persistent"},
    OsuProgram{"osu_bibw_persistent", "", "mpi.bibw", true, "persistent"},
    OsuProgram{"osu_put_latency", "MPI_Put", "mpi.put_lat", true},
    OsuProgram{"osu_get_latency", "MPI_Get", "mpi.get_lat", true},
    OsuProgram{"osu_put_bw", "", "mpi.put_bw", true},
    OsuProgram{"osu_get_bw", "", "mpi.get_bw", true},
    OsuProgram{"osu_put_bibw", "", "mpi.put_bibw", true},
    OsuProgram{"osu_acc_latency", "MPI_Accumulate", "mpi.accumulate_lat", true},
    OsuProgram{"osu_get_acc_latency", "MPI_Get_accumulate", "mpi.get_accumulate_lat", true},
    OsuProgram{"osu_fop_latency", "MPI_Fetch_and_op", "mpi.fetch_and_add_lat", true},
    OsuProgram{"osu_cas_latency", "MPI_Compare_and_swap", "mpi.compare_and_swap_lat", true},
    OsuProgram{"osu_mbw_mr", "", "mpi.rate", false},
    OsuProgram{"osu_multi_lat", "", "mpi.multi_lat", false},
    OsuProgram{"osu_bw_fan_in", "", "mpi.fan_in_bw", false},
    OsuProgram{"osu_bw_fan_out", "", "mpi.fan_out_bw", false},
    OsuProgram{"osu_init", "MPI_Init", "mpi.init", false},
    OsuProgram{"osu_allgather", "MPI_Allgather", "mpi.all_gather", false},
    OsuProgram{"osu_allgatherv", "MPI_Allgatherv", "mpi.all_gather_v", false},
    OsuProgram{"osu_allreduce", "MPI_Allreduce", "mpi.all_reduce", false},
    OsuProgram{"osu_alltoall", "MPI_Alltoall", "mpi.all_to_all", false},
    OsuProgram{"osu_alltoallv", "MPI_Alltoallv", "mpi.all_to_all_v", false},
    OsuProgram{"osu_alltoallw", "MPI_Alltoallw", "mpi.all_to_all_w", false},
    OsuProgram{"osu_barrier", "MPI_Barrier", "mpi.barrier", false},
    OsuProgram{"osu_bcast", "MPI_Bcast", "mpi.broadcast", false},
    OsuProgram{"osu_gather", "MPI_Gather", "mpi.gather", false},
    OsuProgram{"osu_gatherv", "MPI_Gatherv", "mpi.gather_v", false},
    OsuProgram{"osu_reduce", "MPI_Reduce", "mpi.reduce", false},
    OsuProgram{"osu_reduce_scatter", "MPI_Reduce_scatter", "mpi.reduce_scatter", false},
    OsuProgram{"osu_reduce_scatter_block", "MPI_Reduce_scatter_block", "mpi.reduce_scatter_block",
               false},
    OsuProgram{"osu_scatter", "MPI_Scatter", "mpi.scatter", false},
    OsuProgram{"osu_scatterv", "MPI_Scatterv", "mpi.scatter_v", false},
    OsuProgram{"osu_neighbor_allgather", "MPI_Neighbor_allgather", "mpi.neighbor_all_gather",
               false},
    OsuProgram{"osu_neighbor_allgatherv", "MPI_Neighbor_allgatherv", "mpi.neighbor_all_gather_v",
               false},
    OsuProgram{"osu_neighbor_alltoall", "MPI_Neighbor_alltoall", "mpi.neighbor_all_to_all", false},
    OsuProgram{"osu_neighbor_alltoallv", "MPI_Neighbor_alltoallv", "mpi.neighbor_all_to_all_v",
               false},
    OsuProgram{"osu_neighbor_alltoallw", "MPI_Neighbor_alltoallw", "mpi.neighbor_all_to_all_w",
               false},
    OsuProgram{"osu_iallgather", "", "mpi.all_gather", false, "nonblocking"},
    OsuProgram{"osu_iallgatherv", "", "mpi.all_gather_v", false, "nonblocking"},
    OsuProgram{"osu_iallreduce", "", "mpi.all_reduce", false, "nonblocking"},
    OsuProgram{"osu_ialltoall", "", "mpi.all_to_all", false, "nonblocking"},
    OsuProgram{"osu_ialltoallv", "", "mpi.all_to_all_v", false, "nonblocking"},
    OsuProgram{"osu_ialltoallw", "", "mpi.all_to_all_w", false, "nonblocking"},
    OsuProgram{"osu_ibarrier", "", "mpi.barrier", false, "nonblocking"},
    OsuProgram{"osu_ibcast", "", "mpi.broadcast", false, "nonblocking"},
    OsuProgram{"osu_igather", "", "mpi.gather", false, "nonblocking"},
    OsuProgram{"osu_igatherv", "", "mpi.gather_v", false, "nonblocking"},
    OsuProgram{"osu_ireduce", "", "mpi.reduce", false, "nonblocking"},
    OsuProgram{"osu_ireduce_scatter", "", "mpi.reduce_scatter", false, "nonblocking"},
    OsuProgram{"osu_ireduce_scatter_block", "", "mpi.reduce_scatter_block", false, "nonblocking"},
    OsuProgram{"osu_iscatter", "", "mpi.scatter", false, "nonblocking"},
    OsuProgram{"osu_iscatterv", "", "mpi.scatter_v", false, "nonblocking"},
    OsuProgram{"osu_ineighbor_allgather", "", "mpi.neighbor_all_gather", false, "nonblocking"},
    OsuProgram{"osu_ineighbor_allgatherv", "", "mpi.neighbor_all_gather_v", false, "nonblocking"},
    OsuProgram{"osu_ineighbor_alltoall", "", "mpi.neighbor_all_to_all", false, "nonblocking"},
    OsuProgram{"osu_ineighbor_alltoallv", "", "mpi.neighbor_all_to_all_v", false, "nonblocking"},
    OsuProgram{"osu_ineighbor_alltoallw", "", "mpi.neighbor_all_to_all_w", false, "nonblocking"},
    OsuProgram{"osu_allgather_persistent", "", "mpi.all_gather", false, "persistent"},
    OsuProgram{"osu_allgatherv_persistent", "", "mpi.all_gather_v", false, "persistent"},
    OsuProgram{"osu_allreduce_persistent", "", "mpi.all_reduce", false, "persistent"},
    OsuProgram{"osu_alltoall_persistent", "", "mpi.all_to_all", false, "persistent"},
    OsuProgram{"osu_alltoallv_persistent", "", "mpi.all_to_all_v", false, "persistent"},
    OsuProgram{"osu_alltoallw_persistent", "", "mpi.all_to_all_w", false, "persistent"},
    OsuProgram{"osu_barrier_persistent", "", "mpi.barrier", false, "persistent"},
    OsuProgram{"osu_bcast_persistent", "", "mpi.broadcast", false, "persistent"},
    OsuProgram{"osu_gather_persistent", "", "mpi.gather", false, "persistent"},
    OsuProgram{"osu_gatherv_persistent", "", "mpi.gather_v", false, "persistent"},
    OsuProgram{"osu_reduce_persistent", "", "mpi.reduce", false, "persistent"},
    OsuProgram{"osu_reduce_scatter_persistent", "", "mpi.reduce_scatter", false, "persistent"},
    OsuProgram{"osu_scatter_persistent", "", "mpi.scatter", false, "persistent"},
    OsuProgram{"osu_scatterv_persistent", "", "mpi.scatter_v", false, "persistent"},
};

// Kinds follow from the kernel's name, which the table already has.
bool is_windowed(const OsuProgram& program) {
  return program.kernel.ends_with("bw") || program.kernel == "mpi.rate";
}
// Congestion: one rank with all others.
bool is_fan(const OsuProgram& program) { return program.kernel.starts_with("mpi.fan_"); }
// One-sided windows have a place for each message in OSU's programs too.
bool has_one_buffer(const OsuProgram& program) {
  return program.kernel == "mpi.bw" || program.kernel == "mpi.bibw" ||
         program.kernel == "mpi.rate" || is_fan(program);
}
bool is_init(const OsuProgram& program) { return program.kernel == "mpi.init"; }
bool is_collective(const OsuProgram& program) {
  return !program.pair && program.kernel.find("multi") == std::string_view::npos &&
         !is_windowed(program) && !is_init(program);
}
bool is_reduction(const OsuProgram& program) {
  return program.kernel.find("reduce") != std::string_view::npos;
}
// The collectives whose kernels declare `root`.
bool has_root(const OsuProgram& program) {
  constexpr std::array<std::string_view, 6> kRooted{
      "mpi.broadcast", "mpi.gather", "mpi.gather_v", "mpi.reduce", "mpi.scatter", "mpi.scatter_v"};
  return std::ranges::find(kRooted, program.kernel) != kRooted.end();
}
// Barriers have no messages, and the calls on one number have 8 bytes.
bool has_sizes(const OsuProgram& program) {
  constexpr std::array<std::string_view, 4> kNone{
      "mpi.barrier", "mpi.init", "mpi.fetch_and_add_lat", "mpi.compare_and_swap_lat"};
  return std::ranges::find(kNone, program.kernel) == kNone.end();
}

// A range of sizes as canonical text: powers of two from `least` to `most`. Behind a zero the sizes
// are listed one by one, because a range cannot begin with it.
std::string sizes_from(std::uint64_t least, std::uint64_t most) {
  if (least == most) return canonical_bytes(most);
  if (least != 0) return canonical_bytes(least) + ":" + canonical_bytes(most);
  std::string out = "0";
  for (std::uint64_t bytes = 1; bytes <= most; bytes *= 2) out += "," + canonical_bytes(bytes);
  return out;
}

// OSU's smallest message: reductions have whole floats, latency also measures empty messages.
std::uint64_t least_size(const OsuProgram& program) {
  // Sums are of whole 32-bit numbers.
  if (is_reduction(program) || program.kernel.ends_with("accumulate_lat")) return 4;
  return program.kernel == "mpi.lat" || program.kernel == "mpi.multi_lat" ||
                 program.kernel == "mpi.threads_lat"
             ? 0
             : 1;
}

tl::unexpected<Error> wrong(const std::string& option, std::string_view what) {
  const bool is_plain = option.size() <= kMaxQuoted && made_of(option, "-_");
  return invalid("{}: {}", is_plain ? std::string(option) : in_quotes(option), what);
}

// The part of the command line that was parsed so far.
struct Reading {
  Parameters set;
  std::vector<std::string> rest;
  std::vector<std::string> sides;
  bool on_gpu = false;
  bool managed = false;
};

// "-m MAX", "-m MIN:MAX", "-m MIN:" and "-m :MAX" as OSU has them.
Status take_sizes(const OsuProgram& program, const std::string& option, const std::string& value,
                  Reading& reading) {
  const std::size_t colon = value.find(':');
  std::uint64_t least = least_size(program);
  if (colon != std::string::npos && colon > 0) least = RG_TRY(parse_bytes(value.substr(0, colon)));
  const std::string most = colon == std::string::npos ? value : value.substr(colon + 1);
  const std::uint64_t last = most.empty() ? std::uint64_t{program.pair ? 4U << 20U : 1U << 20U}
                                          : RG_TRY(parse_bytes(most));
  if (last < least)
    return wrong(option, fmt::format("{} ends below its beginning", in_quotes(value)));
  reading.set["sizes"] = sizes_from(least, last);
  return {};
}

// "-b single" and "-b multiple", where the program has windows of sends.
Status take_buffers(const OsuProgram& program, const std::string& option, const std::string& value,
                    Reading& reading) {
  if (value != "single" && value != "multiple")
    return wrong(option, fmt::format("{} is not single or multiple", in_quotes(value)));
  if (!has_one_buffer(program))
    return wrong(option, fmt::format("{} has no such choice", program.name));
  reading.set["buffers"] = value == "single" ? "single" : "each";
  return {};
}

// Other accelerators have no kernel here.
Status take_accelerator(const std::string& option, const std::string& value, Reading& reading) {
  if (value != "cuda" && value != "managed")
    return wrong(option, fmt::format("{} is not cuda or managed", in_quotes(value)));
  reading.on_gpu = true;
  reading.managed = value == "managed";
  return {};
}

// -s and -w: how a one-sided call is confirmed, and the memory that it reaches.
Status take_only(const OsuProgram& program, const std::string& option, const std::string& value,
                 std::string_view only) {
  if (program.kernel.find("put") == std::string_view::npos &&
      program.kernel.find("get") == std::string_view::npos &&
      program.kernel.find("accumulate") == std::string_view::npos && has_sizes(program))
    return wrong(option, fmt::format("{} has no such choice", program.name));
  if (value == only) return {};
  return wrong(option, fmt::format("{}: {} alone is measured here", in_quotes(value), only));
}

// -s: how a one-sided call is confirmed. Calls that add or swap are confirmed by a flush alone.
Status take_sync(const OsuProgram& program, const std::string& option, const std::string& value,
                 Reading& reading) {
  const bool has_epochs = program.kernel.starts_with("mpi.put_") ||
                          program.kernel == "mpi.get_lat" || program.kernel == "mpi.get_bw";
  if (!has_epochs) return take_only(program, option, value, "flush");
  const std::vector<std::string> kWords{"flush", "fence", "pscw", "lock"};
  if (std::ranges::find(kWords, value) == kWords.end())
    return wrong(option, fmt::format("{} is not {}", in_quotes(value), one_of(kWords)));
  reading.set["sync"] = value;
  return {};
}

// The collectives whose kernels declare `in_place`.
// MPI has no such form of a broadcast, whose buffer is one, nor of neighbourhoods.
bool can_be_in_place(const OsuProgram& program) {
  return is_collective(program) && has_sizes(program) && program.kernel != "mpi.broadcast" &&
         program.kernel.find("neighbor") == std::string_view::npos;
}

// OSU's options that are honoured; take() receives their values.
struct Option {
  std::string_view letter;
  std::string_view word;
  bool takes_value;
};
constexpr std::array kOptions{Option{"-m", "--message-size", true},
                              Option{"-i", "--iterations", true},
                              Option{"-x", "--warmup", true},
                              Option{"-W", "--window-size", true},
                              Option{"-d", "--accelerator", true},
                              Option{"-c", "--validation", false},
                              Option{"-f", "--full", false},
                              Option{"-z", "--tail-lat", false},
                              Option{"-b", "--buffer-num", true},
                              Option{"-t", "--num-test-calls", true},
                              Option{"-k", "--root-rank", true},
                              Option{"-s", "--sync-option", true},
                              Option{"-l", "--in-place", false},
                              Option{"-w", "--win-options", true},
                              Option{"-u", "--validation-warmup", true},
                              Option{"-M", "--mem-limit", true},
                              Option{"-h", "--help", false},
                              Option{"-v", "--version", false}};

// One option. -i and -x also set the counts of large messages, as in OSU's programs.
Status take(const OsuProgram& program, std::string_view letter, const std::string& option,
            const std::string& value, Reading& reading) {
  if (letter == "-m") return take_sizes(program, option, value, reading);
  if (letter == "-d") return take_accelerator(option, value, reading);
  if (letter == "-b") return take_buffers(program, option, value, reading);
  if (letter == "-s") return take_sync(program, option, value, reading);
  if (letter == "-w") return take_only(program, option, value, "create");
  if (letter == "-l" && !can_be_in_place(program))
    return wrong(option, fmt::format("{} has no such form", program.name));
  if (letter == "-l") reading.set["in_place"] = "true";
  if (letter == "-t" && program.kernel == "mpi.threads_lat") {
    const std::size_t colon = value.find(':');
    const std::string senders = value.substr(0, colon);
    if (colon != std::string::npos && value.substr(colon + 1) != senders)
      return wrong(option, "both ranks have as many threads here, each with a partner");
    reading.set["threads"] = senders;
    return {};
  }
  if (letter == "-t" && program.call != "nonblocking")
    return wrong(option, fmt::format("{} computes nothing beside a call", program.name));
  if (letter == "-t") reading.set["polls"] = value;
  if (letter == "-k" && !has_root(program))
    return wrong(option, fmt::format("{} has no root", program.name));
  if (letter == "-k") reading.set["root"] = value;
  if (letter == "-h" || letter == "-v")
    reading.rest.emplace_back(letter == "-h" ? "--help" : "--version");
  if (letter == "-i") reading.set["iterations"] = reading.set["large_iterations"] = value;
  if (letter == "-x") reading.set["skip"] = reading.set["large_skip"] = value;
  if (letter == "-W") reading.set["window"] = value;
  return {};  // always so: data is verified, and every percentile shown that the samples can bound
}

// OSU's letters: host, device, and the two managed ones.
Result<std::string> memory_of_side(const std::string& side) {
  if (side == "H" || side == "MH") return std::string(side == "H" ? "host" : "managed");
  if (side == "D" || side == "MD") return std::string(side == "D" ? "device" : "managed");
  return wrong(side, "is no memory: H, D, MD or MH");
}

// Sides only between two ranks, an accelerator only for the others.
Status place_memory(const OsuProgram& program, Reading& reading) {
  if (!program.pair) {
    if (!reading.sides.empty()) return wrong(reading.sides.front(), "only between two ranks");
    if (reading.on_gpu) reading.set["memory"] = reading.managed ? "managed" : "device";
    return {};
  }
  if (reading.sides.empty()) return {};
  if (reading.sides.size() != 2)
    return wrong(reading.sides.front(), "name the memory of both sides");
  reading.set["memory"] = RG_TRY(memory_of_side(reading.sides[0]));
  const std::string peer = RG_TRY(memory_of_side(reading.sides[1]));
  if (peer != reading.set["memory"]) reading.set["peer_memory"] = peer;
  return {};
}

}  // namespace

std::span<const OsuProgram> osu_programs() { return kPrograms; }

const OsuProgram* find_osu_program(std::string_view name) {
  return row_where(kPrograms, &OsuProgram::name, name);
}

const OsuProgram* osu_program_of(std::string_view kernel) {
  return row_where(kPrograms, &OsuProgram::kernel, kernel);
}

const OsuProgram* find_mpi_spelling(std::string_view mpi_name) {
  return mpi_name.empty() ? nullptr : row_where(kPrograms, &OsuProgram::mpi_name, mpi_name);
}

// OSU's counts depend on kind and size; above 8 KiB the counts of large messages apply.
Parameters osu_defaults(const OsuProgram& program) {
  // OSU counts osu_mbw_mr with the bandwidth programs.
  const bool collective = is_collective(program);
  Parameters out;
  if (collective || is_init(program) || program.kernel == "mpi.put_bibw")
    out["over_ranks"] = "mean";
  if (is_init(program)) return out;
  if (!program.call.empty()) out["call"] = program.call;
  if (has_one_buffer(program)) out["buffers"] = "single";
  if (has_sizes(program))
    out["sizes"] = sizes_from(least_size(program), collective ? 1U << 20U : 4U << 20U);
  if (is_windowed(program)) out["window"] = "64";
  const bool latency = !collective && !is_windowed(program);
  out["iterations"] = latency ? "10000" : collective ? "1000" : "100";
  out["skip"] = is_windowed(program) ? "10" : "100";
  if (!has_sizes(program)) return out;
  out["large_iterations"] = latency ? "1000" : collective ? "100" : "20";
  out["large_skip"] = is_windowed(program) ? "2" : "10";
  return out;
}

// The same list for all programs: an option that one of them lacks is refused with the reason.
std::string osu_help(const OsuProgram& program) {
  std::string out = fmt::format(
      "Measures what {} measures, by {}{}{}, in its units.\n"
      "  railgauge-runner {} [OPTIONS]{} --ranks N      ranks of this host\n"
      "  mpirun -n N railgauge-runner-openmpi {} [OPTIONS]{}\n\n",
      program.name, program.kernel, program.call.empty() ? "" : " with call=", program.call,
      program.name, program.pair ? " [H|D|MH|MD H|D|MH|MD]" : "", program.name,
      program.pair ? " [H|D|MH|MD H|D|MH|MD]" : "");
  for (const Option& option : kOptions)
    out +=
        fmt::format("  {}, {}{}\n", option.letter, option.word, option.takes_value ? " VALUE" : "");
  return out + "\nParameters of the kernel are options too: --set KEY=VALUE, --format json.\n";
}

// Words without a dash are the memory of a side, unless they follow an option of ours.
Result<std::vector<std::string>> read_osu_command(const OsuProgram& program,
                                                  const std::vector<std::string>& words) {
  Reading reading;
  reading.set = osu_defaults(program);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // "--option=value" and "--option value" mean the same.
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const auto option = std::ranges::find_if(
        kOptions, [&](const Option& row) { return row.letter == name || row.word == name; });
    if (option == kOptions.end()) {
      if (!word.starts_with('-')) {
        // A value of an option of ours, or a side.
        if (i > 0 && words[i - 1].starts_with("--"))
          reading.rest.push_back(word);
        else
          reading.sides.push_back(word);
        continue;
      }
      if (!word.starts_with("--"))
        return wrong(word, fmt::format("is not read of {}'s options; say it as a parameter of {} "
                                       "(--set)",
                                       program.name, program.kernel));
      reading.rest.push_back(word);
      continue;
    }
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (option->takes_value && equals == std::string::npos) {
      if (i + 1 == words.size()) return wrong(word, "wants a value");
      value = words[++i];
    }
    RG_TRY_OK(take(program, option->letter, name, value, reading));
  }
  RG_TRY_OK(place_memory(program, reading));
  // Where there is no size, these parameters are not declared.
  if (!has_sizes(program))
    for (const char* none : {"sizes", "large_iterations", "large_skip"}) reading.set.erase(none);
  if (is_init(program))
    for (const char* none : {"iterations", "skip"}) reading.set.erase(none);
  std::vector<std::string> out{std::string(program.kernel)};
  for (const auto& [name, value] : reading.set)
    out.insert(out.end(), {"--set", fmt::format("{}={}", name, value)});
  out.insert(out.end(), reading.rest.begin(), reading.rest.end());
  return out;
}

}  // namespace railgauge
