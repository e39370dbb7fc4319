#include "agent/fleet/fleet_enrolment.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "agent/os/atomic_file.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/base/clock.h"

namespace railgauge::fleet {
namespace {

constexpr double kNsASecond = 1e9;

// As `railgauge-agent enroll` does it, without settings and service.
Status enrol_one(const FleetEnrolment& order, const std::string& name) {
  const std::string key = RG_TRY(trust::make_key());
  const std::string request = RG_TRY(trust::make_request(name, key));
  const std::string certificate =
      RG_TRY(agent::ask_certificate(order.server, order.folder + "/ca.crt", order.token, request));
  RG_TRY_OK(agent::write_atomically(order.folder, name + ".key", key));
  return agent::write_atomically(order.folder, name + ".crt", certificate);
}

}  // namespace

Result<EnrolmentTimes> enrol_fleet(const FleetEnrolment& order, double now_unix) {
  ::mkdir(order.folder.c_str(), 0700);
  // Asked once: it is the same for all nodes.
  const agent::Authority authority = RG_TRY(agent::ask_authority(order.server, order.token));
  RG_TRY_OK(agent::write_atomically(order.folder, "ca.crt", authority.certificate));
  static_cast<void>(RG_TRY(agent::ask_agent_port(order.server, order.folder + "/ca.crt", now_unix,
                                                 authority.claimed_time)));
  std::vector<double> seconds(order.names.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards fault
  std::optional<Error> fault;
  const double begin_ns = monotonic_now_ns();
  // Threads take the next node each, so that a slow answer holds up one of them.
  const auto work = [&] {
    for (std::size_t i = next++; i < order.names.size(); i = next++) {
      const double from_ns = monotonic_now_ns();
      const Status done = enrol_one(order, order.names[i]);
      seconds[i] = (monotonic_now_ns() - from_ns) / kNsASecond;
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (!fault) fault = done.error();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < order.at_once; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (fault) return tl::unexpected(*fault);
  EnrolmentTimes times{.all_seconds = (monotonic_now_ns() - begin_ns) / kNsASecond};
  std::ranges::sort(seconds);
  if (!seconds.empty()) {
    times.median_seconds = seconds[seconds.size() / 2];
    times.slowest_seconds = seconds.back();
  }
  return times;
}

}  // namespace railgauge::fleet
