#include "controller/cli/peers/perftest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "controller/cli/render/compared_figures.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::string_view kMappedIpv4 = "::ffff:";

// The reason why perftest cannot measure this task.
tl::unexpected<Error> none(std::string reason) {
  return fail(Code::kUnimplemented, "perftest: " + std::move(reason));
}

// The limits of the tool's parser; version 4.5 and the newest agree.
constexpr std::int64_t kMostPerCompletion = 1024;
constexpr std::int64_t kMostDepth = 15'000;
constexpr std::int64_t kMostReceives = 16'384;
constexpr std::int64_t kMostInline = 912;
constexpr std::uint64_t kMostBytes = INT32_MAX;
constexpr std::int64_t kFewestIterations = 5;
constexpr double kMarginSeconds = 1;  // that its stretch of time leaves out at either end
constexpr double kCommonSeconds = 1;  // of ours, where directions or ports share it by default
// Ours completes messages at least so often (kernels/verbs/stream/link_stream.cc).
constexpr std::uint64_t kMostBytesPerCompletion = 8U << 20U;

// perftest has a program for each verb and figure. The task's parameters include defaults, so an
// option is printed where the parameter exists. The system's own choices are in the ranks' facts.
class CommandLine {
 public:
  CommandLine(const TaskDetail& task, const PerftestProgram& program)
      : task_(task), program_(program), parameters_(task.parameters()) {}

  // The first reason why the tool cannot measure this task. Errors: kUnimplemented.
  [[nodiscard]] Status check() const {
    for (const std::string& reason : {of_ports(), of_memory(), of_path(), of_manner(), of_limits()})
      if (!reason.empty()) return none(task_.kernel() + ": " + reason);
    return {};
  }

  // Those of the task, one launch each: the tool measures one, or the powers of two from 2 to 2^23
  // with one interval of completions, which ours shortens for the large ones.
  [[nodiscard]] Result<std::vector<std::uint64_t>> sizes() const {
    if (is_atomic()) return std::vector<std::uint64_t>{kAtomicBytes};
    if (takes_all_sizes()) return std::vector<std::uint64_t>{kAllSizes};
    auto sizes = parse_bytes_list(value("sizes"));
    if (!sizes) return sizes;
    for (const std::uint64_t size : *sizes)
      if (size > kMostBytes)
        return none(
            fmt::format("{}: its messages have {} bytes at most", task_.kernel(), kMostBytes));
    return sizes;
  }

  // The command line of one rank, without the host.
  [[nodiscard]] std::string command(const RankDetail& rank, std::uint64_t size) const {
    std::string out = environment(rank) + std::string(program_.name) + place_of(rank);
    if (size == kAllSizes)
      out += " -a";
    else if (!is_atomic())
      out += fmt::format(" -s {}", size);
    out += kind();
    if (!is_latency()) out += stream(size);
    // ib_write_lat polls memory and is never relaxed.
    if (!is_polled_write() && !is_relaxed(rank)) out += " --disable_pcie_relaxed";
    if (!fetches())
      if (const std::string bytes = value_of(rank.facts(), "inline_bytes"); !bytes.empty())
        out += " -I " + shell_quoted(bytes);
    return out + path(rank) + memory(rank) + " -F";
  }

  // Records before the fact existed have the parameter alone, as true or false.
  [[nodiscard]] bool is_relaxed(const RankDetail& rank) const {
    const std::string used = value_of(rank.facts(), "relaxed_ordering");
    const std::string word = used.empty() ? value("relaxed_ordering") : used;
    return word == "on" || word == "true";
  }

  // How the connecting side reaches the other one: by the address that the connection manager
  // listened on, by its IPv4 GID, else by the node's name.
  [[nodiscard]] std::string host_of(const RankDetail& rank) const {
    if (const std::string own = value_of(rank.facts(), "cm_address"); by_manager() && !own.empty())
      return shell_quoted(own);
    const std::string gid = value_of(rank.facts(), "gid");
    return shell_quoted(gid.starts_with(kMappedIpv4) ? gid.substr(kMappedIpv4.size())
                                                     : rank.node());
  }

 private:
  static constexpr std::uint64_t kAtomicBytes = 8;
  static constexpr std::uint64_t kAllSizes = 0;  // no message is empty

