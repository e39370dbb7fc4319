// The agent's Prometheus metrics, declared in controller/metric/catalog.h. The agent's loop sets
// values; a scrape reads memory only. Labels are bounded: ports, GPUs, pairs of GPUs and kernels of
// this node, outcomes, three size classes. No label holds a run, a peer or an error text.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/watch/tracker.h"
#include "controller/api/agent.pb.h"
#include "controller/http/http_server.h"
#include "controller/metric/registry.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// "small" up to 256 bytes, "medium" up to 64 KiB, "large" above. Pure.
const char* size_class(double message_bytes);
// "00000000:17:00.0" for "0000:17:00.0", as dcgm-exporter writes it. Pure.
std::string dcgm_bus_id(const std::string& pci_address);

// Values from the points of a task, by family and labels. A later point with the same labels
// replaces an earlier one.
using Figures = std::map<std::pair<std::string_view, metric::Labels>, double>;

// Setters are called on the agent's loop; scrapes read from the server's threads.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Serves /metrics and /healthz on ADDRESS:PORT and returns the port; for port 0 the system
  // chooses one. `web_config` is a file of TLS and passwords, or "". kUnavailable: the address
  // cannot be listened on. kInvalidArgument: the file's fault.
  Result<int> listen(const std::string& address, const std::string& web_config = "");

  // Returns api::kMetricsPortFact: the port that listen() chose, or that there is none.
  [[nodiscard]] std::string port_fact() const;

  void set_kernels(const KernelList& kernels);
  void set_connected(bool connected);
  void reconnected();
  // Sets the ends of certificate and authority, in unix seconds, and how often new files were
  // refused.
  void set_tls(double until_unix, double authority_until_unix, double failures);
  void set_spool(double waiting_records, double used_bytes, double limit_bytes);
  // Sets the node's equipment: NICs, GPUs and versions of its stack.
  void set_node(const api::Hello& hello);
  void set_running(double tasks);
  void task_ended(const std::string& kernel, const std::string& outcome);
  // Adds the values of a point. The labels come from the point's endpoint: "DEV:PORT" is a link,
  // "gpuN" a GPU. Points of other endpoints and sums of both directions are left out. A link shows
  // only figures of one wire: no sum of rails, no loopback.
  void add_figures(const Started& started, const Point& point, double unix_time_seconds,
                   Figures& figures) const;
  // Publishes the figures of a task that passed; a failed task measured nothing.
  void show(const Figures& figures);
  // Sets the sources that keep the node busy to 1 and all others to 0.
  void set_busy(const BusyReasons& reasons);
  // Sets the growth of counters since the agent started, and whether the kernel's log is readable.
  void set_watch(const std::vector<Tracker::Total>& totals, bool log_readable);
  void node_event(const std::string& kind, const std::string& severity);
  // Sets the results of the node's last preflight, by check and state.
  void set_preflight(const api::PreflightReport& report, double unix_time_seconds);
  // Reads memory and CPU time of this process.
  void sample_process();

  // Returns the last measured and checked values, as lines for restore(). Without them a restart
  // would end alerts that only the next night's run can confirm.
  [[nodiscard]] std::string kept() const;
  // restore() drops values older than this, in seconds, and a text with anything outside the
  // catalog.
  static constexpr double kKeptSeconds = 14 * 24 * 3600;
  void restore(std::string_view kept, double now_unix_seconds);

  // Returns the exposition text of a scrape.
  [[nodiscard]] std::string text() const { return registry_.text(); }

 private:
  [[nodiscard]] const std::string& bounded_kernel(const std::string& kernel) const;

  metric::Registry registry_{metric::Owner::kAgent};
  std::set<std::string> kernels_;
  std::unique_ptr<http::Server> server_;  // last: stops before the rest goes
};

}  // namespace railgauge::agent
