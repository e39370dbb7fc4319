// X.509 certificates as this program sees them: who, by whom, until when. Free of gRPC, files and
// clocks. Pure; thread safe. All times are unix seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::trust {

// One certificate among all: an authority gives a serial number only once.
struct CertificateId {
  std::string issuer{};  // RFC 2253, in lower case; "": no certificate
  std::string serial{};  // hexadecimal digits, upper case
  // NOLINTNEXTLINE(modernize-use-nullptr): clang's own 0
  auto operator<=>(const CertificateId&) const = default;
};

struct Certificate {
  CertificateId id{};
  std::string subject{};             // RFC 2253
  std::vector<std::string> uris{};   // of the subject's alternative names, with all their bytes
  std::vector<std::string> hosts{};  // likewise: "DNS:ctl.example", "IP:10.0.0.1"
  double from_unix = 0;
  double until_unix = 0;
};

// Reads the first certificate of a PEM text. kInvalidArgument: there is none.
Result<Certificate> parse_certificate(std::string_view pem);

// The files of one party of a TLS connection, read and found to fit each other.
struct Material {
  std::string certificate{};  // PEM, with the chain
  std::string key{};          // PEM
  std::string authority{};    // PEM, one or several
  Certificate own{};
  double authority_until_unix = 0;  // of the one that issued `own`; of several the earliest
  bool operator==(const Material& other) const {
    return certificate == other.certificate && key == other.key && authority == other.authority;
  }
};

// Reads the parts and tries them as TLS will. kInvalidArgument, with the flag of the file at fault:
// no certificate, no key, or a key of another certificate.
Result<Material> check_material(std::string certificate, std::string key, std::string authority);

}  // namespace railgauge::trust
