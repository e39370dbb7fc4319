#include "controller/trust/authority/authority.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "controller/trust/authority/folder.h"
#include "controller/trust/authority/issue.h"
#include "controller/trust/authority/keys.h"
#include "controller/trust/identity_uri.h"
#include "controller/trust/revocation.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

constexpr double kDaySeconds = 24 * 3600;
// A node whose clock is a little behind accepts what was just issued.
constexpr double kLeadSeconds = 3600;
constexpr const char* kCrlFile = "crl.pem";

Result<Signer> signer_of(const Folder& folder) {
  auto certificate = folder.read("ca.crt");
  if (!certificate && certificate.error().code == Code::kNotFound)
    return fail(Code::kNotFound, fmt::format("{}; railgauge pki init makes an authority",
                                             certificate.error().message));
  Signer signer{.certificate = RG_TRY(std::move(certificate)),
                .key = RG_TRY(folder.read_secret("ca.key"))};
  if (!is_pair(signer.certificate, signer.key))
    return fail(Code::kFailedPrecondition,
                fmt::format("{} and ca.key: the key is not the authority's, or has a passphrase",
                            folder.path_of("ca.crt")));
  return signer;
}

// A certificate of this authority in NAME.crt.
Result<Certificate> issued_one(const Folder& folder, const std::string& name,
                               const std::string& authority) {
  const std::string pem = RG_TRY(folder.read(name + ".crt"));
  if (const Status ours = check_issued(pem, authority); !ours)
    return fail(ours.error().code,
                fmt::format("{}: {}", folder.path_of(name + ".crt"), ours.error().message));
  return parse_certificate(pem);
}

// The index, with the certificates of this authority that the folder has and the index lacks:
// pki.sh kept none, and people copy files.
Result<std::vector<IndexEntry>> whole_index(const Folder& folder, const std::string& authority) {
  std::vector<IndexEntry> entries = RG_TRY(folder.index());
  std::set<std::string> serials;
  for (const IndexEntry& entry : entries) serials.insert(entry.serial);
  for (const std::string& name : folder.certificates()) {
    if (name == "ca") continue;
    const auto found = issued_one(folder, name, authority);
    if (found && serials.insert(found->id.serial).second) entries.push_back(entry_of(*found, name));
  }
  return entries;
}

Status check_days(double days) {
  if (days >= 1 && days <= kMaxDays) return {};
  return fail(Code::kInvalidArgument, fmt::format("--days {}: 1 to {} days", days, kMaxDays));
}

Status check_name(const IssueOrder& order, const std::string& name) {
  if (!is_good_name(name))
    return fail(Code::kInvalidArgument,
                fmt::format("name {}: only letters, digits, '.', '_' and '-', beginning with a "
                            "letter or digit, at most {} bytes",
                            in_quotes(name), kMaxNameBytes));
  const bool is_taken = name == "ca" || (name == "controller" && order.role != "controller");
  if (is_taken)
    return fail(Code::kInvalidArgument,
                fmt::format("name \"{}\": belongs to the {}'s own files", name, name));
  return {};
}

Status check_order(const IssueOrder& order) {
  const std::vector<std::string> roles{"controller", "agent", "operator", "viewer"};
  if (std::ranges::find(roles, order.role) == roles.end())
    return fail(Code::kInvalidArgument,
                fmt::format("role {}: {} is needed{}", in_quotes(order.role), one_of(roles),
                            did_you_mean(order.role, roles)));
  if (order.names.empty()) return fail(Code::kInvalidArgument, "no name is given");
  if (order.role != "controller" && !order.hosts.empty())
    return fail(Code::kInvalidArgument, "--san: only a controller has host names and addresses");
  for (const std::string& name : order.names) RG_TRY_OK(check_name(order, name));
  for (const std::string& host : order.hosts)
    if (const auto name = alternative_name(host); !name) return tl::unexpected(name.error());
  return check_days(order.days);
}

// No certificate is valid for longer than its authority.
Result<double> end_of(double days, double now_unix, const std::string& authority) {
  const double last = RG_TRY(parse_certificate(authority)).until_unix;
  if (last <= now_unix)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("the authority ended at {}; make another in a new folder", rfc3339(last)));
  return std::min(now_unix + days * kDaySeconds, last);
}

Issued issued_as(const Folder& folder, const std::string& name, const Certificate& certificate) {
  return {.path = folder.path_of(name + ".crt"),
          .subject = certificate.subject,
          .until_unix = certificate.until_unix};
}

