#include "controller/cli/site/doctor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/contract.h"
#include "controller/cli/report/plan_report.h"
#include "controller/metric/exposition.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kDay = 24 * 3600;
constexpr double kSoonDays = 30;                    // a certificate's end
constexpr double kCrlDays = 3;                      // a revocation list's end, as the alert
constexpr double kBackupDays = 7;                   // age of a backup that is late
constexpr double kBackupIntervals = 2;              // likewise where a schedule makes them
constexpr double kSkewSeconds = 5;                  // as the controller warns of nodes' clocks
constexpr double kFullBytes = 512.0 * (1U << 20U);  // below it new runs are refused
constexpr double kLowBytes = 5e9;

using Names = std::vector<std::string>;

// Collects the checks; the worst one is the report's state.
class Doctor {
 public:
  explicit Doctor(const DoctorFacts& facts) : facts_(facts) {
    if (facts.installation)
      for (const metric::Sample& sample : metric::read_exposition(facts.installation->metrics())) {
        std::string name = sample.name;
        for (const auto& [label, value] : sample.labels) name += " " + value;
        values_[name] = std::strtod(sample.value.c_str(), nullptr);
      }
  }

  DoctorReport report() {
    check_controller();
    using Check = void (Doctor::*)();
    struct Named {
      const char* id;
      Check check;
    };
    for (const Named& one :
         {Named{"sockets", &Doctor::check_sockets},
          Named{"certificates", &Doctor::check_certificates}, Named{"clock", &Doctor::check_clocks},
          Named{"disk", &Doctor::check_disk}, Named{"memory", &Doctor::check_memory},
          Named{"versions", &Doctor::check_versions}, Named{"agents", &Doctor::check_agents},
          Named{"metrics", &Doctor::check_metrics}, Named{"schedules", &Doctor::check_schedules},
          Named{"backups", &Doctor::check_backups},
          Named{"deliveries", &Doctor::check_deliveries}}) {
      id_ = one.id;
      if (facts_.installation)
        (this->*one.check)();
      else if (one.id == std::string_view("certificates") && !facts_.user_certificate_fault.empty())
        add("fail", facts_.user_certificate_fault, "--tls-cert names the file");
      else
        add("unknown", "the controller did not answer");
    }
    constexpr std::array<std::string_view, 4> kWorst{"fail", "unknown", "warn", "pass"};
    for (const std::string_view state : kWorst)
      if (std::ranges::any_of(report_.checks(),
                              [&](const DoctorCheck& one) { return one.state() == state; })) {
        report_.set_state(std::string(state));
        break;
      }
    return report_;
  }

 private:
  void add(const char* state, std::string observed, std::string remedy = "") {
    DoctorCheck& check = *report_.add_checks();
    check.set_id(id_);
    check.set_state(state);
    check.set_observed(std::move(observed));
    check.set_remedy(std::move(remedy));
  }
  [[nodiscard]] const Installation& told() const { return *facts_.installation; }
  // A metric of the controller with the values of its labels; absent: it exports none.
  [[nodiscard]] std::optional<double> value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  void check_controller() {
    id_ = "controller";
    if (!facts_.trouble.empty())
      return add("fail", facts_.trouble,
                 facts_.has_no_channel
                     ? "--tls-cert, --tls-key and --tls-ca name the files; railgauge pki renew "
                       "FOLDER NAME makes new ones"
                     : "systemctl status railgauge-controller on its host; --controller names "
                       "another");
    if (told().troubles().empty())
      return add("pass", fmt::format("{} answered in {:.0f} ms, up since {}", facts_.address,
                                     1e3 * facts_.answer_seconds, told().started_at()));
    for (const std::string& trouble : told().troubles())
      add("fail", trouble, "journalctl -u railgauge-controller on its host has the cause");
  }

