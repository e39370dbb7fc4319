#include "controller/cli/perftest.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kernels/core/params.h"

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

// A parameter other than its value that says "none of it".
bool is_set(const TaskDetail& task, const std::string& name, std::string_view off) {
  const std::string value = value_of(task.parameters(), name);
  return !value.empty() && value != off;
}

Result<std::vector<std::uint64_t>> sizes_of(const TaskDetail& task) {
  KernelInfo declared;
  ParameterInfo& sizes = *declared.add_parameters();
  sizes.set_name("sizes");
  sizes.set_type("bytes_list");
  sizes.set_default_value(value_of(task.parameters(), "sizes"));
  return RG_TRY(Params::parse(declared, {})).bytes_list("sizes");
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
  const std::size_t colon = rank.endpoint().rfind(':');
  if (colon == std::string::npos) return out;
  return fmt::format(" -d {} -i {}", shell_word(rank.endpoint().substr(0, colon)),
                     shell_word(rank.endpoint().substr(colon + 1)));
}

// How the connecting side reaches the other one: by its IPv4 GID, else by the node's name.
std::string host_of(const RankDetail& rank) {
  const std::string gid = value_of(rank.facts(), "gid");
  return shell_word(gid.starts_with(kMappedIpv4) ? gid.substr(kMappedIpv4.size()) : rank.node());
}

std::string common_flags(const TaskDetail& task, const RankDetail& rank, std::uint64_t size) {
  const auto& parameters = task.parameters();
  std::string out = fmt::format("{} -s {}", place_of(rank), size);
  if (is_set(task, "iterations", "0"))
    out += " -n " + shell_word(value_of(parameters, "iterations"));
  if (task.kernel() == "verbs.write_bw") {
    for (const auto& [flag, name] : {std::pair{"-t", "depth"}, std::pair{"-Q", "signal_every"}})
      if (is_set(task, name, ""))
        out += fmt::format(" {} {}", flag, shell_word(value_of(parameters, name)));
    // Without the flag perftest registers for relaxed ordering.
    if (!is_set(task, "relaxed_ordering", "false")) out += " --disable_pcie_relaxed";
  }
  if (const std::string bytes = value_of(rank.facts(), "inline_bytes"); !bytes.empty())
    out += " -I " + shell_word(bytes);
  if (is_set(task, "qp_timeout", "14"))
    out += " -u " + shell_word(value_of(parameters, "qp_timeout"));
  return out + " -F";
}

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
  const std::string program = task.kernel() == "verbs.write_bw"    ? "ib_write_bw"
                              : task.kernel() == "verbs.write_lat" ? "ib_write_lat"
                                                                   : "";
  if (program.empty()) return none(task.kernel() + ": it has no test of this kind");
  if (is_set(task, "added_cost_fraction", "0"))
    return none(task.kernel() + ": it has no way to add cost");
  if (task.endpoints_size() != 2) return none(task.kernel() + ": it measures between two ports");
  const RankDetail connecting = rank_of(task, 0);
  const RankDetail listening = rank_of(task, 1);
  std::vector<PeerLine> lines;
  for (const std::uint64_t size : RG_TRY(sizes_of(task))) {
    lines.push_back({1, listening.node(), program + common_flags(task, listening, size)});
    lines.push_back({0, connecting.node(),
                     fmt::format("{}{} {}", program, common_flags(task, connecting, size),
                                 host_of(listening))});
  }
  return lines;
}

}  // namespace railgauge::cli
