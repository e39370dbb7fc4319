#include "controller/store/nodes/enrolment_tokens.h"

#include <fmt/format.h>

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

// In the order of both queries below.
constexpr Columns kTokenColumns{
    &TokenRow::token_id,   &TokenRow::salt,       &TokenRow::hash,       &TokenRow::nodes,
    &TokenRow::most_uses,  &TokenRow::uses,       &TokenRow::replaces,   &TokenRow::created_at,
    &TokenRow::created_by, &TokenRow::expires_at, &TokenRow::revoked_at, &TokenRow::revoked_by};

// The oldest token that can be used no more goes, with its uses; the trail keeps what happened.
Status make_room_for_token(Connection& connection, double now) {
  const auto count = RG_TRY(connection.integer("SELECT count(*) FROM enrolment_token"));
  if (count.value_or(0) < kMostTokens) return {};
  RG_TRY_OK(connection.execute(
      "DELETE FROM enrolment_token WHERE id=(SELECT id FROM enrolment_token WHERE uses>=most_uses "
      "OR expires_at<=?1 OR revoked_at IS NOT NULL ORDER BY id LIMIT 1)",
      now));
  if (connection.changes() > 0) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("{} tokens can be used still; railgauge tokens revoke frees their places",
                          kMostTokens));
}

}  // namespace

// The id is random: a second one of the same id is asked for once in 4 thousand million.
Status write_token(Connection& connection, const TokenRow& token) {
  RG_TRY_OK(make_room_for_token(connection, token.created_at));
  return connection.execute(
      "INSERT INTO enrolment_token (token_id, salt, hash, nodes, most_uses, uses, replaces, "
      "created_at, created_by, expires_at, revoked_by) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, "
      "?9, '')",
      token.token_id, token.salt, token.hash, token.nodes, token.most_uses,
      std::int64_t{token.replaces ? 1 : 0}, token.created_at, token.created_by, token.expires_at);
}

Status write_token_revoked(Connection& connection, const std::string& token_id,
                           const std::string& who, double at) {
  RG_TRY_OK(connection.execute(
      "UPDATE enrolment_token SET revoked_at=coalesce(revoked_at, ?2), revoked_by=CASE revoked_by "
      "WHEN '' THEN ?3 ELSE revoked_by END WHERE token_id=?1",
      token_id, at, who));
  if (connection.changes() > 0) return {};
  return fail(Code::kNotFound,
              fmt::format("token {}: there is none; see railgauge tokens", token_id));
}

// The UPDATE decides: its condition and its change are one statement, and writers take turns.
Status write_token_use(Connection& connection, const TokenUse& use) {
  if (RG_TRY(read_token_use(connection, use))) return {};
  RG_TRY_OK(connection.execute(
      "UPDATE enrolment_token SET uses=uses+1 WHERE token_id=?1 AND uses<most_uses AND "
      "expires_at>?2 AND revoked_at IS NULL",
      use.token_id, use.at));
  if (connection.changes() == 0)
    return fail(Code::kPermissionDenied,
                fmt::format("token {}: another node took its last use, or it ended meanwhile; "
                            "railgauge tokens create makes another",
                            use.token_id));
  return connection.execute(
      "INSERT INTO enrolment (token, name, key_sha256, address, at) SELECT id, ?2, ?3, ?4, ?5 FROM "
      "enrolment_token WHERE token_id=?1",
      use.token_id, use.name, use.key_sha256, use.address, use.at);
}

// Its token is NULL, so that a table of all certificates needs no second one.
Status write_renewal(Connection& connection, const TokenUse& use) {
  return connection.execute(
      "INSERT INTO enrolment (name, key_sha256, address, at) VALUES (?1, ?2, ?3, ?4)", use.name,
      use.key_sha256, use.address, use.at);
}

Result<std::optional<TokenRow>> read_token(Connection& connection, std::string_view token_id) {
  auto rows = RG_TRY(connection.list(
      kTokenColumns,
      "SELECT token_id, salt, hash, nodes, most_uses, uses, replaces, created_at, created_by, "
      "expires_at, revoked_at, revoked_by FROM enrolment_token WHERE token_id=?1",
      token_id));
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

Result<std::vector<TokenRow>> read_tokens(Connection& connection) {
  return connection.list(
      kTokenColumns,
      "SELECT token_id, salt, hash, nodes, most_uses, uses, replaces, created_at, created_by, "
      "expires_at, revoked_at, revoked_by FROM enrolment_token ORDER BY id DESC");
}

Result<std::optional<double>> read_token_use(Connection& connection, const TokenUse& use) {
  double at = 0;
  const bool found = RG_TRY(connection.row(
      std::tie(at),
      "SELECT at FROM enrolment JOIN enrolment_token ON enrolment_token.id=enrolment.token WHERE "
      "token_id=?1 AND name=?2 AND key_sha256=?3",
      use.token_id, use.name, use.key_sha256));
  if (!found) return std::nullopt;
  return at;
}

}  // namespace railgauge::store
