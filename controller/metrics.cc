#include "controller/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

namespace railgauge {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

Family<Gauge>& gauge(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
Family<Counter>& counter(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

// Seconds since 1970 at which this process started; 0 when /proc does not say.
double start_time_seconds() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  constexpr int kStartTimeAfterName = 20;  // field 22; the name is field 2
  std::size_t at = name_end + 1;
  for (int field = 0; field < kStartTimeAfterName - 1 && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  timespec boot{};
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_REALTIME, &now);
  const double since_boot = std::stod(text.substr(at)) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec - boot.tv_sec) +
         static_cast<double>(now.tv_nsec - boot.tv_nsec) / 1e9 + since_boot;
}

}  // namespace

struct Metrics::Families {
  Registry registry;
  Family<Counter>& runs = counter(registry, "railgauge_runs_total", "Runs that ended");
  Family<Counter>& tasks = counter(registry, "railgauge_tasks_total", "Tasks that ended");
  Family<Gauge>& nodes = gauge(registry, "railgauge_nodes", "Nodes seen since the start, by state");
  Gauge& attached = nodes.Add({{"state", "attached"}});
  Gauge& detached = nodes.Add({{"state", "detached"}});
  Gauge& lost = nodes.Add({{"state", "lost"}});
  Gauge& run_active = gauge(registry, "railgauge_run_active", "1 while a run is under way").Add({});
  Counter& records =
      counter(registry, "railgauge_records_stored_total", "Records committed since the start")
          .Add({});
  Gauge& queue =
      gauge(registry, "railgauge_store_queue_depth", "Records waiting for a commit").Add({});
  Gauge& database =
      gauge(registry, "railgauge_db_size_bytes", "Database file with its log").Add({});
  Gauge& orphans =
      gauge(registry, "railgauge_orphan_records", "Acknowledged records kept that fit no known run")
          .Add({});
  Counter& orphans_dropped =
      counter(registry, "railgauge_orphan_records_dropped_total",
              "Of these, dropped since the start because there were too many")
          .Add({});
  Family<Gauge>& last_success = gauge(registry, "railgauge_run_last_success_timestamp_seconds",
                                      "End of the last run that passed, by suite");
  Counter& cpu = counter(registry, "process_cpu_seconds_total", "User and system time").Add({});
  Gauge& resident = gauge(registry, "process_resident_memory_bytes", "Resident memory").Add({});
  Gauge& virtual_bytes = gauge(registry, "process_virtual_memory_bytes", "Virtual memory").Add({});
  Gauge& descriptors = gauge(registry, "process_open_fds", "Open file descriptors").Add({});
  Gauge& descriptor_limit =
      gauge(registry, "process_max_fds", "Limit of open file descriptors").Add({});
  Gauge& start = gauge(registry, "process_start_time_seconds", "Start of the process").Add({});

  Families() {
    gauge(registry, "railgauge_controller_info", "1; the controller's version")
        .Add({{"version", RAILGAUGE_VERSION}})
        .Set(1);
    start.Set(start_time_seconds());
  }
  void read_process();
};

void Metrics::Families::read_process() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    const double total = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (total > cpu.Value()) cpu.Increment(total - cpu.Value());
  }
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  double resident_pages = 0;
  if (statm >> pages >> resident_pages) {
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    virtual_bytes.Set(pages * page);
    resident.Set(resident_pages * page);
  }
  std::error_code ignored;  // a full descriptor table is no reason to fail the scrape
  double open = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", ignored);
       !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored))
    ++open;
  descriptors.Set(open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    descriptor_limit.Set(static_cast<double>(limit.rlim_cur));
}

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::run_ended(const std::string& suite, const std::string& trigger,
                        const std::string& outcome, double unix_seconds) {
  families_->runs.Add({{"trigger", trigger}, {"outcome", outcome}}).Increment();
  if (outcome == "passed") families_->last_success.Add({{"suite", suite}}).Set(unix_seconds);
}

void Metrics::task_ended(const std::string& kernel, const std::string& outcome) {
  families_->tasks.Add({{"kernel", kernel}, {"outcome", outcome}}).Increment();
}

void Metrics::set_nodes(std::uint32_t attached, std::uint32_t detached, std::uint32_t lost) {
  families_->attached.Set(attached);
  families_->detached.Set(detached);
  families_->lost.Set(lost);
}

void Metrics::set_run_active(bool active) { families_->run_active.Set(active ? 1 : 0); }

void Metrics::set_records_stored(std::uint64_t records) {
  const double more = static_cast<double>(records) - families_->records.Value();
  if (more > 0) families_->records.Increment(more);
}

void Metrics::set_store(double queued_records, double database_bytes) {
  families_->queue.Set(queued_records);
  families_->database.Set(database_bytes);
}

void Metrics::set_orphans(double kept, double dropped) {
  families_->orphans.Set(kept);
  const double more = dropped - families_->orphans_dropped.Value();
  if (more > 0) families_->orphans_dropped.Increment(more);
}

std::string Metrics::text() const {
  families_->read_process();
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace railgauge
