// Certificate revocation lists (RFC 5280): which certificates their authority has taken back.
// Pure: text and time are passed in. Thread safe. Times are unix seconds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "controller/trust/certificate.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

// All the lists of a file together.
struct RevocationList {
  std::set<CertificateId> revoked{};
  std::map<std::string, double> issued_unix{};  // thisUpdate of each issuer's newest list
  std::set<std::string> authorities{};          // of the file that the lists were checked with
  double next_update_unix = 0;                  // the first to come; 0: no list has one

  [[nodiscard]] bool has(const CertificateId& id) const { return revoked.contains(id); }
  [[nodiscard]] bool is_expired(double now_unix) const {
    return next_update_unix > 0 && now_unix >= next_update_unix;
  }
};

// Reads every list of a PEM text. Each must be signed by a certificate of `authority_pem` that may
// sign lists, and be complete: delta, partitioned and indirect lists are refused. An expired list
// is read, since what it takes back stays so. kInvalidArgument names the fault.
Result<RevocationList> parse_revocations(std::string_view pem, std::string_view authority_pem,
                                         double now_unix);

// The list that follows `held`: `next`, and what `held` has of issuers that are no authority any
// more, whose connections may be open still. kFailedPrecondition: `next` is expired, or of an
// authority it has no list though `held` has, or an older one: somebody put an old file back.
Result<RevocationList> replaced(const RevocationList& held, RevocationList next, double now_unix);

}  // namespace railgauge::trust