  void check_sockets() {
    // Without a TCP port the metric stays at 0.
    if (!told().listen().empty() && value("railgauge_port_accepts").value_or(1) < 1)
      return add("fail", fmt::format("the TCP port {} takes no connections", told().listen()),
                 "more file descriptors for the controller (LimitNOFILE), or fewer connections");
    if (told().insecure())
      return add(
          "warn",
          fmt::format("the TCP port {} takes anybody's calls (--insecure)", told().listen()),
          "railgauge pki init makes certificates; --tls-cert, --tls-key and --tls-ca use them");
    add("pass", told().listen().empty()
                    ? told().socket() + ", no TCP port"
                    : fmt::format("{} and {} with TLS", told().socket(), told().listen()));
  }

  // Ends by name, with what renews them.
  void check_certificates() {
    struct End {
      std::string name;
      double at;
      const char* remedy;
      double soon_days = kSoonDays;
    };
    std::vector<End> ends;
    constexpr std::string_view kMetric = "railgauge_certificate_expiry_timestamp_seconds ";
    for (const auto& [name, at] : values_)
      if (name == fmt::format("{}crl", kMetric))
        ends.push_back({"controller's revocation list", at,
                        "railgauge pki crl FOLDER, copied to the controller, which reads it again "
                        "by itself",
                        kCrlDays});
      else if (name.starts_with(kMetric))
        ends.push_back({"controller's " + name.substr(kMetric.size()), at,
                        "railgauge pki renew FOLDER NAME; the controller reads the files again by "
                        "itself"});
    if (facts_.user_certificate_ends)
      ends.push_back({"this user's certificate", *facts_.user_certificate_ends,
                      "railgauge pki renew FOLDER NAME"});
    Names late_nodes;
    for (const InstalledNode& node : told().nodes())
      if (const auto at = parse_calendar(node.certificate_ends_at());
          node.has_certificate_ends_at() && at && *at < facts_.now + kSoonDays * kDay)
        late_nodes.push_back(node.node());
    bool is_sound = late_nodes.empty();
    if (!facts_.user_certificate_fault.empty())
      add("fail", facts_.user_certificate_fault, "--tls-cert names the file");
    for (const End& end : ends) {
      const double days = (end.at - facts_.now) / kDay;
      if (days >= end.soon_days) continue;
      is_sound = false;
      add(days <= 0 ? "fail" : "warn",
          fmt::format("{} {} {}", end.name, days <= 0 ? "ended" : "ends", rfc3339(end.at)),
          end.remedy);
    }
    if (!late_nodes.empty())
      add("warn",
          fmt::format("{} agents' certificates end within {:.0f} days: {}", late_nodes.size(),
                      kSoonDays, fold_names(late_nodes)),
          "railgauge pki renew FOLDER NAME, then copy the files to the nodes");
    if (!is_sound || !facts_.user_certificate_fault.empty()) return;
    if (ends.empty()) return add("pass", "none is in use");
    const auto first = std::ranges::min_element(ends, {}, &End::at);
    add("pass", fmt::format("the first to end is {}, {}", first->name, rfc3339(first->at)));
  }

  void check_clocks() {
    Names off;
    double largest = 0;
    for (const InstalledNode& node : told().nodes()) {
      if (node.state() != "attached") continue;
      largest = std::max(largest, std::abs(node.clock_skew_seconds()));
      if (std::abs(node.clock_skew_seconds()) > kSkewSeconds) off.push_back(node.node());
    }
    const double here = facts_.now - parse_calendar(told().now_at()).value_or(facts_.now);
    if (!off.empty())
      add("fail",
          fmt::format("{} clocks are off by up to {:.1f} s: {}", off.size(), largest,
                      fold_names(off)),
          "chronyc tracking on these nodes; times of their results are wrong until then");
    if (std::abs(here) > kSkewSeconds + facts_.answer_seconds)
      add("warn",
          fmt::format("this host's clock is {:.1f} s {} the controller's", std::abs(here),
                      here > 0 ? "ahead of" : "behind"),
          "chronyc tracking here and on the controller's host");
    if (off.empty() && std::abs(here) <= kSkewSeconds + facts_.answer_seconds)
      add("pass", fmt::format("nodes within {:.1f} s of the controller", largest));
  }

