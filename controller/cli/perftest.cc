#include "controller/cli/perftest.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "kernels/core/params.h"
#include "kernels/core/perftest_profile.h"
#include "kernels/core/units.h"

namespace railgauge::cli {
namespace {

using railgauge::api::RankDetail;
using railgauge::api::TaskDetail;

constexpr std::string_view kMappedIpv4 = "::ffff:";

tl::unexpected<Error> none(std::string reason) {
  return fail(Code::kUnimplemented, "perftest: " + std::move(reason));
}

template <class Map>
std::string value_of(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? "" : found->second;
}

// The sizes of the task, each as the options of one launch: the tool measures one in a run, or the
// powers of two from 2 to 2^23.
Result<std::vector<std::string>> size_options(const TaskDetail& task,
                                              const PerftestProgram& program) {
  if (program.name.starts_with("ib_atomic")) return std::vector<std::string>{""};
  const std::string text = value_of(task.parameters(), "sizes");
  if (text == "2:8MiB" && value_of(task.parameters(), "transport") != "UD")
    return std::vector<std::string>{" -a"};
  KernelInfo declared;
  ParameterInfo& sizes = *declared.add_parameters();
  sizes.set_name("sizes");
  sizes.set_type("bytes_list");
  sizes.set_default_value(text);
  std::vector<std::string> out;
  for (const std::uint64_t size : RG_TRY(Params::parse(declared, {})).bytes_list("sizes"))
    out.push_back(fmt::format(" -s {}", size));
  return out;
}

// What the rank chose, so that perftest takes the same; nothing where it did not get so far.
std::string place_of(const RankDetail& rank) {
  std::string out;
  const auto add = [&](const char* flag, const char* fact) {
    const std::string value = value_of(rank.facts(), fact);
    if (!value.empty()) out += fmt::format(" {} {}", flag, shell_word(value));
  };
  add("-d", "device");
  add("-i", "port");
  add("-x", "gid_index");
  add("-m", "mtu_bytes");
  if (!out.empty()) return out;
  const std::string port = rank.endpoint().substr(0, rank.endpoint().find('+'));
  const std::size_t colon = port.rfind(':');
  if (colon == std::string::npos) return out;
  return fmt::format(" -d {} -i {}", shell_word(port.substr(0, colon)),
                     shell_word(port.substr(colon + 1)));
}

// How the connecting side reaches the other one: by its IPv4 GID, else by the node's name.
std::string host_of(const RankDetail& rank) {
  const std::string gid = value_of(rank.facts(), "gid");
  return shell_word(gid.starts_with(kMappedIpv4) ? gid.substr(kMappedIpv4.size()) : rank.node());
}

// perftest has a program for each verb and figure; what a kernel of ours takes stands in its
// parameters, defaults included, so that an option is printed where the parameter is there.
class CommandLine {
 public:
  CommandLine(const TaskDetail& task, const PerftestProgram& program)
      : task_(task), program_(program) {}

  // What the tool cannot be told: one reason.
  [[nodiscard]] Status check() const {
    const auto none_since = [this](std::string reason) -> Status {
      return none(task_.kernel() + ": " + std::move(reason));
    };
    if (is("added_cost_fraction", "0", false)) return none_since("it has no way to add cost");
    if (is("flow_label", "0", false)) return none_since("it has no way to set a flow label");
    if (is("retry_count", "7", false)) return none_since("its queue pairs try 7 times again");
    if (is("poll", "events", true) && writes())
      return none_since("its programs that write have no events");
    if (is_latency() && is("signal_every", "1", false))
      return none_since("its latency completes each message");
    for (const char* side : {"memory", "target_memory"}) {
      if (is_latency() && writes() && program_.kernel == task_.kernel() && is(side, "cuda", true))
        return none_since("its CPU would poll the GPU's memory");
      if (is(side, "staged", true)) return none_since("it copies nothing between GPU and host");
    }
    const std::int64_t iterations = parse_integer(value("iterations")).value_or(0);
    const std::int64_t lanes = parse_integer(value("qps")).value_or(1);
    if (iterations > 0 && iterations < kFewestIterations * lanes)
      return none_since(
          fmt::format("it takes {} iterations or more on a queue pair", kFewestIterations));
    return {};
  }

  // Of one rank, but for the host; `size` as size_options gives it.
  [[nodiscard]] std::string options(const RankDetail& rank, const std::string& size) const {
    std::string out = place_of(rank) + size + kind();
    if (!is_latency()) out += stream();
    if (!writes_nothing())
      if (const std::string bytes = value_of(rank.facts(), "inline_bytes"); !bytes.empty())
        out += " -I " + shell_word(bytes);
    return out + path() + memory(rank);
  }

 private:
  static constexpr std::int64_t kFewestIterations = 5;
  static constexpr double kMarginSeconds = 1;  // that it leaves out at either end

