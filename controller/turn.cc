#include "controller/turn.h"

#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/metric/registry.h"
#include "controller/standby/role_service.h"
#include "controller/standby/standby.h"
#include "controller/tcp_port.h"
#include "controller/tls.h"
#include "controller/trust/authority/authority.h"
#include "controller/trust/pem_files.h"
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
// as with a kill. Its commits are in the archive, or in the agents' spools. The service manager
// watches the same process, so that the standby needs the variables of the start.
[[noreturn]] void become_standby(const SelfStart& again, const std::string& why) {
  spdlog::warn("lease: {}; this controller is a standby from now on", why);
  spdlog::default_logger()->flush();
  std::vector<char*> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.push_back(*each);
  std::vector<std::string> added = again.variables;
  for (std::string& each : added) variables.push_back(each.data());
  variables.push_back(nullptr);
  ::alarm(0);
  ::syscall(SYS_close_range, kFirstOwnDescriptor, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execve(own_program(again.arguments[0]).c_str(), again.arguments, variables.data());
  ::_exit(kExitInvalid);
}

// Figures of the certificates are shown by an active controller alone.
class StandbyPort final : public standby::FrontPort {
 public:
  static Result<std::unique_ptr<standby::FrontPort>> open(const TcpOptions& options,
                                                          grpc::ServerBuilder& builder,
                                                          auth::PeerBook& peers) {
    bound_grpc(builder);
    if (options.listen.empty()) return std::unique_ptr<standby::FrontPort>();
    auto port = std::make_unique<StandbyPort>();
    if (!options.insecure) {
      port->tls_ = RG_TRY(TlsKeeper::open(
          {.pem = {.certificate = options.tls_cert,
                   .key = options.tls_key,
                   .authority = options.tls_ca},
           .crl = options.tls_crl},
          port->series_,
          [](const std::string& /*kind*/, const std::string& text) { spdlog::warn("{}", text); }));
      peers.check_revoked(
          [tls = port->tls_.get()](const trust::CertificateId& id) { return tls->is_revoked(id); });
    }
    port->port_ = RG_TRY(TcpPort::open(options, port->tls_.get(), peers, builder));
    port->peers_ = &peers;
    return std::unique_ptr<standby::FrontPort>(std::move(port));
  }
  Status start() override { return port_->start(); }
  void stop() override { port_->stop(); }
  void finish() override { port_->finish(); }
  void tick() override {
    if (const std::size_t calls = peers_->cancel_revoked(); calls > 0)
      spdlog::warn("{} calls of revoked certificates cancelled", calls);
    port_->end_invalid(fleet::monotonic_seconds(), fleet::unix_seconds());
  }
  [[nodiscard]] int port() const override { return port_->port(); }

 private:
  metric::Registry series_{metric::Owner::kController};
  auth::PeerBook* peers_ = nullptr;
  std::unique_ptr<TlsKeeper> tls_;  // absent with --insecure
  std::unique_ptr<TcpPort> port_;   // uses tls_
};

// The certificate that others see at the port serves for calls to them as well.
standby::PeerAccess access_of(const Config& config) {
  return {.site = config.mirror.site,
          .pem = {.certificate = config.tcp.tls_cert,
                  .key = config.tcp.tls_key,
                  .authority = config.tcp.tls_ca}};
}

// One second for a promise: the lease has to be prolonged before its margin begins, also where
// several controllers are asked in turn.
standby::LeaseKeeperOptions lease_options(const Config& config, std::string id,
                                          const SelfStart& again) {
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
          .deposed = [again](const std::string& why) { become_standby(again, why); }};
}

}  // namespace

standby::OpenPort standby_port(const TcpOptions& options) {
  return [options](grpc::ServerBuilder& builder, auth::PeerBook& peers) {
    return StandbyPort::open(options, builder, peers);
  };
}

// The standby ends with the wait: its ports and its file are free before the controller opens them.
Result<Turn> await_turn(const Config& config, const SelfStart& again,
                        const std::function<void()>& is_open,
                        const std::function<bool()>& is_over) {
  std::string id = RG_TRY(standby::controller_id(config.database));
  auto waiting =
      RG_TRY(standby::Standby::open({.lease = lease_options(config, std::move(id), again),
                                     .database = config.database,
                                     .is_forced = config.standby.is_forced,
                                     .front = {.socket = config.socket,
                                               .socket_group = config.socket_group,
                                               .open_port = standby_port(config.tcp),
                                               .metrics_listen = config.metrics_listen,
                                               .web_config = config.web_config_file}}));
  is_open();
  Turn turn;
  turn.lease = RG_TRY(waiting->wait(is_over));
  turn.has_taken_over = waiting->has_taken_over();
  return turn;
}

// The folder is that of the authority on the other host, or a copy of it.
std::string enrolment_fault(const Config& config) {
  if (config.enroll.listen.empty()) return "";
  const auto authority = [&]() -> Result<std::string> {
    const std::string own = RG_TRY(trust::read_pem("tls-cert", config.tcp.tls_cert));
    return trust::signing_authority(config.enroll.pki, own);
  }();
  return authority ? "" : fmt::format("--enroll-pki {}", authority.error().message);
}

std::string archive_fault(const Config& config) {
  const double archived = config.mirror.keep_days;
  const double own = config.keep_days.points;
  if (archived <= 0 || (own > 0 && own <= archived)) return "";
  return fmt::format(
      "--mirror-keep-points {} is less than --keep-points {}: after a takeover older points and "
      "matrices are gone; give the archive as many days, or 0 for ever",
      archived, own);
}

// Another controller may have taken the lease, which the archive knows. Otherwise the node comes
// from another site, or is forged: it must not end this controller.
fleet::Term term_of(const Turn& turn) {
  standby::LeaseKeeper* lease = turn.lease.get();
  return {.generation = static_cast<std::uint64_t>(lease->generation()),
          .has_taken_over = turn.has_taken_over,
          .may_act = [lease] { return lease->may_act(); },
          .outranked = [lease] { lease->doubt(); }};
}

}  // namespace railgauge
