// Whoever has a token may be a node of the site: these rules say which one, how often and how long.
// The rules of enrolment tokens. Pure: times are passed in, unix seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/nodes/enrolment_tokens.h"
#include "kernels/core/base/result.h"

namespace railgauge::enrol {

// Bounds of a token. A person makes one for the work of a day; a set of names is what a controller
// can have of nodes.
inline constexpr double kTokenSeconds = 3'600;  // of a token without --expires
inline constexpr double kLongestTokenSeconds = 30 * 86'400.0;
inline constexpr std::size_t kMostUses = 16'384;
// A node whose answer was lost may ask with the same token and key again for so long.
inline constexpr double kRepeatSeconds = 600;

// "valid", "used", "expired" or "revoked".
std::string_view state_of(const store::TokenRow& token, double now);

// The names of a node set without exclusions; none of "". kInvalidArgument: it has others than
// good names, or excludes.
Result<std::vector<std::string>> names_of(const std::string& node_set);

// kUnauthenticated, always in the same words and after the same work: there is no such token, or
// its secret is another one.
Status check_secret(const std::optional<store::TokenRow>& token, std::string_view secret);

// kPermissionDenied, with the cause: the token is revoked, expired or used up, or the name is none
// of its nodes. `first_use`: when the same node used it with the same key, which needs no use more.
Status check_use(const store::TokenRow& token, const std::string& name,
                 std::optional<double> first_use, double now);

}  // namespace railgauge::enrol
