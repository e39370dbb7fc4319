// The node's side of the enrolment port (controller/enrol/enroller.h), over HTTPS. Errors are the
// controller's own line, or the cause why there is no answer, with the URL. Thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/trust/enrolment_token.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

inline constexpr int kEnrolPort = 7444;
// A clock that is further off makes certificates look not valid yet, or ended.
inline constexpr double kMostSkewSeconds = 300;

// The enrolment port of a controller.
struct EnrolServer {
  std::string host{};  // as it was given, with brackets around an IPv6 address
  int port = kEnrolPort;

  [[nodiscard]] std::string url() const;                     // "https://HOST:PORT"
  [[nodiscard]] std::string with_port(int of_agents) const;  // "HOST:PORT"
};
// Reads HOST, HOST:PORT or [IPV6]:PORT. kInvalidArgument: anything else. Pure.
Result<EnrolServer> parse_enrol_server(const std::string& text);
// Reads one or several of them by commas: the controllers of a site. The port of a standby is
// closed. kInvalidArgument: as above, or there is none.
Result<std::vector<EnrolServer>> parse_enrol_servers(const std::string& text);

// The authority that answered, and whose fingerprint fits.
struct Authority {
  std::string certificate{};  // PEM
  // The clock of whoever answered, unix seconds. Nothing vouches for it: it words an error, and
  // decides nothing.
  std::optional<double> claimed_time{};
};
// Asks for the authority. Whoever answers is checked by the token's fingerprint alone.
// kPermissionDenied: another authority answered.
Result<Authority> ask_authority(const EnrolServer& server, const trust::EnrolmentToken& token);

// Asks for the port where agents attach, over a connection that `ca_file` vouches for.
// kFailedPrecondition: this node's clock, which shows `now_unix`, is more than kMostSkewSeconds
// off, or makes the controller's certificate invalid; then the message has `claimed_time` too.
Result<int> ask_agent_port(const EnrolServer& server, const std::string& ca_file, double now_unix,
                           std::optional<double> claimed_time = {});

// Asks for a certificate by a token. `ca_file` vouches for the controller. Returns PEM.
// kPermissionDenied: neither this token nor this key gets one.
Result<std::string> ask_certificate(const EnrolServer& server, const std::string& ca_file,
                                    const trust::EnrolmentToken& token, const std::string& request);

// Asks for another certificate of the same key, with the present one. Returns PEM.
Result<std::string> ask_renewal(const EnrolServer& server, const trust::PemFiles& files);
// The same of the first server that answers. kUnavailable: none does; the line is the last one's.
Result<std::string> ask_renewal(const std::vector<EnrolServer>& servers,
                                const trust::PemFiles& files);

// The name of an agent's certificate; "" for any other certificate.
std::string node_of(const trust::Certificate& certificate);

}  // namespace railgauge::agent