Result<std::vector<std::string>> hosts_of(const IssueOrder& order, const std::string& name) {
  std::vector<std::string> hosts;
  if (order.role != "controller") return hosts;
  for (const std::string& host : order.hosts) hosts.push_back(RG_TRY(alternative_name(host)));
  if (hosts.empty()) hosts.push_back(RG_TRY(alternative_name(name)));
  return hosts;
}

Result<double> put_crl(const Folder& folder, const std::vector<IndexEntry>& index, double days,
                       double now_unix, const Signer& signer) {
  std::vector<RevokedEntry> revoked;
  for (const IndexEntry& entry : index)
    if (entry.revoked_unix > 0)
      revoked.push_back({.serial = entry.serial, .at_unix = entry.revoked_unix});
  const double until = now_unix + days * kDaySeconds;
  const std::string text =
      RG_TRY(make_crl(revoked, now_unix, now_unix - kLeadSeconds, until, signer));
  RG_TRY_OK(folder.replace(kCrlFile, text, kPublicMode));
  return until;
}

}  // namespace

// A key without a certificate is what a killed call left; it was never used, and is taken.
Result<Issued> init_authority(const std::string& path, double days, double now_unix) {
  RG_TRY_OK(check_days(days));
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kCreate));
  if (folder.has("ca.crt"))
    return fail(Code::kAlreadyExists,
                fmt::format("{}: is there already and is not overwritten; use another folder",
                            folder.path_of("ca.crt")));
  std::string key;
  if (folder.has("ca.key")) {
    key = RG_TRY(folder.read_secret("ca.key"));
  } else {
    key = RG_TRY(make_key());
    RG_TRY_OK(folder.replace("ca.key", key, kSecretMode));
  }
  failpoint("pki.authority_key");
  const CertificateRequest request{
      .role = "authority",
      .name = fmt::format("railgauge authority {}", rfc3339(now_unix).substr(0, 10)),
      .from_unix = now_unix - kLeadSeconds,
      .until_unix = now_unix + days * kDaySeconds};
  const std::string certificate = RG_TRY(make_certificate(request, key, {.key = key}));
  const std::vector<IndexEntry> index = RG_TRY(folder.index());
  if (!folder.has("index.txt")) RG_TRY_OK(folder.replace("index.txt", "", kPublicMode));
  RG_TRY_OK(put_crl(folder, index, kCrlDays, now_unix, {.certificate = certificate, .key = key}));
  RG_TRY_OK(folder.replace("ca.crt", certificate, kPublicMode));
  return issued_as(folder, "ca", RG_TRY(parse_certificate(certificate)));
}

namespace {

// Certificates that are made one by one and published together.
struct Batch {
  static Result<Batch> open(const std::string& path, double days, double now_unix) {
    Folder folder = RG_TRY(Folder::open(path, Folder::Use::kWrite));
    Signer signer = RG_TRY(signer_of(folder));
    std::vector<IndexEntry> index = RG_TRY(whole_index(folder, signer.certificate));
    CertificateKeys keys = RG_TRY(folder.keys());
    const double until = RG_TRY(end_of(days, now_unix, signer.certificate));
    return Batch{std::move(folder), std::move(signer), std::move(index),
                 std::move(keys),   now_unix,          until};
  }
  // Makes the certificate for NAME.crt. `renewed`: the serial number of one for the same key, or
  // "".
  Status add(const std::string& name, CertificateRequest request, const std::string& key,
             bool is_new_key, const std::string& renewed = "") {
    request.from_unix = now_unix - kLeadSeconds;
    request.until_unix = until_unix;
    const std::string certificate = RG_TRY(make_certificate(request, key, signer));
    const Certificate made = RG_TRY(parse_certificate(certificate));
    const std::string public_key = RG_TRY(key_of_certificate(certificate));
    const std::string digest = RG_TRY(key_digest_of(public_key));
    for (const std::string& serial : {made.id.serial, renewed})
      if (!serial.empty()) keys.insert_or_assign(serial, digest);
    index.push_back(entry_of(made, name));
    issued.push_back(issued_as(folder, name, made));
    staged.push_back({.name = name, .certificate = certificate});
    if (is_new_key) staged.back().key = key;
    return {};
  }

  // The keys first: a line too many revokes nothing.
  Status publish() {
    RG_TRY_OK(folder.replace_keys(keys, index, now_unix));
    return folder.publish(staged, index, now_unix);
  }

