// Parses perftest's command line by the table of rows.h, and converts it to our kernel's
// parameters.
#include "kernels/peers/perftest/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/kernel.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/tool_options.h"
#include "kernels/peers/perftest/rows.h"

namespace railgauge {
namespace {

constexpr std::int64_t kMostIterations = 10'000'000;  // of a kernel
constexpr const char* kMostSamples = "10000000";      // a duration ends before

// --- options to parameters --------------------------------------------------------------------

// -D sets the kernel's duration if it has one; a latency kernel takes samples for that time,
// whatever its precision.
Status take_seconds(const KernelInfo& kernel, PerftestReading& reading) {
  if (!reading.seconds) return {};
  if (reading.said.contains("iterations"))
    return invalid("-D and -n exclude each other: one ends by time, the other by count");
  // -D counts seconds.
  const std::string duration = *reading.seconds + "s";
  if (find_declared(kernel, "duration") != nullptr) {
    reading.said["duration"] = {"-D", duration, {}};
    return {};
  }
  for (const auto& [name, value] :
       {std::pair{"iterations", "0"}, std::pair{"min_samples", kMostSamples},
        std::pair{"max_samples", kMostSamples}, std::pair{"time_cap", duration.c_str()}})
    reading.said[name] = {"-D", value, {}};
  return {};
}

// Options whose meaning depends on others: all sizes of datagrams, a count over several queue
// pairs, both directions.
Status check_together(PerftestReading& reading) {
  const auto transport = reading.said.find("transport");
  if (reading.all_sizes && transport != reading.said.end() && transport->second.value == "UD") {
    const auto mtu = reading.said.find("mtu");
    if (mtu == reading.said.end())
      return invalid("-a: datagrams end at the MTU; name it with -m, or one size with -s");
    reading.said["sizes"].value = "2:" + mtu->second.value;
  }
  if (reading.call.each_direction && !reading.said.contains("direction"))
    return invalid("--report-both: one direction alone is measured; add -b to a bandwidth");
  if (reading.host_memory_beside_gpu && reading.said.contains("gpu")) {
    reading.said["memory"].value = "host";
    for (const char* of_gpu : {"gpu", "registration"}) reading.said.erase(of_gpu);
    reading.call.infos.emplace_back(
        "--cuda_mem_type=4: messages are in the host's memory, and no GPU touches it");
  }
  const auto iterations = reading.said.find("iterations");
  if (iterations == reading.said.end()) return {};
  // -n counts for each queue pair, ours for all together.
  if (const auto qps = reading.said.find("qps"); qps != reading.said.end()) {
    const std::int64_t each = parse_integer(iterations->second.value).value_or(0);
    const std::int64_t lanes = parse_integer(qps->second.value).value_or(0);
    // The product stays far below the range of the type.
    if (each > 0 && each <= kMostIterations && lanes > 0 && lanes <= kMostIterations)
      iterations->second.value = std::to_string(each * lanes);
  }
  if (!reading.said.contains("direction")) return {};
  reading.said.erase("iterations");
  reading.call.infos.emplace_back(
      "-n changes nothing beside -b: both directions are counted in one interval, of 1 s or as -D "
      "says");
  return {};
}

// Checks each option against the kernel's declaration, so that a message names the option, not our
// parameter.
Status take_parameters(const KernelInfo& kernel, const PerftestReading& reading,
                       std::map<std::string, std::string>& out) {
  for (const auto& [name, said] : reading.said) {
    const ParameterInfo* parameter = find_declared(kernel, name);
    if (parameter == nullptr && said.is_so_anyhow) continue;
    if (parameter == nullptr)
      return invalid("{}: {} has no such choice{}{}", said.option, kernel.name(),
                     said.why.empty() ? "" : ": ", said.why);
    auto checked = check_parameter(*parameter, said.value);
    if (!checked) return invalid("{}: {}", said.option, checked.error().message);
    out[name] = std::move(*checked);
  }
  for (const auto& [name, value] : reading.set) out[name] = value;
  RG_TRY_OK(Params::parse(kernel, out));
  return {};
}

// The tool's rate in Gb/s, the unit of our parameter. Without a type the tool sets a static rate of
// the path, which nothing here does.
void take_rate_unit(PerftestReading& reading) {
  const auto rate = reading.said.find("rate_limit");
  if (rate == reading.said.end()) return;
  constexpr double kGigabitsOfMebibytes = 8.0 * (1U << 20U) / 1e9;
  rate->second.value =
      fmt::format("{:.9g}", reading.rate * (reading.rate_is_gigabits ? 1 : kGigabitsOfMebibytes));
  if (!reading.said.contains("rate_limit_by"))
    reading.call.infos.emplace_back(
        "--rate_limit is kept by the CPU here unless --rate_limit_type=PP is given");
}

// Uses port 1 by default, as the tool does.
Status take_endpoint(const PerftestReading& reading, std::string& endpoint) {
  if (!reading.device) {
    if (reading.device_port)
      return invalid("-i: names a port of a device; name the device too, with -d");
    return {};
  }
  const auto port = parse_integer(reading.device_port.value_or("1"));
  if (!port || *port < 1 || *port > UINT8_MAX)
    return invalid("-i: {} is no port: 1 to 255", in_quotes(*reading.device_port));
  endpoint = fmt::format("{}:{}", *reading.device, *port);
  return {};
}

// Refuses to print a figure that the program does not measure, and floors of one: the tool ignores
// them. The client alone has the figures, and floors are compared with those of its table.
Status check_output(const PerftestProgram& program, const PerftestCall& call) {
  const bool is_latency = program.name.ends_with("_lat");
  const auto not_of = [&](std::string_view option) {
    return invalid("{}: {} measures {}", option, program.name,
                   is_latency ? "latency" : "bandwidth and message rate");
  };
  if (!call.only.empty() && is_latency != (call.only == "latency"))
    return not_of("--output=" + call.only);
  if (call.samples != PerftestSamples::kNone && !is_latency) return not_of("-U and -H");
  const bool has_floor = call.least_bandwidth > 0 || call.least_message_rate > 0;
  if (has_floor && is_latency) return not_of("-w and -y");
  if ((has_floor || !call.counters.empty()) && call.format != Format::kTable)
    return invalid("-w, -y and -W: floors and counters go with the table; leave out --format");
  if (has_floor && !call.host)
    return invalid("-w and -y: a floor is judged by the client; name it there");
  return {};
}

}  // namespace

// The profile completes the client's options; the listener follows the client.
Result<PerftestCall> read_perftest_call(const PerftestProgram& program,
                                        const std::vector<std::string>& arguments,
                                        const FindKernel& find) {
  PerftestReading reading;
  reading.call.deadline_seconds = kDefaultDeadlineSeconds;
  const auto hosts = RG_TRY(read_options(program.name, perftest_rows(), arguments, reading));
  // perftest takes one host.
  if (hosts.size() > 1)
    return invalid("{}: {} and {}: only one host can be named", program.name, in_quotes(hosts[0]),
                   in_quotes(hosts[1]));
  PerftestCall& call = reading.call;
  // The one operand is the host, as in the tool.
  if (!hosts.empty()) call.host = hosts.front();
  if (call.help || call.version) return std::move(call);
  // Only writes have a variant with immediate data.
  if (reading.immediate && program.immediate.empty())
    return invalid("--write_with_imm: {} writes nothing", program.name);
  RG_TRY_OK(check_output(program, call));
  call.kernel = reading.immediate ? program.immediate : program.kernel;
  const KernelRow* row = find(call.kernel);
  if (row == nullptr) return fail(Code::kUnimplemented, "this build has no kernel {}", call.kernel);
  const KernelInfo kernel = row->info();
  RG_TRY_OK(take_seconds(kernel, reading));
  RG_TRY_OK(check_together(reading));
  take_rate_unit(reading);
  RG_TRY_OK(take_endpoint(reading, call.endpoint));
  RG_TRY_OK(take_parameters(kernel, reading, call.parameters));
  if (call.host) {
    call.parameters = RG_TRY(with_profile(kPerftestProfile, call.kernel, call.parameters));
    RG_TRY_OK(Params::parse(kernel, call.parameters));
  }
  return std::move(call);
}

// Lists neither refused options nor options that the kernel lacks.
std::string perftest_help(const PerftestProgram& program, const FindKernel& find) {
  std::string out = fmt::format(
      "Measures what {0} measures, by {1}, in its units.\n"
      "  railgauge-runner {0} [OPTIONS]        wait for one client\n"
      "  railgauge-runner {0} [OPTIONS] HOST   measure against the one that waits there\n"
      "Where the client says nothing it takes perftest's sizes, counts and depth; the one that "
      "waits "
      "follows it.\n\n",
      program.name, program.kernel);
  const KernelRow* kernel = find(program.kernel);
  for (const PerftestRow& row : perftest_rows()) {
    if (is_refused(row)) continue;
    if (kernel != nullptr && !row.parameter.empty() &&
        find_declared(kernel->info(), row.parameter) == nullptr)
      continue;
    out += fmt::format("{}{}\n", option_help(row),
                       row.parameter.empty() ? "" : fmt::format("  (parameter {})", row.parameter));
  }
  return out;
}

}  // namespace railgauge
