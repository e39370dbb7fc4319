#include "controller/enrol/token_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/plan/topology/node_set.h"
#include "controller/trust/digest.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/identity_uri.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::enrol {

// The first of the reasons that counts; check_use() has the same order.
std::string_view state_of(const store::TokenRow& token, double now) {
  if (token.revoked_at) return "revoked";
  if (token.expires_at <= now) return "expired";
  return token.uses >= token.most_uses ? "used" : "valid";
}

// A set is expanded at each use: 16,384 names take some milliseconds, and a row stays short.
Result<std::vector<std::string>> names_of(const std::string& node_set) {
  std::vector<std::string> names;
  if (node_set.empty()) return names;
  const plan::NodeSet set = RG_TRY(plan::parse_node_set(node_set));
  for (const plan::NodeSet::Item& item : set.included)
    names.insert(names.end(), item.names.begin(), item.names.end());
  if (!set.excluded.empty() || names.empty())
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: names are needed, such as n1 or gpu[001-064]", in_quotes(node_set)));
  for (const std::string& name : names)
    if (!trust::is_good_name(name))
      return fail(Code::kInvalidArgument,
                  fmt::format("node {}: a certificate has only letters, digits, '.', '_' and '-'",
                              in_quotes(name)));
  return names;
}

Status check_secret(const std::optional<store::TokenRow>& token, std::string_view secret) {
  const store::TokenRow& row = token ? *token : store::TokenRow{.salt = "none"};
  const std::string hash = trust::secret_hash(row.salt, secret);
  // An unknown token is compared too: the time does not show which ids there are.
  const std::string& expected = token ? row.hash : trust::secret_hash("nobody", "nobody's");
  if (trust::is_equal_secret(hash, expected) && token) return {};
  return fail(Code::kUnauthenticated,
              "the token is not known here; railgauge tokens create on the controller's host makes "
              "one");
}

Status check_use(const store::TokenRow& token, const std::string& name,
                 std::optional<double> first_use, double now) {
  const auto refused = [&](const std::string& cause) {
    return fail(
        Code::kPermissionDenied,
        fmt::format("token {}: {}; railgauge tokens create makes another", token.token_id, cause));
  };
  if (token.revoked_at)
    return refused(fmt::format("it was revoked at {}", rfc3339(*token.revoked_at)));
  if (token.expires_at <= now)
    return refused(fmt::format("it expired at {}", rfc3339(token.expires_at)));
  const auto names = names_of(token.nodes);
  if (!names) return refused("its node set cannot be read");
  if (!names->empty() && std::ranges::find(*names, name) == names->end())
    return refused(fmt::format("it is for {}, not for node {}", token.nodes, name));
  // Who asks again with the same key lost an answer; later it is somebody with a copy of both.
  const bool repeats = first_use && now - *first_use <= kRepeatSeconds;
  if (!repeats && first_use)
    return refused(fmt::format("node {} used it at {}", name, rfc3339(*first_use)));
  if (!repeats && token.uses >= token.most_uses)
    return refused(fmt::format("all its uses are taken ({} of {})", token.uses, token.most_uses));
  return {};
}

}  // namespace railgauge::enrol
