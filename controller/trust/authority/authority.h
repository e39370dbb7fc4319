// A certificate authority in a folder: what `railgauge pki` does. The files are PEM:
//   ca.crt ca.key       the authority; its key stays off the nodes
//   NAME.crt NAME.key   what was issued
//   crl.pem             what was revoked, for --tls-crl
//   index.txt           all of it, as `openssl ca` keeps it
//   keys.txt            which enrolled certificates are for one key
// Every function opens the folder, does one thing and closes it. Not thread safe; safe between
// processes. Times are unix seconds. Errors name the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/trust/certificate.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

inline constexpr double kAuthorityDays = 3650;
inline constexpr double kCertificateDays = 730;
inline constexpr double kCrlDays = 30;
inline constexpr double kMaxDays = 99'999;

// The effect of an order on one name.
struct Issued {
  std::string path{};     // of the certificate
  std::string subject{};  // RFC 2253
  double until_unix = 0;
  bool kept = false;  // it was there before and is as it was
};

// Makes the folder and the authority with an empty revocation list. kAlreadyExists: there is one.
Result<Issued> init_authority(const std::string& folder, double days, double now_unix);

struct IssueOrder {
  std::string role{};  // "controller", "agent", "operator" or "viewer"
  std::vector<std::string> names{};
  std::vector<std::string> hosts{};  // of a controller; without one its name is its host
  double days = kCertificateDays;
};
// Issues a key and certificate for each name. A certificate that is there is never overwritten: of
// several names it is kept, so that an order can be repeated and grow; a single one is
// kAlreadyExists. A certificate ends with its authority at the latest.
Result<std::vector<Issued>> issue(const std::string& folder, const IssueOrder& order,
                                  double now_unix);

struct RenewOrder {
  std::vector<std::string> names{};
  bool new_key = false;
  double days = kCertificateDays;
};
// Issues certificates of the same role, name and hosts in the place of those in the folder. The old
// ones stay valid to their end. kNotFound: a name has none.
Result<std::vector<Issued>> renew(const std::string& folder, const RenewOrder& order,
                                  double now_unix);

struct Revoked {
  std::vector<std::string> serials{};  // those that were valid before
  double crl_until_unix = 0;
  // Lines of keys.txt that cannot be read, with file and line: a certificate for the same key that
  // only such a line names was not revoked with the serial number.
  std::vector<std::string> damaged{};
};
// Revokes every certificate that was ever issued for the name, renewed ones included, or the one
// with the serial number and all that were enrolled or renewed for its key, and writes the list.
// Those revoked before are no error: the list is written anew. kNotFound: the index has neither
// name nor serial number.
Result<Revoked> revoke(const std::string& folder, const std::string& name_or_serial, double days,
                       double now_unix);

// Writes the revocation list anew, for so many days.
Result<Revoked> write_crl(const std::string& folder, double days, double now_unix);

// Enrolment: the key stays with whoever made it, so that this folder has certificates of keys that
// it never saw. `show` and `revoke` know them by the index.
//
// A node that asks for a certificate of its own key.
struct EnrolOrder {
  std::string name{};
  std::string public_key{};          // PEM, as read_request() has it
  std::vector<std::string> hosts{};  // beside the URI: "DNS:gpu017"
  double days = kCertificateDays;
  // Valid certificates of the name for other keys are revoked, and the list is written.
  bool replaces = false;
  // The same key asks again, since an answer was lost: valid certificates stay. Unix seconds of the
  // first time; a certificate of the name that was revoked later bars it.
  std::optional<double> repeats_since{};
};
struct Enrolled {
  std::string certificate{};  // PEM
  std::string serial{};
  double until_unix = 0;
  std::vector<std::string> revoked{};  // serial numbers
};
// Issues an agent's certificate, which only the index names: the folder gets no file of it.
// kAlreadyExists: the name has a valid certificate. kInvalidArgument: not a good name.
// kPermissionDenied: the name was revoked since the first time, or its key before.
Result<Enrolled> enrol(const std::string& folder, const EnrolOrder& order, double now_unix);
// The errors of enrol() that the index decides, without the lock and without a change.
Status check_enrol(const std::string& folder, const EnrolOrder& order, double now_unix);
// The certificate of an authority that this program can sign with, PEM. kFailedPrecondition: the
// server's certificate is of another one, so that a node could not check the server.
Result<std::string> signing_authority(const std::string& folder,
                                      const std::string& server_certificate);

// Issues another certificate for the key, name and hosts of an agent's certificate that is valid.
// The old one stays valid to its end. kPermissionDenied: it is revoked or expired, or no agent's.
// kFailedPrecondition: it is not of this authority.
Result<Enrolled> renew_enrolled(const std::string& folder, const std::string& certificate_pem,
                                double days, double now_unix);

// Serial numbers of the certificates that are for the key of this one, itself included.
Result<std::vector<std::string>> serials_of_key(const std::string& folder,
                                                const std::string& serial);

struct ShownCertificate {
  std::string name{};
  std::string role{};    // "authority", "controller", ..., "list" for crl.pem
  std::string state{};   // valid, ending (within kEndingDays), expired, revoked, replaced, missing
  std::string serial{};  // "" of the list
  double until_unix = 0;
  double revoked_unix = 0;  // 0: not revoked
};
inline constexpr double kEndingDays = 14;
// All that the folder has: authority, list, then certificates by name and end. Takes no lock and
// changes nothing.
Result<std::vector<ShownCertificate>> show(const std::string& folder, double now_unix);

}  // namespace railgauge::trust
