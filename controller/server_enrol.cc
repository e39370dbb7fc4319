// The enrolment port of the controller: off unless it is set.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/listen/host_port.h"
#include "controller/server.h"
#include "controller/trust/authority/authority.h"
#include "controller/trust/pem_files.h"

namespace railgauge {

// Before any call: tokens name the authority. A node checks the controller by it, hence the look at
// the controller's own certificate.
Status Server::open_enrolment(const Config& config) {
  if (config.enroll.listen.empty()) return {};
  const std::string own = RG_TRY(trust::read_pem("tls-cert", config.tcp.tls_cert));
  auto authority = trust::signing_authority(config.enroll.pki, own);
  if (!authority)
    return fail(authority.error().code, fmt::format("--enroll-pki {}", authority.error().message));
  // The authority is read once: another one needs a restart, as tokens have its fingerprint.
  tokens_.serve(std::move(*authority), config.enroll.listen);
  return {};
}

// The port of TCP is known by now.
Status Server::start_enrolment(const Config& config) {
  if (config.enroll.listen.empty()) return {};
  const HostPort address = RG_TRY(parse_host_port("enroll-listen", config.enroll.listen));
  const std::string own = RG_TRY(trust::read_pem("tls-cert", config.tcp.tls_cert));
  // The functions are called on threads of the port, which ends before what they use.
  enroller_ = std::make_unique<enrol::Enroller>(
      *store_, *audit_,
      enrol::Enroller::Options{
          .folder = config.enroll.pki,
          .authority = tokens_.authority(),
          .days = config.enroll.days,
          .agent_port = tcp_->port(),
          .own_hosts = RG_TRY(trust::parse_certificate(own)).hosts,
          .now_unix = fleet::unix_seconds,
          .is_attached =
              [this](const std::string& name) {
                return loop_.call([&] {
                  const auto node = fleet_.nodes().find(name);
                  return node != fleet_.nodes().end() &&
                         node->second.presence == fleet::NodePresence::kAttached;
                });
              },
          .is_revoked = [this](const trust::CertificateId& id) { return tls_->is_revoked(id); },
          .note = [this](std::string kind,
                         std::string text) { note(std::move(kind), std::move(text)); }});
  auto started = http::Server::start(
      address.host, address.port,
      {.metrics = {},
       .healthy = [this] { return !stopping_; },
       .other = [this](const http::Request& request) { return enroller_->answer(request); },
       .most_body_bytes = trust::kMaxRequestBytes},
      http::TlsFiles{.certificate = config.tcp.tls_cert,
                     .key = config.tcp.tls_key,
                     .client_ca = config.enroll.pki + "/ca.crt"});
  if (!started)
    return fail(started.error().code, fmt::format("--enroll-listen {}", started.error().message));
  enroll_http_ = std::move(*started);
  // A warning, since the port gives identities: nobody is to find it open by surprise.
  spdlog::warn("enrolment on port {}: whoever has a token gets an agent's certificate of {}",
               enroll_http_->port(), config.enroll.pki);
  return {};
}

}  // namespace railgauge