  Folder folder;
  Signer signer;
  std::vector<IndexEntry> index;
  CertificateKeys keys;
  double now_unix;
  double until_unix;
  std::vector<Issued> issued{};
  std::vector<Staged> staged{};
};

}  // namespace

Result<std::vector<Issued>> issue(const std::string& path, const IssueOrder& order,
                                  double now_unix) {
  RG_TRY_OK(check_order(order));
  Batch batch = RG_TRY(Batch::open(path, order.days, now_unix));
  const Folder& folder = batch.folder;
  for (const std::string& name : std::set<std::string>(order.names.begin(), order.names.end())) {
    if (folder.has(name + ".crt") || folder.has(name + ".key")) {
      if (order.names.size() == 1)
        return fail(
            Code::kAlreadyExists,
            fmt::format("{}: is there already and is not overwritten; railgauge pki renew "
                        "replaces a certificate",
                        folder.path_of(folder.has(name + ".crt") ? name + ".crt" : name + ".key")));
      batch.issued.push_back({.path = folder.path_of(name + ".crt"), .kept = true});
      continue;
    }
    const CertificateRequest request{
        .role = order.role, .name = name, .hosts = RG_TRY(hosts_of(order, name))};
    const std::string key = RG_TRY(make_key());
    RG_TRY_OK(batch.add(name, request, key, true));
  }
  if (!batch.staged.empty()) RG_TRY_OK(batch.publish());
  return std::move(batch.issued);
}

namespace {

// The order that made a certificate. kFailedPrecondition: nobody can say which role it had.
Result<CertificateRequest> request_again(const Certificate& old, const std::string& name,
                                         const std::string& path) {
  CertificateRequest request{.role = entry_of(old, name).role(), .name = name, .hosts = old.hosts};
  const auto by_uri = identity_in(old.uris);
  if (by_uri && *by_uri) {
    request.role = (*by_uri)->role;
    request.name = (*by_uri)->name;
  }
  const std::set<std::string> roles{"controller", "agent", "operator", "viewer"};
  if (by_uri && roles.contains(request.role) && is_good_name(request.name)) return request;
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: no certificate of a controller, agent, operator or viewer", path));
}

}  // namespace

Result<std::vector<Issued>> renew(const std::string& path, const RenewOrder& order,
                                  double now_unix) {
  RG_TRY_OK(check_days(order.days));
  Batch batch = RG_TRY(Batch::open(path, order.days, now_unix));
  const Folder& folder = batch.folder;
  for (const std::string& name : std::set<std::string>(order.names.begin(), order.names.end())) {
    if (!is_good_name(name) || name == "ca")
      return fail(
          Code::kInvalidArgument,
          fmt::format("name {}: is no name of a certificate that was issued", in_quotes(name)));
    const Certificate old = RG_TRY(issued_one(folder, name, batch.signer.certificate));
    const CertificateRequest request =
        RG_TRY(request_again(old, name, folder.path_of(name + ".crt")));
    const std::string key =
        order.new_key ? RG_TRY(make_key()) : RG_TRY(folder.read_secret(name + ".key"));
    RG_TRY_OK(batch.add(name, request, key, order.new_key, order.new_key ? "" : old.id.serial));
  }
  RG_TRY_OK(batch.publish());
  return std::move(batch.issued);
}

// The index first: a list that is older than it is written anew by whoever comes next, a list that
// is newer would be undone.
Result<Revoked> revoke(const std::string& path, const std::string& word, double days,
                       double now_unix) {
  RG_TRY_OK(check_days(days));
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kWrite));
  const Signer signer = RG_TRY(signer_of(folder));
  std::vector<IndexEntry> index = RG_TRY(whole_index(folder, signer.certificate));
  std::string serial = word;
  std::erase(serial, ':');  // as openssl and browsers print it
  std::ranges::transform(serial, serial.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  // A damaged line keeps nobody from revoking; what it may hide is said.
  Revoked revoked;
  const CertificateKeys keys = RG_TRY(folder.keys(&revoked.damaged));
  bool found = false;
  for (IndexEntry& entry : index) {
    // Whoever has the key of a revoked certificate has that of its renewals too.
    if (entry.name() != word && entry.serial != serial && !have_one_key(keys, entry.serial, serial))
      continue;
    found = true;
    if (entry.revoked_unix > 0) continue;
    entry.revoked_unix = std::floor(now_unix);
    revoked.serials.push_back(entry.serial);
  }
  if (!found)
    return fail(Code::kNotFound,
                fmt::format("{}: no certificate of that name or serial number", in_quotes(word)));
  RG_TRY_OK(folder.publish({}, index, now_unix));
  failpoint("pki.revoked");
  revoked.crl_until_unix = RG_TRY(put_crl(folder, index, days, now_unix, signer));
  return revoked;
}

