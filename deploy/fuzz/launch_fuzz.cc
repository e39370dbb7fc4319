// Command lines that cross a node's border: an MPI launcher's for its daemons, as words and as the
// shim's frames on a socket; and command lines of perftest, OSU and nccl-tests.
// Properties: an accepted daemon's words contain nothing that a shell or a path could use, name
// their launcher, and are a fixed point of the grammar; a lease covers all that a command does; a
// second decoder finds the same frames; a peer's command gives parameters that are valid text.
#include <array>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "deploy/fuzz/properties.h"
#include "kernels/core/text/lines.h"
#include "kernels/launch/node/grammar.h"
#include "kernels/launch/shim/wire.h"
#include "kernels/peers/nccl_tests/options.h"
#include "kernels/peers/osu/profile.h"
#include "kernels/peers/perftest/options.h"

namespace railgauge::fuzz {
namespace {

constexpr std::string_view kShim = "/usr/libexec/railgauge/launch-shim";

launch::Lease lease_for(launch::Daemon daemon) {
  return {.task = "r1/t1",
          .daemon = daemon,
          .nodes = {"192.0.2.1", "192.0.2.3"},
          .launchers = {"192.0.2.2"},
          .network = daemon == launch::Daemon::kHydraProxy ? "eth0" : "192.0.2.0/24",
          .expires_monotonic_ns = 1'000};
}

std::string host_of(std::string_view end_point) {
  std::string_view host = end_point.substr(0, end_point.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

// Every character that the grammar could let through, in any value. None of them means anything to
// a shell inside of single words; '/' is for networks and the shim only.
void check_argument(const std::string& word) {
  if (word == kShim) return;
  FUZZ_CHECK(!word.empty(), word);
  FUZZ_CHECK(made_of(word, "./:,_^@[]();-"), word);
  FUZZ_CHECK(word.front() != '/', word);
  FUZZ_CHECK(word.find("..//") == std::string::npos && word.find("/../") == std::string::npos,
             word);
}

void check_command(const std::vector<std::string>& words) {
  const auto command = launch::read_daemon_command(words, kShim);
  check_error(command);
  if (!command) {
    FUZZ_CHECK(command.error().code == Code::kPermissionDenied, command.error().message);
    return;
  }
  FUZZ_CHECK(made_of(command->node, ".:-") && !command->node.starts_with('-'), command->node);
  FUZZ_CHECK(!command->calls_back.empty(), command->node);
  FUZZ_CHECK(!command->networks.empty(), command->node);
  for (const std::string& word : command->arguments) check_argument(word);
  FUZZ_CHECK(std::ranges::find(command->arguments, "--daemonize") == command->arguments.end(),
             "the daemon would leave its keeper");
  std::vector<std::string> again{command->node, std::string(launch::daemon_name(command->daemon))};
  again.insert(again.end(), command->arguments.begin(), command->arguments.end());
  const auto second = launch::read_daemon_command(again, kShim);
  FUZZ_CHECK(second, error_of(second));
  FUZZ_CHECK(second->arguments == command->arguments && second->calls_back == command->calls_back &&
                 second->networks == command->networks && second->daemon == command->daemon,
             command->node);
  const launch::Lease lease = lease_for(command->daemon);
  const Status late = launch::check_lease(*command, lease, 1'000);
  FUZZ_CHECK(!late, "an expired lease holds");
  check_error(late);
  const Status holds = launch::check_lease(*command, lease, 0);
  check_error(holds);
  if (!holds) return;
  FUZZ_CHECK(lease.nodes.contains(command->node), command->node);
  for (const std::string& end : command->calls_back)
    FUZZ_CHECK(lease.launchers.contains(host_of(end)), end);
  for (const std::string& network : command->networks)
    FUZZ_CHECK(network == lease.network, network);
}

// Words of an input: one a line.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  for (const std::string_view line : lines_of(text)) words.emplace_back(line);
  return words;
}

void check_wire(std::string_view stream, std::size_t portion) {
  launch::Decoder decoder;
  std::string again;
  for (std::string_view left = stream; !left.empty() && !decoder.garbage();) {
    const std::size_t size = std::min(portion, left.size());
    decoder.feed(left.substr(0, size));
    left.remove_prefix(size);
    while (const auto frame = decoder.next()) {
      FUZZ_CHECK(frame->bytes.size() <= launch::kMaxWireBytes, stream);
      again += launch::encode(frame->kind, frame->bytes);
      if (frame->kind != launch::Kind::kAsk) continue;
      const auto words = launch::split_words(frame->bytes);
      FUZZ_CHECK(launch::split_words(launch::join_words(words)) == words, frame->bytes);
      check_command(words);
    }
  }
  FUZZ_CHECK(stream.starts_with(again), stream);  // nothing is skipped, made up or changed
}

// --- command lines of other tools ---------------------------------------------------------------

KernelInfo any_kernel() {
  KernelInfo kernel;
  kernel.set_name("verbs.write_bw");
  kernel.set_min_ranks(2);
  kernel.set_max_ranks(2);
  kernel.set_endpoint_kind("nic");
  struct Row {
    const char* name;
    const char* type;
    const char* value;
  };
  for (const Row& row :
       {Row{"sizes", "bytes_list", "8"}, Row{"iterations", "integer", "0"},
        Row{"min_samples", "integer", "1"}, Row{"max_samples", "integer", "1000"},
        Row{"warmup", "integer", "0"}, Row{"depth", "integer", "16"}, Row{"mtu", "integer", "0"},
        Row{"duration", "duration", "0s"}, Row{"gid_index", "integer", "0"},
        Row{"connection", "text", "rc"}, Row{"memory", "text", "host"}, Row{"type", "text", ""},
        Row{"reduction", "text", ""}, Row{"root", "integer", "0"},
        Row{"window", "integer", "64"}}) {
    ParameterInfo& parameter = *kernel.add_parameters();
    parameter.set_name(row.name);
    parameter.set_type(row.type);
    parameter.set_default_value(row.value);
  }
  return kernel;
}

const KernelRow* find_any(std::string_view) {
  static constexpr KernelRow kRow{any_kernel, nullptr};
  return &kRow;
}

void check_parameters(const std::map<std::string, std::string>& parameters) {
  for (const auto& [name, value] : parameters) check_line(name);
}

void check_peer(std::size_t number, const std::vector<std::string>& words) {
  if (number % 3 == 0) {
    const auto programs = osu_programs();
    const auto ours = read_osu_command(programs[number % programs.size()], words);
    check_error(ours);
    FUZZ_CHECK(!ours || !ours->empty(), "an accepted command without a kernel");
  } else if (number % 3 == 1) {
    const auto programs = perftest_programs();
    const auto call = read_perftest_call(programs[number % programs.size()], words, find_any);
    check_error(call);
    if (!call || call->help || call->version) return;
    check_parameters(call->parameters);
    FUZZ_CHECK(call->deadline_seconds > 0, call->kernel);
    for (const std::string& info : call->infos) check_line(info);
  } else {
    const auto programs = nccl_tests_programs();
    const auto call = read_nccl_tests_call(programs[number % programs.size()], words, find_any);
    check_error(call);
    if (!call || call->help) return;
    FUZZ_CHECK(call->deadline_seconds > 0 && !call->tasks.empty(), "a call without a task");
    for (const NcclTestsTask& task : call->tasks) check_parameters(task.parameters);
  }
}

}  // namespace
}  // namespace railgauge::fuzz

// The first byte: 'W' words of a launcher, 'F' frames of a shim, anything else the number of a
// program of another tool.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::fuzz;
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'W')
    check_command(words_in(text));
  else if (data[0] == 'F')
    check_wire(text.substr(1), 1U + data[1]);
  else
    check_peer(data[0], words_in(text));
  return 0;
}