  void check_disk() {
    const auto free = value("railgauge_db_free_bytes");
    const double size = value("railgauge_db_size_bytes").value_or(0);
    if (value("railgauge_store_read_only").value_or(0) > 0)
      return add("fail", "the database is read-only: its disk is full",
                 "make room beside " + told().database() + "; railgauge db prune frees pages");
    if (!free) return add("unknown", "the controller reports no free space", "look at its log");
    const std::string observed =
        fmt::format("{} free, the database has {}", amount_text(*free), amount_text(size));
    if (*free < kFullBytes)
      return add("fail", observed + "; new runs are refused",
                 "make room beside " + told().database());
    if (*free < std::max(kLowBytes, size))
      return add("warn", observed, "a backup needs as much as the database: make room");
    add("pass", observed);
  }

  void check_memory() {
    if (value("railgauge_memory_short").value_or(0) > 0)
      return add("fail", "runs, exports and SQL are refused: the cgroup has little memory left",
                 "raise MemoryMax of railgauge-controller.service");
    add("pass", "enough in the controller's cgroup");
  }

  void check_versions() {
    std::map<std::string, Names> others;
    for (const InstalledNode& node : told().nodes())
      if (node.version() != told().version() && node.state() == "attached")
        others[node.version()].push_back(node.node());
    for (const auto& [version, nodes] : others)
      add("warn",
          fmt::format("{} agents run {} beside the controller's {}: {}", nodes.size(), version,
                      told().version(), fold_names(nodes)),
          "one minor version apart is supported; upgrade these agents");
    if (facts_.version != told().version())
      add("warn",
          fmt::format("this program is {}, the controller {}", facts_.version, told().version()),
          "install the controller's version here");
    else if (others.empty())
      add("pass", told().version() + " everywhere");
  }

  void check_agents() {
    std::map<std::string, Names> by_state;
    for (const NodeInfo& node : facts_.nodes.nodes()) by_state[node.state()].push_back(node.name());
    if (facts_.nodes.nodes().empty())
      return add("warn", "no agent has ever attached",
                 "railgauge-agent --controller ADDRESS on the nodes");
    for (const char* state : {"lost", "detached"})
      if (const auto found = by_state.find(state); found != by_state.end())
        add(by_state["attached"].empty() ? "fail" : "warn",
            fmt::format("{} nodes are {}: {}", found->second.size(), state,
                        fold_names(found->second)),
            "systemctl status railgauge-agent there");
    if (by_state["attached"].size() == static_cast<std::size_t>(facts_.nodes.nodes_size()))
      add("pass", fmt::format("{} attached", facts_.nodes.nodes_size()));
  }

  void check_metrics() {
    if (told().metrics_listen().empty())
      return add("warn", "the controller exports no metrics, so no alert can come of it",
                 "--metrics-listen 127.0.0.1:7470, or an address that Prometheus reaches");
    if (!facts_.metrics)
      return add(
          "unknown",
          fmt::format("{} is reached from the controller's host only", told().metrics_listen()),
          "run railgauge doctor there");
    if (!facts_.metrics->has_answer)
      return add("fail", facts_.metrics->text, "a firewall, or another program on that port");
    add("pass", facts_.metrics->text);
  }

  // The shipped one where it is there, else any.
  [[nodiscard]] std::string first_paused() const {
    const auto& all = facts_.schedules.schedules();
    const auto nightly = std::ranges::find(all, "nightly", &ScheduleInfo::name);
    return (nightly == all.end() ? all.begin() : nightly)->name();
  }

