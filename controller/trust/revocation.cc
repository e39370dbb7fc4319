#include "controller/trust/revocation.h"

#include <openssl/err.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "controller/trust/openssl.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::trust {
namespace {

std::vector<X509Object> authorities_of(std::string_view pem) {
  std::vector<X509Object> authorities;
  const Bio bio = reader_of(pem);
  while (X509Object authority = next_certificate(bio)) authorities.push_back(std::move(authority));
  ERR_clear_error();
  return authorities;
}

// The certificate whose key signed the list; kInvalidArgument where there is none.
Status check_signature(const CrlObject& list, const std::vector<X509Object>& authorities) {
  const X509_NAME* issuer = X509_CRL_get_issuer(list.get());
  bool named = false;
  for (const X509Object& authority : authorities) {
    if (X509_NAME_cmp(issuer, X509_get_subject_name(authority.get())) != 0) continue;
    named = true;
    const bool may_sign = (X509_get_key_usage(authority.get()) & KU_CRL_SIGN) != 0;
    if (may_sign && X509_CRL_verify(list.get(), X509_get0_pubkey(authority.get())) == 1) return {};
  }
  ERR_clear_error();
  return fail(Code::kInvalidArgument,
              fmt::format("the list of {} is {}", text_of(issuer),
                          named ? "not signed by that authority"
                                : "of an authority that --tls-ca does not have"));
}

// Reads one verified list into `all`.
Status add_list(const CrlObject& list, double now_unix, RevocationList& all) {
  const std::string issuer = comparable(X509_CRL_get_issuer(list.get()));
  if (X509_CRL_get_ext_by_critical(list.get(), 1, -1) >= 0)
    return fail(Code::kInvalidArgument,
                fmt::format("the list of {} has a critical extension: delta, partitioned and "
                            "indirect lists are not taken",
                            issuer));
  const double issued = unix_of(X509_CRL_get0_lastUpdate(list.get()));
  if (issued > now_unix)
    return fail(Code::kInvalidArgument,
                fmt::format("the list of {} is valid from {} on only", issuer, rfc3339(issued)));
  double& newest = all.issued_unix[issuer];
  newest = std::max(newest, issued);
  const double next = unix_of(X509_CRL_get0_nextUpdate(list.get()));
  if (next > 0)
    all.next_update_unix = all.next_update_unix == 0 ? next : std::min(all.next_update_unix, next);
  const auto* entries = X509_CRL_get_REVOKED(list.get());
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i)
    all.revoked.insert(
        {.issuer = issuer,
         .serial = hex_of(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i)))});
  return {};
}

}  // namespace

Result<RevocationList> parse_revocations(std::string_view pem, std::string_view authority_pem,
                                         double now_unix) {
  const std::vector<X509Object> authorities = authorities_of(authority_pem);
  RevocationList all;
  for (const X509Object& authority : authorities)
    all.authorities.insert(comparable(X509_get_subject_name(authority.get())));
  const Bio bio = reader_of(pem);
  std::size_t begun = 0;
  for (std::size_t at = 0; (at = pem.find("-----BEGIN X509 CRL-----", at)) != pem.npos; ++at)
    ++begun;
  std::size_t read = 0;
  while (const CrlObject list = next_crl(bio)) {
    RG_TRY_OK(check_signature(list, authorities));
    RG_TRY_OK(add_list(list, now_unix, all));
    ++read;
  }
  if (read == 0 || read != begun)
    return fail(Code::kInvalidArgument, fmt::format("{} of {} lists in the file can be read: {}",
                                                    read, begun, last_error()));
  ERR_clear_error();
  return all;
}

Result<RevocationList> replaced(const RevocationList& held, RevocationList next, double now_unix) {
  if (next.is_expired(now_unix))
    return fail(Code::kFailedPrecondition,
                fmt::format("the list ended at {}; railgauge pki crl renews it",
                            rfc3339(next.next_update_unix)));
  for (const auto& [issuer, issued] : held.issued_unix) {
    const auto found = next.issued_unix.find(issuer);
    if (found == next.issued_unix.end() && next.authorities.contains(issuer))
      return fail(Code::kFailedPrecondition, fmt::format("the list of {} is missing", issuer));
    if (found != next.issued_unix.end() && found->second < issued)
      return fail(Code::kFailedPrecondition,
                  fmt::format("the list of {} is of {}, older than the one in use, of {}", issuer,
                              rfc3339(found->second), rfc3339(issued)));
  }
  for (const CertificateId& id : held.revoked)
    if (!next.issued_unix.contains(id.issuer)) next.revoked.insert(id);
  return next;
}

}  // namespace railgauge::trust