Result<Revoked> write_crl(const std::string& path, double days, double now_unix) {
  RG_TRY_OK(check_days(days));
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kWrite));
  const Signer signer = RG_TRY(signer_of(folder));
  const auto index = RG_TRY(whole_index(folder, signer.certificate));
  Revoked revoked;
  for (const IndexEntry& entry : index)
    if (entry.revoked_unix > 0) revoked.serials.push_back(entry.serial);
  revoked.crl_until_unix = RG_TRY(put_crl(folder, index, days, now_unix, signer));
  return revoked;
}

namespace {

// Neither revoked nor over.
bool is_valid(const IndexEntry& entry, double now_unix) {
  return entry.revoked_unix == 0 && entry.until_unix > now_unix;
}

// The certificate alone; nothing is stored yet. Role and subject are this function's, never the
// peer's.
Result<Enrolled> make_enrolled(const EnrolOrder& order, double now_unix, const Signer& signer) {
  const CertificateRequest request{
      .role = "agent",
      .name = order.name,
      .hosts = order.hosts,
      .from_unix = now_unix - kLeadSeconds,
      .until_unix = RG_TRY(end_of(order.days, now_unix, signer.certificate))};
  // No certificate is valid for longer than its authority: end_of().
  Enrolled made{.certificate = RG_TRY(make_certificate(request, order.public_key, signer))};
  const Certificate certificate = RG_TRY(parse_certificate(made.certificate));
  made.serial = certificate.id.serial;
  made.until_unix = certificate.until_unix;
  return made;
}

// From here on the certificate can be revoked by its name, before anybody has it. `digest`: of its
// key. `renewed`: the serial number of the one before it, if there is one.
Status add_to_index(const Folder& folder, std::vector<IndexEntry> index, const Enrolled& made,
                    const std::string& name, const std::string& digest, const std::string& renewed,
                    double now_unix) {
  CertificateKeys keys = RG_TRY(folder.keys());
  for (const std::string& serial : {made.serial, renewed})
    if (!serial.empty()) keys.insert_or_assign(serial, digest);
  RG_TRY_OK(folder.replace_keys(std::move(keys), index, now_unix));
  failpoint("pki.keys");
  index.push_back(entry_of(RG_TRY(parse_certificate(made.certificate)), name));
  return folder.publish({}, index, now_unix);
}

// Whether a certificate for this key was revoked, by this program or by `openssl ca`.
bool is_revoked_key(const std::string& digest, const std::vector<IndexEntry>& index,
                    const CertificateKeys& keys) {
  return std::ranges::any_of(index, [&](const IndexEntry& entry) {
    const auto key = keys.find(entry.serial);
    return entry.revoked_unix > 0 && key != keys.end() && key->second == digest;
  });
}

// A key that was taken back stays so, whatever the token.
Status check_key(const EnrolOrder& order, const std::string& digest,
                 const std::vector<IndexEntry>& index, const CertificateKeys& keys) {
  if (!is_revoked_key(digest, index, keys)) return {};
  return fail(Code::kPermissionDenied,
              fmt::format("node {}: a certificate of its key was revoked; the next call makes "
                          "another key",
                          order.name));
}

// Adds a certificate that is in the folder and not in the index.
void add_placed(const Folder& folder, const std::string& name, const std::string& authority,
                std::vector<IndexEntry>& index) {
  const auto placed = issued_one(folder, name, authority);
  if (placed && std::ranges::find(index, placed->id.serial, &IndexEntry::serial) == index.end())
    index.push_back(entry_of(*placed, name));
}

// Refuses an order that the index forbids.
Status check_free(const EnrolOrder& order, const std::vector<IndexEntry>& index, double now_unix) {
  for (const IndexEntry& entry : index) {
    if (entry.name() != order.name) continue;
    if (order.repeats_since && entry.revoked_unix > *order.repeats_since)
      return fail(Code::kPermissionDenied,
                  fmt::format("node {}: a certificate of it was revoked since this token was used; "
                              "railgauge tokens create makes another",
                              order.name));
    if (!is_valid(entry, now_unix)) continue;
    if (entry.role() != "agent")
      return fail(Code::kAlreadyExists,
                  fmt::format("node {}: the name has a certificate of another role, {}", order.name,
                              entry.role()));
    if (!order.replaces && !order.repeats_since)
      return fail(
          Code::kAlreadyExists,
          fmt::format("node {}: it has a certificate, serial {}, valid until {}; a token of "
                      "railgauge tokens create --nodes {} --replace replaces it",
                      order.name, entry.serial, rfc3339(entry.until_unix), order.name));
  }
  return {};
}

}  // namespace

