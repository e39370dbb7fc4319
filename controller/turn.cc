#include "controller/turn.h"

#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/standby/role_service.h"
#include "controller/standby/standby.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

constexpr double kPromiseSeconds = 1;  // for an answer
constexpr unsigned kFirstOwnDescriptor = 3;

// The program of this process, also after an update put another one in its place.
std::string own_program(const char* started_as) {
  std::array<char, 4'096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string program(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  constexpr std::string_view kGone = " (deleted)";
  return program.empty() || program.ends_with(kGone) ? started_as : program;
}

// Nothing of the active controller continues: threads, streams, calls, runs and locks end at once,
// as with a kill. Its commits are in the archive, or in the agents' spools.
[[noreturn]] void become_standby(char** arguments, const std::string& why) {
  spdlog::warn("lease: {}; this controller is a standby from now on", why);
  spdlog::default_logger()->flush();
  ::alarm(0);
  ::syscall(SYS_close_range, kFirstOwnDescriptor, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(own_program(arguments[0]).c_str(), arguments);
  ::_exit(kExitInvalid);
}

// The certificate that others see at the port serves for calls to them as well.
standby::PeerAccess access_of(const Config& config) {
  return {.site = config.mirror.site,
          .pem = {.certificate = config.tcp.tls_cert,
                  .key = config.tcp.tls_key,
                  .authority = config.tcp.tls_ca}};
}

// One second for a promise: the lease has to be prolonged before its margin begins, also where
// several controllers are asked in turn.
standby::LeaseKeeperOptions lease_options(const Config& config, std::string id, char** arguments) {
  return {.url = config.mirror.url,
          .site = config.mirror.site,
          .self = {.holder = std::move(id), .address = config.standby.advertise},
          .times = mirror::lease_times(config.standby.lease_seconds),
          .ask_promise =
              [access = access_of(config)](const mirror::SiteController& other,
                                           std::int64_t generation, double seconds) {
                const auto promised = standby::ask_promise(access, other.address, generation,
                                                           seconds, kPromiseSeconds);
                return promised && *promised;
              },
          .deposed = [arguments](const std::string& why) { become_standby(arguments, why); }};
}

}  // namespace

// The standby ends with the wait: its ports and its file are free before the controller opens them.
Result<Turn> await_turn(const Config& config, char** arguments,
                        const std::function<bool()>& is_over) {
  std::string id = RG_TRY(standby::controller_id(config.database));
  auto waiting =
      RG_TRY(standby::Standby::open({.lease = lease_options(config, std::move(id), arguments),
                                     .database = config.database,
                                     .keep_point_days = config.keep_days.points,
                                     .is_forced = config.standby.is_forced,
                                     .front = {.socket = config.socket,
                                               .socket_group = config.socket_group,
                                               .listen = config.tcp.listen,
                                               .pem = access_of(config).pem,
                                               .metrics_listen = config.metrics_listen,
                                               .web_config = config.web_config_file}}));
  Turn turn;
  turn.lease = RG_TRY(waiting->wait(is_over));
  turn.has_taken_over = waiting->has_taken_over();
  return turn;
}

// An agent that has seen a higher generation knows better than the lease: the archive may have been
// restored to an earlier state.
fleet::Term term_of(const Turn& turn, char** arguments) {
  const standby::LeaseKeeper* lease = turn.lease.get();
  return {.generation = static_cast<std::uint64_t>(lease->generation()),
          .has_taken_over = turn.has_taken_over,
          .may_act = [lease] { return lease->may_act(); },
          .outranked =
              [arguments](std::uint64_t generation) {
                become_standby(arguments,
                               fmt::format("an agent has seen generation {}", generation));
              }};
}

}  // namespace railgauge