  [[nodiscard]] std::string value(const std::string& name) const {
    return value_of(parameters_, name);
  }
  // The parameter as a whole number, `absent` where it is missing or no number.
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t absent = 0) const {
    return parse_integer(value(name)).value_or(absent);
  }
  // Reports whether the parameter is there and has the value, or (`same` false) another one.
  [[nodiscard]] bool is(const std::string& name, std::string_view other, bool same) const {
    const std::string found = value(name);
    return !found.empty() && (found == other) == same;
  }
  [[nodiscard]] bool is_latency() const { return program_.name.ends_with("_lat"); }
  [[nodiscard]] bool is_atomic() const { return program_.name.starts_with("ib_atomic"); }
  [[nodiscard]] bool writes() const { return program_.name.starts_with("ib_write"); }
  [[nodiscard]] bool is_polled_write() const { return program_.name == "ib_write_lat"; }
  [[nodiscard]] bool fetches() const { return program_.name.starts_with("ib_read") || is_atomic(); }
  // Which connection was really made; the parameter where nobody got so far.
  [[nodiscard]] bool by_manager() const {
    for (const RankDetail& rank : task_.ranks())
      if (const std::string used = value_of(rank.facts(), "connection"); !used.empty())
        return used == "rdma_cm";
    return is("connection", "rdma_cm", true);
  }
  // 0: it ends by a count, or by itself.
  [[nodiscard]] double seconds() const {
    const double given = parse_duration_ns(value("duration")).value_or(0) / 1e9;
    const bool shares = is("direction", "both", true) || !value("devices").empty();
    return given > 0 || !shares ? given : kCommonSeconds;
  }
  // Iterations of each queue pair, as the tool counts. Our count is for all queue pairs together.
  [[nodiscard]] std::int64_t iterations() const {
    const std::int64_t lanes = std::max<std::int64_t>(1, number("qps", 1));
    return (number("iterations") + lanes - 1) / lanes;
  }
  // One completion for so many messages: the asked number, bounded by the bytes that ours completes
  // at once.
  [[nodiscard]] std::uint64_t signal_every(std::uint64_t size) const {
    const auto asked =
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, number("signal_every")));
    return std::clamp<std::uint64_t>(kMostBytesPerCompletion / std::max<std::uint64_t>(1, size), 1,
                                     asked);
  }
  // Reports whether -a of the tool gives exactly the task's sizes in one launch.
  [[nodiscard]] bool takes_all_sizes() const {
    return value("sizes") == "2:8MiB" && value("transport") != "UD" && seconds() <= 0 &&
           (is_latency() || number("signal_every") <= 1);
  }

  // --- what it has no way to do: a reason, or "" ------------------------------------------------

  // Reasons about ports and added cost.
  [[nodiscard]] std::string of_ports() const {
    if (value("devices").find(',') != std::string::npos)
      return "it measures one port of each host, not several at once (devices)";
    return is("added_cost_fraction", "0", false) ? "it has no way to add cost" : "";
  }
  // Reasons about GPU memory and staged copies.
  [[nodiscard]] std::string of_memory() const {
    for (const char* side : {"memory", "target_memory"}) {
      if (is_polled_write() && is(side, "cuda", true))
        return "its latency of writes is not for GPU memory";
      if (is(side, "staged", true)) return "it copies nothing between GPU and host";
    }
    return "";
  }
  // Reasons about the network path.
  [[nodiscard]] std::string of_path() const {
    if (is("flow_label", "0", false))
      return "not every version sets a flow label: 4.5 has it for raw Ethernet alone";
    if (is("retry_count", "7", false) && !by_manager()) return "its queue pairs try 7 times again";
    return "";
  }
  // Reasons about polling, completions and counts.
  [[nodiscard]] std::string of_manner() const {
    if (is("poll", "events", true) && writes()) return "its programs that write have no events";
    if (is("poll", "events", true) && seconds() > 0) return "its stretch of time has no events";
    if (is_latency() && is("signal_every", "1", false)) return "its latency completes each message";
    if (number("iterations") > 0 && seconds() <= 0 && iterations() < kFewestIterations)
      return fmt::format("it takes {} iterations or more on a queue pair", kFewestIterations);
    return of_lists();
  }
  // Reasons about lists of work requests: the tool wants whole lists and whole completion
  // intervals.
  [[nodiscard]] std::string of_lists() const {
    const std::int64_t list = number("post_list", 1);
    if (list <= 1) return "";
    if (number("iterations") > 0 && iterations() % list != 0)
      return fmt::format("its count on a queue pair is whole lists, and {} are not, of {}",
                         iterations(), list);
    const auto sizes = parse_bytes_list(is_atomic() ? "8" : value("sizes"));
    for (const std::uint64_t size : sizes.value_or(std::vector<std::uint64_t>{}))
      if (static_cast<std::uint64_t>(list) % signal_every(size) != 0)
        return fmt::format(
            "a list of {} is a multiple of its interval of completions, and {} is "
            "no part of it",
            list, signal_every(size));
    return "";
  }
  // Reasons about sizes of queues that the tool's parser refuses.
  [[nodiscard]] std::string of_limits() const {
    struct Limit {
      const char* name;
      std::int64_t most;
    };
    for (const Limit& limit : {Limit{"signal_every", kMostPerCompletion},
                               Limit{"depth", kMostDepth}, Limit{"receive_depth", kMostReceives}})
      if (number(limit.name) > limit.most)
        return fmt::format("it takes {} of at most {}", limit.name, limit.most);
    for (const RankDetail& rank : task_.ranks())
      if (parse_integer(value_of(rank.facts(), "inline_bytes")).value_or(0) > kMostInline)
        return fmt::format("it sends at most {} bytes inline", kMostInline);
    if (is("srq", "true", true) && number("qps", 1) > number("receive_depth"))
      return "its shared receive queue holds a receive for each queue pair or more";
    return "";
  }

  // --- options ----------------------------------------------------------------------------------

  // An option with the parameter's value, where that is another one than `but`.
  [[nodiscard]] std::string with(const char* option, const std::string& name,
                                 std::string_view but = "") const {
    if (!is(name, but, false)) return "";
    return fmt::format(" {} {}", option, shell_quoted(value(name)));
  }
  // `option` where the parameter has that value, else "".
  [[nodiscard]] std::string where(const char* option, const std::string& name,
                                  std::string_view wanted) const {
    return is(name, wanted, true) ? fmt::format(" {}", option) : "";
  }

  // The rank's own choices, so that perftest takes the same.
  [[nodiscard]] std::string place_of(const RankDetail& rank) const {
    std::string out;
    const auto add = [&](const char* flag, const char* fact) {
      const std::string found = value_of(rank.facts(), fact);
      if (!found.empty()) out += fmt::format(" {} {}", flag, shell_quoted(found));
    };
    add("-d", "device");
    add("-i", "port");
    // The manager's follows from the address; a path without a global header takes none, and -x
    // would make it global.
    const bool is_local = value_of(rank.facts(), "global_route") == "false";
    if (!by_manager() && !is_local) add("-x", "gid_index");
    add("-m", "mtu_bytes");
    if (!out.empty()) return out;
    const std::string port = rank.endpoint().substr(0, rank.endpoint().find('+'));
    const std::size_t colon = port.rfind(':');
    if (colon == std::string::npos) return out;
    return fmt::format(" -d {} -i {}", shell_quoted(port.substr(0, colon)),
                       shell_quoted(port.substr(colon + 1)));
  }
  // Transport, operation, polling, and the length of the measurement.
  [[nodiscard]] std::string kind() const {
    std::string out = with("-c", "transport", "RC");
    if (task_.kernel() == program_.immediate && !program_.immediate.empty())
      out += " --write_with_imm";
    out += where("-A CMP_AND_SWAP", "operation", "compare_swap");
    out += where("-e", "poll", "events");
    // Its stretch of time leaves out a margin at either end; ours counts all of it.
    if (seconds() > 0)
      return out + fmt::format(" -D {:.0f} -f {:.0f}", std::ceil(seconds()) + 2 * kMarginSeconds,
                               kMarginSeconds);
    return iterations() > 0 ? out + fmt::format(" -n {}", iterations()) : out;
  }
  // Queue depth, completions, queue pairs, lists and directions: for bandwidth programs only.
  [[nodiscard]] std::string stream(std::uint64_t size) const {
    std::string out = with("-t", "depth");
    if (!value("signal_every").empty()) out += fmt::format(" -Q {}", signal_every(size));
    out += with("-q", "qps", "1") + with("-l", "post_list", "1") + where("-b", "direction", "both");
    if (program_.name.starts_with("ib_send") || task_.kernel() == program_.immediate)
      out += with("-r", "receive_depth", "512") + where("--use-srq", "srq", "true");
    return out;
  }
  // Service level, traffic class, retries and pkey. The connection manager takes some of them under
  // other names.
  [[nodiscard]] std::string path(const RankDetail& rank) const {
    std::string out = with("-u", "qp_timeout", "14") + with("-S", "service_level", "0");
    if (by_manager())
      return out + " -R" + with("-T", "traffic_class", "0") +
             with("--retry_count", "retry_count", "7");
    out += with("--tclass", "traffic_class", "0");
    std::string index = value_of(rank.facts(), "pkey_index");  // each rank's own
    if (index.empty()) index = value("pkey_index");
    if (!index.empty() && index != "0") out += " --pkey_index " + shell_quoted(index);
    return out;
  }
  [[nodiscard]] static bool is_in_gpu(const RankDetail& rank) {
    return value_of(rank.facts(), "memory") == "cuda";
  }
  // Our GPU numbers follow PCI addresses; CUDA's follow speed without this variable.
  [[nodiscard]] static std::string environment(const RankDetail& rank) {
    return is_in_gpu(rank) ? "CUDA_DEVICE_ORDER=PCI_BUS_ID " : "";
  }
  // Huge pages, the GPU and dma-buf, as this rank really used them.
  [[nodiscard]] std::string memory(const RankDetail& rank) const {
    std::string out = where("--use_hugepages", "huge_pages", "true");
    if (!is_in_gpu(rank)) return out;
    const std::string gpu = value_of(rank.facts(), "gpu");  // "gpu3"
    out += " --use_cuda=" + shell_quoted(gpu.starts_with("gpu") ? gpu.substr(3) : "0");
    if (value_of(rank.facts(), "path") == "dma-buf") out += " --use_cuda_dmabuf";
    const std::string mapping = value_of(rank.facts(), "dmabuf_mapping");
    if (mapping.starts_with("pcie")) out += " --use_cuda_pcie_mapping";
    if (mapping.starts_with("data-direct")) out += " --use_data_direct";
    return out;
  }

  const TaskDetail& task_;
  const PerftestProgram& program_;
  const google::protobuf::Map<std::string, std::string>& parameters_;
};

