// Writes and reads enrolment tokens and their uses. The writers run inside the writer's
// transaction, the readers inside a snapshot. Times are seconds since 1970 (UTC).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// A token, without its secret.
struct TokenRow {
  std::string token_id{};
  std::string salt{};
  std::string hash{};   // of the secret with the salt
  std::string nodes{};  // a node set; "" for any name
  std::int64_t most_uses = 1;
  std::int64_t uses = 0;
  bool replaces = false;
  double created_at = 0;
  std::string created_by{};
  double expires_at = 0;
  std::optional<double> revoked_at{};
  std::string revoked_by{};
};

// One use of a token, or a renewal, which has no token.
struct TokenUse {
  std::string token_id{};
  std::string name{};        // of the node
  std::string key_sha256{};  // of its key
  std::string address{};
  double at = 0;
};

// The most tokens that are kept; those that can be used no more make room, the oldest first.
inline constexpr std::int64_t kMostTokens = 1'000;

// Stores a new token. kAlreadyExists: the id is taken. kResourceExhausted: kMostTokens can be used
// still.
Status write_token(Connection& connection, const TokenRow& token);
// Revokes a token. kNotFound: there is none. One that is revoked keeps its time.
Status write_token_revoked(Connection& connection, const std::string& token_id,
                           const std::string& who, double at);
// Counts a use, in one step with the check that one is left: of two that race for the last one, one
// gets it. A use by the same node with the same key counts once. kPermissionDenied: no use is left,
// or the token expired or was revoked meanwhile.
Status write_token_use(Connection& connection, const TokenUse& use);
// Stores that a certificate is renewed.
Status write_renewal(Connection& connection, const TokenUse& use);

// Salt and hash included: for the check of a secret.
// Absent: there is no such token.
Result<std::optional<TokenRow>> read_token(Connection& connection, std::string_view token_id);
// Newest first.
Result<std::vector<TokenRow>> read_tokens(Connection& connection);
// When the node used this token with this key; absent: it did not.
Result<std::optional<double>> read_token_use(Connection& connection, const TokenUse& use);

}  // namespace railgauge::store
