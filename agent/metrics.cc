#include "agent/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace railgauge::agent {
namespace {
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

constexpr std::size_t kServerThreads = 2;
constexpr double kSmallBytes = 256;
constexpr double kMediumBytes = 64 * 1024;
const std::string kUnknownKernel = "unknown";

// The labels that name an endpoint; nothing for what is neither a port nor a GPU.
std::optional<prometheus::Labels> parse_endpoint(const std::string& endpoint) {
  if (endpoint.starts_with("gpu") && endpoint.find(':') == std::string::npos)
    return prometheus::Labels{{"gpu", endpoint}};
  const auto colon = endpoint.find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const auto end = endpoint.find('+');  // "DEV:PORT+gpuN"
  return prometheus::Labels{{"device", endpoint.substr(0, colon)},
                            {"port", endpoint.substr(colon + 1, end - colon - 1)}};
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
}  // namespace

struct Metrics::Families {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();

  Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(*registry);
  }
  Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
  }

  Family<Gauge>& info = gauge("railgauge_agent_info", "Always 1; the agent's version");
  Gauge& connected =
      gauge("railgauge_agent_connected", "1 while the controller has welcomed this agent").Add({});
  Counter& reconnects =
      counter("railgauge_agent_reconnects_total", "Streams that came after a lost one").Add({});
  Gauge& spool_records =
      gauge("railgauge_agent_spool_records", "Records that the controller has not acknowledged")
          .Add({});
  Gauge& spool_bytes = gauge("railgauge_agent_spool_bytes",
                             "Bytes in use in the spool, acknowledged records included")
                           .Add({});
  Gauge& running = gauge("railgauge_agent_task_running", "Tasks that run on this node now").Add({});
  Family<Counter>& tasks =
      counter("railgauge_agent_tasks_total", "Tasks that ended on this node, by outcome");
  Family<Gauge>& latency =
      gauge("railgauge_link_latency_seconds",
            "Last measured latency of a port; size: small to 256 B, medium to 64 KiB, large above");
  Family<Gauge>& bandwidth = gauge("railgauge_link_bandwidth_bytes_per_second",
                                   "Last measured median bandwidth of a port; size: small to 256 "
                                   "B, medium to 64 KiB, large above");
  Family<Gauge>& gpu_latency =
      gauge("railgauge_gpu_latency_seconds", "Last measured latency of a GPU; size as for links");
  Family<Gauge>& gpu_bandwidth = gauge(
      "railgauge_gpu_bandwidth_bytes_per_second",
      "Last measured median bandwidth of a GPU; size as for links; pair: from>to, where told");
  Family<Gauge>& result_time = gauge("railgauge_result_timestamp_seconds",
                                     "When a port or GPU was last measured, unix time");
  Family<Gauge>& busy =
      gauge("railgauge_node_busy", "1 while this source keeps the node from being measured");
  Family<Counter>& counters = counter("railgauge_node_counter_increase_total",
                                      "Growth of a counter that means trouble, since the agent "
                                      "started; device: port, netdev or PCI address");
  Family<Counter>& events = counter("railgauge_node_events_total",
                                    "What the watch of counters and kernel log told, by severity");
  Gauge& log_readable =
      gauge("railgauge_watch_kernel_log_readable", "1 while XIDs are watched in the kernel's log")
          .Add({});
  Family<Gauge>& preflight =
      gauge("railgauge_preflight_results", "Results of the last preflight, by check and state");
  Gauge& preflight_time = gauge("railgauge_preflight_timestamp_seconds",
                                "When this node was last checked, unix time; 0: never")
                              .Add({});
  std::vector<Gauge*> preflight_shown;  // of the last preflight, taken down before the next
  Gauge& resident =
      gauge("process_resident_memory_bytes", "Resident memory of this process").Add({});
  Counter& cpu = counter("process_cpu_seconds_total", "CPU time of this process").Add({});
  std::unique_ptr<prometheus::Exposer> exposer;  // last: stops before the rest goes
};

const char* size_class(double message_bytes) {
  if (message_bytes <= kSmallBytes) return "small";
  return message_bytes <= kMediumBytes ? "medium" : "large";
}

Metrics::Metrics() : families_(std::make_unique<Families>()) {
  families_->info.Add({{"version", RAILGAUGE_VERSION}}).Set(1);
}