// A rank that never began has no detail: its endpoint is in the plan.
RankDetail rank_of(const TaskDetail& task, int number) {
  for (const RankDetail& rank : task.ranks())
    if (static_cast<int>(rank.rank()) == number) return rank;
  RankDetail rank;
  rank.set_rank(static_cast<std::uint32_t>(number));
  const std::string& planned = task.endpoints(number);
  const std::size_t slash = planned.find('/');
  rank.set_node(planned.substr(0, slash));
  if (slash != std::string::npos) rank.set_endpoint(planned.substr(slash + 1));
  return rank;
}

}  // namespace

// The listening side first: it has to be started first.
Result<std::vector<PeerLine>> perftest_lines(const TaskDetail& task) {
  const PerftestProgram* program = perftest_program_of(task.kernel());
  if (program == nullptr) return none(task.kernel() + ": it has no test of this kind");
  if (task.endpoints_size() != 2) return none(task.kernel() + ": it measures between two ports");
  const CommandLine line(task, *program);
  RG_TRY_OK(line.check());
  const RankDetail connecting = rank_of(task, 0);
  const RankDetail listening = rank_of(task, 1);
  std::vector<PeerLine> lines;
  for (const std::uint64_t size : RG_TRY(line.sizes())) {
    lines.push_back({1, listening.node(), line.command(listening, size)});
    lines.push_back(
        {0, connecting.node(),
         fmt::format("{} {}", line.command(connecting, size), line.host_of(listening))});
  }
  return lines;
}

}  // namespace railgauge::cli
