#include "agent/metrics.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/busy/options.h"
#include "controller/api/contract.h"
#include "controller/metric/exposition.h"
#include "controller/metric/process.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/fact_words.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/units.h"

namespace railgauge::agent {
namespace {
using metric::Labels;

constexpr double kSmallBytes = 256;
constexpr double kMediumBytes = 64 * 1024;
constexpr double kBitsPerByte = 8;
const std::string kUnknownKernel = "unknown";
// Growth that the watch reports; shown from the start, because a counter that begins above zero has
// not grown.
constexpr std::array kEventKinds{
    "counter", "device_vanished", "device_returned", "row_remap", "sxid", "watch", "xid"};
constexpr std::array kEventSeverities{severity::kInfo, severity::kWarning, severity::kCritical};
constexpr const char* kResultTime = "railgauge_result_timestamp_seconds";
constexpr const char* kPreflightTime = "railgauge_preflight_timestamp_seconds";
constexpr const char* kPreflightResults = "railgauge_preflight_results";
constexpr std::array kMeasured{"railgauge_link_latency_seconds",
                               "railgauge_link_bandwidth_bytes_per_second",
                               "railgauge_link_pause_ratio",
                               "railgauge_gpu_latency_seconds",
                               "railgauge_gpu_bandwidth_bytes_per_second",
                               kResultTime};

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "mlx5_0:1" is a device and a port; a netdev or a PCI address is a device alone.
Labels device_labels(const std::string& device) {
  const auto colon = device.find(':');
  if (colon == std::string::npos || colon == 0 || !is_number(device.substr(colon + 1)))
    return {{"device", device}};
  return {{"device", device.substr(0, colon)}, {"port", device.substr(colon + 1)}};
}

// Returns the labels of an endpoint; absent if it is neither a port nor a GPU.
std::optional<Labels> endpoint_labels(const std::string& endpoint) {
  if (endpoint.starts_with("gpu") && endpoint.find(':') == std::string::npos)
    return Labels{{"gpu", endpoint}};
  Labels labels = device_labels(endpoint.substr(0, endpoint.find('+')));  // "DEV:PORT+gpuN"
  if (!labels.contains("port")) return std::nullopt;
  return labels;
}

Labels with(Labels labels, const char* label, std::string value) {
  labels[label] = std::move(value);
  return labels;
}

// A point's own facts come before its task's.
std::string_view fact_of(const Started& started, const Point& point, const char* name) {
  if (const auto own = point.facts().find(name); own != point.facts().end()) return own->second;
  const auto of_task = started.facts().find(name);
  return of_task == started.facts().end() ? std::string_view() : of_task->second;
}

// Returns the kind of memory: "staged" if either side is copied through host memory, "gpu" if
// either side is not host memory, else "host".
const char* memory_of(const Started& started, const Point& point) {
  for (const char* path : {"path", "peer_path"})
    if (fact_of(started, point, path) == "staged") return "staged";
  for (const char* side : {"memory", "peer_memory"}) {
    const std::string_view memory = fact_of(started, point, side);
    if (!memory.empty() && !memory.starts_with("host")) return "gpu";
  }
  return "host";
}

bool is_one_direction(const Point& point) { return !point.meaning().starts_with("bidirectional"); }

// Neither a sum over several rails nor between a port and itself.
bool is_one_wire(const Point& point) {
  const auto checked = point.facts().find("line_rate_check");
  return point.pair().find('>') == std::string::npos &&
         (checked == point.facts().end() || !checked->second.ends_with(kBothEndsAreOnePort));
}

// Returns the labels that a figure shares with its time of measurement.
Labels source_of(const Labels& labels) {
  Labels source;
  for (const char* name : {"device", "port", "gpu", "kernel"})
    if (const auto label = labels.find(name); label != labels.end()) source.insert(*label);
  return source;
}

std::string line_of(const metric::Sample& sample) {
  std::string labels;
  for (const auto& [name, value] : sample.labels)
    labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", name, value);
  return fmt::format("{}{{{}}} {}\n", sample.name, labels, sample.value);
}

// The known value of a part of the stack.
std::string fingerprint(const google::protobuf::Map<std::string, std::string>& part) {
  std::map<std::string, std::string> known;
  for (const auto& [name, value] : part)
    if (value != kUnknownPart) known[name] = value;
  return stack_hash(known);
}

bool is_one_of(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
}  // namespace

const char* size_class(double message_bytes) {
  if (message_bytes <= kSmallBytes) return "small";
  return message_bytes <= kMediumBytes ? "medium" : "large";
}

std::string dcgm_bus_id(const std::string& pci_address) {
  constexpr std::size_t kDomainDigits = 8;
  const auto colon = pci_address.find(':');
  if (colon == std::string::npos || colon > kDomainDigits) return pci_address;
  std::string id = std::string(kDomainDigits - colon, '0') + pci_address;
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return id;
}

Metrics::Metrics() {
  registry_.set("railgauge_agent_info", {{"version", RAILGAUGE_VERSION}}, 1);
  for (const char* kind : kEventKinds)
    for (const char* severity : kEventSeverities)
      registry_.add("railgauge_node_events_total", {{"kind", kind}, {"severity", severity}}, 0);
  set_busy({});
  sample_process();
}

Metrics::~Metrics() = default;

// "[::1]:7471" and "7471" name a host as "127.0.0.1:7471" does; an empty host is every address.
Result<int> Metrics::listen(const std::string& address, const std::string& web_config) {
  const std::size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = parse_integer(colon == std::string::npos ? address : address.substr(colon + 1));
  if (!port || *port < 0 || *port > 65'535)
    return fail(Code::kUnavailable,
                fmt::format("metrics on {}: this is no ADDRESS:PORT; choose another "
                            "--metrics-listen",
                            address));
  auto started = http::Server::start(
      host, static_cast<int>(*port),
      {.metrics = [this] { return text(); }, .healthy = [] { return true; }}, web_config);
  if (!started && started.error().code == Code::kInvalidArgument)
    return fail(started.error().code, fmt::format("--web-config-file {}", started.error().message));
  if (!started)
    return fail(Code::kUnavailable, fmt::format("metrics on {}: listen: {}; choose another "
                                                "--metrics-listen",
                                                address, started.error().message));
  server_ = std::move(*started);
  return server_->port();
}

std::string Metrics::port_fact() const {
  return server_ ? std::to_string(server_->port()) : api::kNoMetrics;
}

void Metrics::set_kernels(const KernelList& kernels) {
  kernels_.clear();
  for (const KernelInfo& kernel : kernels.kernels()) kernels_.insert(kernel.name());
}

const std::string& Metrics::bounded_kernel(const std::string& kernel) const {
  return kernels_.contains(kernel) ? kernel : kUnknownKernel;
}

void Metrics::set_connected(bool connected) {
  registry_.set("railgauge_agent_connected", {}, connected ? 1 : 0);
}

void Metrics::set_tls(double until_unix, double authority_until_unix, double failures) {
  constexpr const char* kExpiry = "railgauge_certificate_expiry_timestamp_seconds";
  registry_.set(kExpiry, {{"certificate", "own"}}, until_unix);
  registry_.set(kExpiry, {{"certificate", "authority"}}, authority_until_unix);
  registry_.raise_to("railgauge_tls_reload_failures_total", {{"file", "certificate"}}, failures);
}

void Metrics::reconnected() { registry_.add("railgauge_agent_reconnects_total", {}); }

void Metrics::set_spool(double waiting_records, double used_bytes, double limit_bytes) {
  registry_.set("railgauge_agent_spool_records", {}, waiting_records);
  registry_.set("railgauge_agent_spool_bytes", {}, used_bytes);
  registry_.set("railgauge_agent_spool_limit_bytes", {}, limit_bytes);
}

void Metrics::set_node(const api::Hello& hello) {
  std::map<Labels, double> nics;
  std::map<Labels, double> up;
  std::map<Labels, double> expected;
  for (const api::Nic& nic : hello.nics()) {
    const Labels port{{"device", nic.device()}, {"port", std::to_string(nic.port())}};
    Labels info = port;
    info["netdev"] = nic.netdev();
    info["pci_bus_id"] = dcgm_bus_id(nic.pci_address());
    info["link_layer"] = nic.link_layer();
    info["driver"] = nic.driver();
    info["firmware"] = nic.firmware();
    nics[info] = 1;
    // A port in state "unknown" is left out: 0 would raise an alert for a look that did not end in
    // time.
    if (nic.state() != "unknown") up[port] = nic.state() == "active" ? 1 : 0;
    if (!nic.pci_address().empty() && nic.rate_bits_per_second() > 0)
      expected[port] = nic.rate_bits_per_second() / kBitsPerByte;
  }
  registry_.replace("railgauge_nic_info", nics);
  registry_.replace("railgauge_link_up", up);
  registry_.replace("railgauge_link_expected_bytes_per_second", expected);
  std::map<Labels, double> gpus;
  for (const api::Gpu& gpu : hello.gpus())
    gpus[{{"gpu", gpu.name()},
          {"UUID", gpu.uuid()},
          {"pci_bus_id", dcgm_bus_id(gpu.pci_address())},
          {"model", gpu.model()},
          {"driver", gpu.driver()}}] = 1;
  registry_.replace("railgauge_gpu_info", gpus);
  std::map<Labels, double> stack;
  for (const auto& [part, version] : hello.stack_versions())
    stack[{{"part", part}, {"version", version}}] = 1;
  registry_.replace("railgauge_stack_info", stack);
  if (hello.stack_incomplete()) return;  // an incomplete fingerprint would look like another stack
  registry_.replace("railgauge_epoch_info", {{{{"versions", fingerprint(hello.stack_versions())},
                                               {"settings", fingerprint(hello.stack_settings())}},
                                              1}});
}

void Metrics::set_running(double tasks) {
  registry_.set("railgauge_agent_task_running", {}, tasks);
}

void Metrics::task_ended(const std::string& kernel, const std::string& outcome) {
  registry_.add("railgauge_agent_tasks_total",
                {{"kernel", bounded_kernel(kernel)}, {"outcome", outcome}});
}

void Metrics::add_figures(const Started& started, const Point& point, double unix_time_seconds,
                          Figures& figures) const {
  const auto named = endpoint_labels(started.endpoint());
  if (!named) return;
  Labels labels = with(*named, "kernel", bounded_kernel(started.kernel()));
  const bool is_gpu = labels.contains("gpu");
  figures[{kResultTime, labels}] = unix_time_seconds;
  if (!is_one_direction(point) || (!is_gpu && !is_one_wire(point))) return;
  if (!is_gpu && point.has_pause_share()) {
    double& worst = figures[{"railgauge_link_pause_ratio", labels}];  // of the task's points
    worst = std::max(worst, point.pause_share());
  }
  labels["size"] = size_class(point.message_bytes());
  if (!is_gpu) labels["memory"] = memory_of(started, point);
  if (is_gpu && !point.pair().empty()) labels["pair"] = point.pair();
  if (point.metric() == "bandwidth_bytes_per_second")
    figures[{is_gpu ? "railgauge_gpu_bandwidth_bytes_per_second"
                    : "railgauge_link_bandwidth_bytes_per_second",
             labels}] = headline_of(point);
  if (point.metric() != "latency_ns") return;
  const char* latency = is_gpu ? "railgauge_gpu_latency_seconds" : "railgauge_link_latency_seconds";
  figures[{latency, with(labels, "stat", "p50")}] = point.median() / 1e9;
  if (point.has_p99()) figures[{latency, with(labels, "stat", "p99")}] = point.p99() / 1e9;
}

void Metrics::show(const Figures& figures) {
  for (const auto& [series, value] : figures) registry_.set(series.first, series.second, value);
}

void Metrics::set_busy(const BusyReasons& reasons) {
  std::map<Labels, double> values;
  for (const BusySource& source : kBusySources) values[{{"source", source.name}}] = 0;
  values[{{"source", "guard"}}] = 0;
  for (const BusyReason& reason : reasons) values[{{"source", reason.source}}] = 1;
  registry_.replace("railgauge_node_busy", values);
}

void Metrics::set_watch(const std::vector<Tracker::Total>& totals, bool log_readable) {
  for (const Tracker::Total& total : totals)
    registry_.raise_to("railgauge_device_trouble_total",
                       with(device_labels(total.device), "counter", total.counter), total.growth);
  registry_.set("railgauge_watch_kernel_log_readable", {}, log_readable ? 1 : 0);
}

void Metrics::node_event(const std::string& kind, const std::string& severity) {
  registry_.add("railgauge_node_events_total", {{"kind", kind}, {"severity", severity}});
}

void Metrics::set_preflight(const api::PreflightReport& report, double unix_time_seconds) {
  std::map<Labels, double> counts;
  for (const api::PreflightCheck& check : report.checks())
    ++counts[{{"check", check.id()}, {"state", check.state()}}];
  registry_.replace(kPreflightResults, counts);
  registry_.set(kPreflightTime, {}, unix_time_seconds);
}

void Metrics::sample_process() { metric::sample_process(registry_); }

std::string Metrics::kept() const {
  std::set<std::string> lines;  // sorted, since a page has no order
  for (const metric::Sample& sample : metric::read_exposition(registry_.text()))
    if (is_one_of(kMeasured, sample.name) || sample.name == kPreflightResults ||
        sample.name == kPreflightTime)
      lines.insert(line_of(sample));
  return fmt::format("{}", fmt::join(lines, ""));
}

void Metrics::restore(std::string_view kept, double now_unix_seconds) {
  if (!metric::outside_catalog(kept, metric::Owner::kAgent).empty()) return;
  const std::vector<metric::Sample> samples = metric::read_exposition(kept);
  const auto value_of = [](const metric::Sample& sample) {
    return std::strtod(sample.value.c_str(), nullptr);
  };
  std::set<Labels> fresh;  // measured within kKeptSeconds
  bool checked = false;
  for (const metric::Sample& sample : samples) {
    const bool is_fresh = value_of(sample) > now_unix_seconds - kKeptSeconds;
    if (sample.name == kResultTime && is_fresh) fresh.insert(sample.labels);
    if (sample.name == kPreflightTime) checked = is_fresh;
  }
  for (const metric::Sample& sample : samples)
    if (is_one_of(kMeasured, sample.name) ? fresh.contains(source_of(sample.labels)) : checked)
      registry_.set(sample.name, sample.labels, value_of(sample));
}

}  // namespace railgauge::agent
