#include "controller/enrol/tokens.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "controller/enrol/token_rules.h"
#include "controller/store/nodes/enrolment_tokens.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/signing_request.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::enrol {
namespace {

constexpr std::uint32_t kTokenSchema = 1;
constexpr std::size_t kSaltBytes = 16;

// The row as people see it: neither salt nor hash.
api::TokenInfo info_of_row(const store::TokenRow& row, double now) {
  api::TokenInfo info;
  info.set_schema_version(kTokenSchema);
  info.set_token_id(row.token_id);
  info.set_state(std::string(state_of(row, now)));
  info.set_node_set(row.nodes);
  info.set_uses(static_cast<std::uint32_t>(row.uses));
  info.set_most_uses(static_cast<std::uint32_t>(row.most_uses));
  info.set_replaces(row.replaces);
  info.set_created_at(rfc3339(row.created_at));
  info.set_created_by(row.created_by);
  info.set_expires_at(rfc3339(row.expires_at));
  if (row.revoked_at) info.set_revoked_at(rfc3339(*row.revoked_at));
  info.set_revoked_by(row.revoked_by);
  return info;
}

// The row of a request, without its secret.
Result<store::TokenRow> row_of_request(const api::CreateTokenRequest& request, double now) {
  const auto names = RG_TRY(names_of(request.node_set()));
  if (request.replaces() && names.empty())
    return fail(Code::kInvalidArgument,
                "--replace: it needs --nodes, since such a token takes a node's certificate away");
  const std::size_t uses =
      request.has_uses() ? request.uses() : std::max<std::size_t>(1, names.size());
  if (uses < 1 || uses > kMostUses)
    return fail(Code::kInvalidArgument, fmt::format("--uses {}: 1 to {}", uses, kMostUses));
  const double seconds = request.has_for_seconds() ? request.for_seconds() : kTokenSeconds;
  if (!(seconds >= 1 && seconds <= kLongestTokenSeconds))
    return fail(Code::kInvalidArgument, "--expires: 1s to 30 days (720h) are possible");
  return store::TokenRow{.nodes = request.node_set(),
                         .most_uses = static_cast<std::int64_t>(uses),
                         .replaces = request.replaces(),
                         .created_at = now,
                         .expires_at = now + seconds};
}

}  // namespace

// The secret is in the answer alone: no log, trail or table has it.
Result<api::NewToken> Tokens::create(const api::CreateTokenRequest& request,
                                     const std::string& who) {
  if (authority_.empty())
    return fail(Code::kFailedPrecondition,
                "this controller enrols nobody; --enroll-listen and --enroll-pki set the port and "
                "the authority");
  const double now = now_unix_();
  // The id is no part of the secret: lists, the trail and people name a token by it.
  store::TokenRow row = RG_TRY(row_of_request(request, now));
  const trust::EnrolmentToken token =
      trust::make_enrolment_token(RG_TRY(trust::fingerprint_of(authority_)));
  row.token_id = token.id;
  row.salt = trust::random_hex(kSaltBytes);
  row.hash = trust::secret_hash(row.salt, token.secret);
  row.created_by = who;
  RG_TRY_OK(store_.write(store::write_token, row));
  api::NewToken made;
  made.set_schema_version(kTokenSchema);
  made.set_token(trust::text_of(token));
  *made.mutable_info() = info_of_row(row, now);
  made.set_enroll_listen(listen_);
  return made;
}

Result<api::TokenList> Tokens::list() const {
  api::TokenList all;
  all.set_schema_version(kTokenSchema);
  const double now = now_unix_();
  for (const store::TokenRow& row : RG_TRY(store_.read(store::read_tokens)))
    *all.add_tokens() = info_of_row(row, now);
  return all;
}

Result<api::TokenInfo> Tokens::revoke(const std::string& token_id, const std::string& who) {
  RG_TRY_OK(store_.write(store::write_token_revoked, token_id, who, now_unix_()));
  return info_of(token_id);
}

Result<api::TokenInfo> Tokens::info_of(const std::string& token_id) const {
  const auto row = RG_TRY(store_.read(store::read_token, token_id));
  if (!row) return fail(Code::kNotFound, fmt::format("token {}: there is none", token_id));
  return info_of_row(*row, now_unix_());
}

}  // namespace railgauge::enrol