// An answer for a peer who gets a refusal without a use of the token; enrol() looks again under the
// lock.
Status check_enrol(const std::string& path, const EnrolOrder& order, double now_unix) {
  RG_TRY_OK(check_name({.role = "agent"}, order.name));
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kRead));
  std::vector<IndexEntry> index = RG_TRY(folder.index());
  add_placed(folder, order.name, RG_TRY(folder.read("ca.crt")), index);
  RG_TRY_OK(check_free(order, index, now_unix));
  return check_key(order, RG_TRY(key_digest_of(order.public_key)), index, RG_TRY(folder.keys()));
}

// The index first, then the list, as revoke() does it.
Result<Enrolled> enrol(const std::string& path, const EnrolOrder& order, double now_unix) {
  RG_TRY_OK(check_name({.role = "agent"}, order.name));
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kWrite));
  const Signer signer = RG_TRY(signer_of(folder));
  std::vector<IndexEntry> index = RG_TRY(folder.index());
  add_placed(folder, order.name, signer.certificate, index);
  RG_TRY_OK(check_free(order, index, now_unix));
  const std::string digest = RG_TRY(key_digest_of(order.public_key));
  const CertificateKeys keys = RG_TRY(folder.keys());
  RG_TRY_OK(check_key(order, digest, index, keys));
  Enrolled made = RG_TRY(make_enrolled(order, now_unix, signer));
  // One for the same key stays, as of a call whose answer was lost: its holder is the same.
  for (IndexEntry& entry : index) {
    const auto key = keys.find(entry.serial);
    const bool is_same_key = key != keys.end() && key->second == digest;
    if (!order.replaces || entry.name() != order.name || is_same_key || !is_valid(entry, now_unix))
      continue;
    entry.revoked_unix = std::floor(now_unix);
    made.revoked.push_back(entry.serial);
  }
  RG_TRY_OK(add_to_index(folder, index, made, order.name, digest, "", now_unix));
  // Whatever a killed call has revoked in the index must reach the list as well.
  if (order.replaces) static_cast<void>(RG_TRY(put_crl(folder, index, kCrlDays, now_unix, signer)));
  return made;
}

// Takes the writers' lock once, so that a folder that cannot be written is known at the start.
Result<std::string> signing_authority(const std::string& path,
                                      const std::string& server_certificate) {
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kWrite));
  Signer signer = RG_TRY(signer_of(folder));
  if (const Status issued = check_issued(server_certificate, signer.certificate); !issued)
    return fail(issued.error().code,
                fmt::format("{}: the controller's certificate is not of this authority, so that "
                            "nodes could not check it; railgauge pki issue makes one",
                            path));
  return std::move(signer.certificate);
}

// A certificate that the index lacks is looked for in the folder too, where pki.sh left some.
Result<Enrolled> renew_enrolled(const std::string& path, const std::string& certificate_pem,
                                double days, double now_unix) {
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kWrite));
  const Signer signer = RG_TRY(signer_of(folder));
  RG_TRY_OK(check_issued(certificate_pem, signer.certificate));
  const Certificate old = RG_TRY(parse_certificate(certificate_pem));
  const auto identity = RG_TRY(identity_in(old.uris));
  if (!identity || identity->role != "agent")
    return fail(Code::kPermissionDenied, "the certificate is no agent's");
  const auto refused = [&](std::string_view why) {
    return fail(Code::kPermissionDenied, fmt::format("node {}: certificate, serial {}: {}",
                                                     identity->name, old.id.serial, why));
  };
  std::vector<IndexEntry> index = RG_TRY(folder.index());
  if (std::ranges::find(index, old.id.serial, &IndexEntry::serial) == index.end())
    index = RG_TRY(whole_index(folder, signer.certificate));
  const auto entry = std::ranges::find(index, old.id.serial, &IndexEntry::serial);
  if (entry != index.end() && entry->revoked_unix > 0)
    return refused("it is revoked; a new token enrols the node again");
  if (entry == index.end())
    return refused("it is not in the authority's index; a new token enrols the node again");
  if (old.until_unix <= now_unix) return refused("it has ended; a new token enrols the node again");
  // A renewal ends no earlier than what it renews; certificates have whole seconds.
  const double days_left = (old.until_unix - now_unix + 1) / kDaySeconds;
  const EnrolOrder order{.name = identity->name,
                         .public_key = RG_TRY(key_of_certificate(certificate_pem)),
                         .hosts = old.hosts,
                         .days = std::max(days, days_left)};
  const std::string digest = RG_TRY(key_digest_of(order.public_key));
  if (is_revoked_key(digest, index, RG_TRY(folder.keys())))
    return refused("another one of its key is revoked; a new token enrols the node again");
  Enrolled made = RG_TRY(make_enrolled(order, now_unix, signer));
  RG_TRY_OK(
      add_to_index(folder, std::move(index), made, order.name, digest, old.id.serial, now_unix));
  return made;
}