  [[nodiscard]] std::string value(const std::string& name) const {
    return value_of(task_.parameters(), name);
  }
  // Whether the parameter is there and has the value, or (`same` false) another one.
  [[nodiscard]] bool is(const std::string& name, std::string_view other, bool same) const {
    const std::string found = value(name);
    return !found.empty() && (found == other) == same;
  }
  [[nodiscard]] bool is_latency() const { return program_.name.ends_with("_lat"); }
  [[nodiscard]] bool writes() const { return program_.name.starts_with("ib_write"); }
  [[nodiscard]] bool writes_nothing() const {
    return program_.name.starts_with("ib_read") || program_.name.starts_with("ib_atomic");
  }
  // An option with the parameter's value, where that is another one than `but`.
  [[nodiscard]] std::string with(const char* option, const std::string& name,
                                 std::string_view but = "") const {
    if (!is(name, but, false)) return "";
    return fmt::format(" {} {}", option, shell_word(value(name)));
  }
  [[nodiscard]] std::string where(const char* option, const std::string& name,
                                  std::string_view wanted) const {
    return is(name, wanted, true) ? fmt::format(" {}", option) : "";
  }

  [[nodiscard]] std::string kind() const {
    std::string out = with("-c", "transport", "RC");
    if (task_.kernel() == program_.immediate && !program_.immediate.empty())
      out += " --write_with_imm";
    out += where("-A CMP_AND_SWAP", "operation", "compare_swap");
    out += where("-e", "poll", "events");
    return out + count();
  }
  // Its stretch of time leaves out a margin at either end; ours counts all of it.
  [[nodiscard]] std::string count() const {
    const double seconds = parse_duration_ns(value("duration")).value_or(0) / 1e9;
    if (seconds > 0)
      return fmt::format(" -D {:.0f} -f {:.0f}", std::ceil(seconds) + 2 * kMarginSeconds,
                         kMarginSeconds);
    // It counts on each queue pair, ours are all of them together.
    const std::int64_t all = parse_integer(value("iterations")).value_or(0);
    const std::int64_t lanes = std::max<std::int64_t>(1, parse_integer(value("qps")).value_or(1));
    return all > 0 ? fmt::format(" -n {}", (all + lanes - 1) / lanes) : "";
  }
  [[nodiscard]] std::string stream() const {
    std::string out = with("-t", "depth") + with("-Q", "signal_every") + with("-q", "qps", "1") +
                      with("-l", "post_list", "1") + where("-b", "direction", "both");
    if (program_.name.starts_with("ib_send"))
      out += with("-r", "receive_depth", "512") + where("--use-srq", "srq", "true");
    // Without the flag it registers for relaxed ordering; ours only where told to.
    const bool relaxed = value("relaxed_ordering") == "true";
    return relaxed ? out : out + " --disable_pcie_relaxed";
  }
  [[nodiscard]] std::string path() const {
    return with("-u", "qp_timeout", "14") + with("-S", "service_level", "0") +
           with("--tclass", "traffic_class", "0") + with("--pkey_index", "pkey_index", "0") +
           where("-R", "connection", "rdma_cm");
  }
  [[nodiscard]] std::string memory(const RankDetail& rank) const {
    std::string out = where("--use_hugepages", "huge_pages", "true");
    if (value_of(rank.facts(), "memory") != "cuda") return out;
    const std::string gpu = value_of(rank.facts(), "gpu");  // "gpu3"
    out += " --use_cuda=" + shell_word(gpu.starts_with("gpu") ? gpu.substr(3) : "0");
    if (value_of(rank.facts(), "path") == "dma-buf") out += " --use_cuda_dmabuf";
    return out;
  }

  const TaskDetail& task_;
  const PerftestProgram& program_;
};

// A rank that never began has no detail: its endpoint stands in the plan.
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

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "_.:-/=,+%@";
  const bool plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<std::vector<PeerLine>> perftest_lines(const TaskDetail& task) {
  const PerftestProgram* program = perftest_program_of(task.kernel());
  if (program == nullptr) return none(task.kernel() + ": it has no test of this kind");
  if (task.endpoints_size() != 2) return none(task.kernel() + ": it measures between two ports");
  const CommandLine line(task, *program);
  RG_TRY_OK(line.check());
  const RankDetail connecting = rank_of(task, 0);
  const RankDetail listening = rank_of(task, 1);
  std::vector<PeerLine> lines;
  for (const std::string& size : RG_TRY(size_options(task, *program))) {
    const auto command = [&](const RankDetail& rank) {
      return fmt::format("{}{} -F", program->name, line.options(rank, size));
    };
    lines.push_back({1, listening.node(), command(listening)});
    lines.push_back(
        {0, connecting.node(), fmt::format("{} {}", command(connecting), host_of(listening))});
  }
  return lines;
}

}  // namespace railgauge::cli
