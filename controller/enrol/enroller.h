// The only part of the controller that strangers reach by their own requests: it takes nothing from
// them but a token, a name and a key, and gives nothing but a certificate of an agent.
//
// The answers of the enrolment port, over HTTPS:
//   GET  /v1/authority  the authority's certificate, PEM, which a token's fingerprint proves
//   POST /v1/enrol      Authorization: Bearer TOKEN, a signing request (PKCS #10, PEM) as body:
//                       the node's certificate
//   POST /v1/renew      the node's certificate by TLS, no body: another one for the same key
// An error is one line of text.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/audit/audit_log.h"
#include "controller/enrol/attempts.h"
#include "controller/http/http_server.h"
#include "controller/store/nodes/enrolment_tokens.h"
#include "controller/store/store.h"
#include "controller/trust/certificate.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/base/result.h"

namespace railgauge::enrol {

// Headers of each answer: the port where agents attach, and the controller's clock.
inline constexpr const char* kPortHeader = "Railgauge-Port";
inline constexpr const char* kTimeHeader = "Railgauge-Time";

// Thread safe. Makes certificates one after the other.
class Enroller {
 public:
  // Bounds of what strangers may ask for; constants, since no site needs others.
  // Tokens that are not taken, of one source (IPv4 address, IPv6 /64).
  static constexpr Attempts::Bounds kRefusals{.burst = 10, .seconds = 60};
  // Renewals of one node.
  static constexpr Attempts::Bounds kRenewals{.burst = 6, .seconds = 3'600};

  // All functions are called on threads of the port.
  struct Options {
    std::string folder{};     // of `railgauge pki`
    std::string authority{};  // its certificate, PEM
    double days = 90;         // of a new certificate
    int agent_port = 0;       // where agents attach
    // The controller's names: an agent's certificate has none of them as DNS name.
    std::vector<std::string> own_hosts{};
    std::function<double()> now_unix{};
    std::function<bool(const std::string& node)> is_attached{};
    std::function<bool(const trust::CertificateId&)> is_revoked{};
    std::function<void(std::string kind, std::string text)> note{};  // stores an event
  };
  // Store and log outlive it.
  Enroller(store::Store& store, audit::AuditLog& log, Options options)
      : store_(store), log_(log), options_(std::move(options)) {}

  // May wait for the store and for the lock of the folder.
  http::Answer answer(const http::Request& request);

 private:
  // One request for a certificate, as far as it is proved: it begins as a stranger's, and gets the
  // token's id or the certificate's name. A name that is a claim alone is called so.
  struct Ask {
    audit::Act act{};
    std::string source{};  // the address without its port
    bool has_row = false;  // the trail has how it ended
  };
  http::Answer enrol(const http::Request& request);
  http::Answer renew(const http::Request& request);
  Result<std::string> enrol_node(const http::Request& request, Ask& ask);
  Result<std::string> renew_node(const http::Request& request, Ask& ask);
  Result<std::string> use_token(const store::TokenRow& token, const trust::SigningRequest& asked,
                                Ask& ask, double now);
  http::Answer finish(const Result<std::string>& made, const Ask& ask);
  [[nodiscard]] std::vector<std::string> hosts_of(const std::string& name) const;
  [[nodiscard]] http::Answer with_headers(http::Answer answer) const;

  store::Store& store_;
  audit::AuditLog& log_;
  const Options options_;
  std::mutex mutex_;  // guards all below, and orders certificates
  Attempts refusals_{kRefusals};
  Attempts renewals_{kRenewals};
};

}  // namespace railgauge::enrol