Result<std::vector<std::string>> serials_of_key(const std::string& path,
                                                const std::string& serial) {
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kRead));
  const CertificateKeys keys = RG_TRY(folder.keys());
  std::vector<std::string> serials{serial};
  for (const auto& [other, digest] : keys)
    if (other != serial && have_one_key(keys, serial, other)) serials.push_back(other);
  return serials;
}

namespace {

std::string state_by_end(double until_unix, double now_unix) {
  if (until_unix <= now_unix) return "expired";
  return until_unix <= now_unix + kEndingDays * kDaySeconds ? "ending" : "valid";
}

// "stale": the index has revoked what the list does not name.
ShownCertificate shown_list(const Folder& folder, const std::vector<IndexEntry>& index,
                            const std::string& authority, double now_unix) {
  ShownCertificate shown{.name = kCrlFile, .role = "list", .state = "missing"};
  const auto text = folder.read(kCrlFile);
  if (!text) return shown;
  const auto list = parse_revocations(*text, authority, now_unix);
  if (!list) {
    shown.state = "damaged";
    return shown;
  }
  shown.until_unix = list->next_update_unix;
  shown.state = state_by_end(shown.until_unix, now_unix);
  std::set<std::string> serials;
  for (const CertificateId& id : list->revoked) serials.insert(id.serial);
  for (const IndexEntry& entry : index)
    if (entry.revoked_unix > 0 && !serials.contains(entry.serial)) shown.state = "stale";
  return shown;
}

}  // namespace

Result<std::vector<ShownCertificate>> show(const std::string& path, double now_unix) {
  const Folder folder = RG_TRY(Folder::open(path, Folder::Use::kRead));
  const std::string authority = RG_TRY(folder.read("ca.crt"));
  const Certificate own = RG_TRY(parse_certificate(authority));
  std::vector<IndexEntry> index = RG_TRY(whole_index(folder, authority));
  std::map<std::string, std::string> in_place;  // serial numbers by name
  for (const std::string& name : folder.certificates())
    if (const auto found = issued_one(folder, name, authority)) in_place[name] = found->id.serial;
  // Later ones than the file's own were enrolled: they have no file.
  std::map<std::string, std::size_t> order;  // of serial numbers
  for (const IndexEntry& entry : index) order.emplace(entry.serial, order.size());
  std::ranges::stable_sort(
      index, {}, [](const IndexEntry& entry) { return std::pair(entry.name(), entry.until_unix); });
  std::vector<ShownCertificate> all{{.name = "ca",
                                     .role = "authority",
                                     .state = state_by_end(own.until_unix, now_unix),
                                     .serial = own.id.serial,
                                     .until_unix = own.until_unix},
                                    shown_list(folder, index, authority, now_unix)};
  for (const IndexEntry& entry : index) {
    ShownCertificate shown{.name = entry.name(),
                           .role = entry.role(),
                           .state = state_by_end(entry.until_unix, now_unix),
                           .serial = entry.serial,
                           .until_unix = entry.until_unix,
                           .revoked_unix = entry.revoked_unix};
    const auto file = in_place.find(shown.name);
    if (entry.revoked_unix > 0)
      shown.state = "revoked";
    else if (shown.state != "expired" && file != in_place.end() &&
             order[entry.serial] < order[file->second])
      shown.state = "replaced";
    all.push_back(std::move(shown));
  }
  return all;
}

}  // namespace railgauge::trust