Metrics::~Metrics() = default;

Result<int> Metrics::listen(const std::string& address) {
  try {
    families_->exposer = std::make_unique<prometheus::Exposer>(address, kServerThreads);
    families_->exposer->RegisterCollectable(families_->registry);
    return families_->exposer->GetListeningPorts().at(0);
  } catch (const std::exception& error) {
    return fail(Code::kUnavailable,
                fmt::format("metrics on {}: listen: {}; choose another --metrics-listen", address,
                            error.what()));
  }
}

void Metrics::set_kernels(const KernelList& kernels) {
  kernels_.clear();
  for (const KernelInfo& kernel : kernels.kernels()) kernels_.insert(kernel.name());
}

const std::string& Metrics::bounded_kernel(const std::string& kernel) const {
  return kernels_.contains(kernel) ? kernel : kUnknownKernel;
}

void Metrics::set_connected(bool connected) { families_->connected.Set(connected ? 1 : 0); }

void Metrics::reconnected() { families_->reconnects.Increment(); }

void Metrics::set_spool(double waiting_records, double used_bytes) {
  families_->spool_records.Set(waiting_records);
  families_->spool_bytes.Set(used_bytes);
}

void Metrics::set_running(double tasks) { families_->running.Set(tasks); }

void Metrics::task_ended(const std::string& kernel, const std::string& outcome) {
  families_->tasks.Add({{"kernel", bounded_kernel(kernel)}, {"outcome", outcome}}).Increment();
}

void Metrics::result(const std::string& kernel, const std::string& endpoint, const Point& point,
                     double unix_time_seconds) {
  const auto named = parse_endpoint(endpoint);
  if (!named) return;
  prometheus::Labels labels = *named;
  const bool is_gpu = labels.contains("gpu");
  labels["kernel"] = bounded_kernel(kernel);
  families_->result_time.Add(labels).Set(unix_time_seconds);
  labels["size"] = size_class(point.message_bytes());
  if (!point.pair().empty()) labels["pair"] = point.pair();
  if (point.metric() == "bandwidth_bytes_per_second")
    (is_gpu ? families_->gpu_bandwidth : families_->bandwidth).Add(labels).Set(point.median());
  if (point.metric() != "latency_ns") return;
  const auto set = [&](const char* stat, double value_ns) {
    labels["stat"] = stat;
    (is_gpu ? families_->gpu_latency : families_->latency).Add(labels).Set(value_ns / 1e9);
  };
  set("p50", point.median());
  if (point.has_p99()) set("p99", point.p99());
}

void Metrics::set_busy(const BusyReasons& reasons) {
  std::set<std::string> now;
  for (const BusyReason& reason : reasons) now.insert(reason.source);
  busy_sources_.insert(now.begin(), now.end());
  for (const std::string& source : busy_sources_)
    families_->busy.Add({{"source", source}}).Set(now.contains(source) ? 1 : 0);
}

void Metrics::set_watch(const std::vector<Tracker::Total>& totals, bool log_readable) {
  for (const Tracker::Total& total : totals) {
    Counter& counter =
        families_->counters.Add({{"device", total.device}, {"counter", total.counter}});
    counter.Increment(total.growth - counter.Value());
  }
  families_->log_readable.Set(log_readable ? 1 : 0);
}

void Metrics::node_event(const std::string& kind, const std::string& severity) {
  families_->events.Add({{"kind", kind}, {"severity", severity}}).Increment();
}

void Metrics::set_preflight(const api::PreflightReport& report, double unix_time_seconds) {
  for (Gauge* shown : families_->preflight_shown) families_->preflight.Remove(shown);
  families_->preflight_shown.clear();
  std::map<std::pair<std::string, std::string>, double> counts;
  for (const api::PreflightCheck& check : report.checks()) ++counts[{check.id(), check.state()}];
  for (const auto& [labels, count] : counts) {
    Gauge& shown = families_->preflight.Add({{"check", labels.first}, {"state", labels.second}});
    shown.Set(count);
    families_->preflight_shown.push_back(&shown);
  }
  families_->preflight_time.Set(unix_time_seconds);
}

void Metrics::sample_process() {
  families_->resident.Set(resident_bytes());
  families_->cpu.Increment(cpu_seconds() - families_->cpu.Value());
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(families_->registry->Collect());
}

}  // namespace railgauge::agent