  void check_schedules() {
    std::size_t active = 0;
    for (const ScheduleInfo& one : facts_.schedules.schedules()) {
      active += one.state() == "active" ? 1 : 0;
      if (one.state() == "broken")
        add("fail", fmt::format("{} is broken: {}", one.name(), one.error()),
            fmt::format("railgauge schedules set {} removed, then add it anew", one.name()));
      else if (one.state() == "active" && one.missed() > 0)
        add("warn", fmt::format("{} missed {} of its times in 30 days", one.name(), one.missed()),
            fmt::format("railgauge schedules show {} has the reasons", one.name()));
      else if (one.state() == "active" && !one.has_next_at())
        add("warn", one.name() + " never starts again", "its cron expression or window is over");
    }
    if (active == 0)
      return add("warn", "no schedule is active: nothing is measured by itself",
                 facts_.schedules.schedules().empty()
                     ? "railgauge schedules add nightly nightly --cron \"30 1 * * *\""
                     : fmt::format("railgauge schedules set {} active", first_paused()));
    const bool is_clean = std::ranges::none_of(
        report_.checks(), [](const DoctorCheck& check) { return check.id() == "schedules"; });
    if (is_clean) add("pass", fmt::format("{} active", active));
  }

  // The newest event of the target where it says that a report was lost; "": it says otherwise.
  [[nodiscard]] std::string last_failure(const std::string& target) const {
    for (const Event& event : facts_.deliveries.events()) {
      if (!event.text().starts_with(target + " ") && !event.text().starts_with(target + ":"))
        continue;
      const bool is_lost = event.kind() == "delivery_failed" || event.kind() == "delivery_dropped";
      return is_lost ? event.text() : "";
    }
    return "";
  }

  void check_deliveries() {
    constexpr std::string_view kMetric = "railgauge_deliveries_waiting ";
    Names targets;
    bool is_sound = true;
    for (const auto& [name, waiting] : values_) {
      if (!name.starts_with(kMetric)) continue;
      targets.push_back(name.substr(kMetric.size()));
      const std::string failure = last_failure(targets.back());
      is_sound = is_sound && failure.empty() && waiting < 1;
      if (!failure.empty())
        add("warn", failure,
            "railgauge events --kind delivery; the next report that is taken ends "
            "this");
      if (waiting < 1) continue;
      add("warn", fmt::format("{:.0f} reports wait for {}", waiting, targets.back()),
          "railgauge events --kind delivery has the receiver's answer");
    }
    if (targets.empty()) return add("pass", "no report is sent: the settings name no target");
    if (is_sound) add("pass", fmt::format("none waits for {}", fmt::join(targets, ", ")));
  }

  // "; 3 failed since the controller's start"; "" where none did.
  [[nodiscard]] std::string failed_backups() const {
    const double failed = value(std::string("railgauge_backups_total") + " failed").value_or(0);
    return failed < 1 ? "" : fmt::format("; {:.0f} failed since the controller's start", failed);
  }

  void check_backups() {
    const double every = value("railgauge_backup_interval_seconds").value_or(0);
    const std::string remedy =
        every > 0
            ? "railgauge events --kind backup has the cause; railgauge db backup NAME tries it"
            : "backup_every = 24h in controller.conf, or railgauge db backup NAME: db restore "
              "needs one";
    const auto newest = parse_calendar(told().newest_backup_at());
    if (!told().has_newest_backup_at() || !newest)
      return add(
          "warn",
          fmt::format("there is no backup in {}{}", told().backup_folder(), failed_backups()),
          remedy);
    const double days = (facts_.now - *newest) / kDay;
    const std::string observed = fmt::format("the newest is {:.1f} days old, {}", days,
                                             amount_text(told().newest_backup_bytes()));
    const double late_days = every > 0 ? kBackupIntervals * every / kDay : kBackupDays;
    if (days > late_days) return add("warn", observed + failed_backups(), remedy);
    add("pass", observed);
  }

  const DoctorFacts& facts_;
  std::map<std::string, double> values_;  // metrics by name and values of labels
  std::string id_;
  DoctorReport report_ = new_document<DoctorReport>();
};

}  // namespace

DoctorReport examine(const DoctorFacts& facts) { return Doctor(facts).report(); }

int exit_code_of(const DoctorReport& report, const DoctorFacts& facts) {
  if (!facts.installation) return kExitInvalid;
  return report.state() == "fail" ? kExitFailed : kExitPassed;
}

}  // namespace railgauge::cli
