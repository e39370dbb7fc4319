#include "controller/metric/process.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace railgauge::metric {
namespace {

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

// User and system time of all threads since the start.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// From /proc/self/statm, in pages.
void sample_memory(Registry& registry) {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  double resident_pages = 0;
  if (!(statm >> pages >> resident_pages)) return;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  registry.set("process_virtual_memory_bytes", {}, pages * page);
  registry.set("process_resident_memory_bytes", {}, resident_pages * page);
}

}  // namespace

// The names are those of Prometheus' client libraries, so that common dashboards work.
void sample_process(Registry& registry) {
  static const double kStarted = start_time_seconds();
  registry.set("process_start_time_seconds", {}, kStarted);
  registry.raise_to("process_cpu_seconds_total", {}, cpu_seconds());
  sample_memory(registry);
  std::error_code ignored;  // a full descriptor table is no reason to fail
  double open = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", ignored);
       !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored))
    ++open;
  if (!ignored) registry.set("process_open_fds", {}, open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    registry.set("process_max_fds", {}, static_cast<double>(limit.rlim_cur));
}

}  // namespace railgauge::metric
