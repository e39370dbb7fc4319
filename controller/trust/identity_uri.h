// The role and name that a certificate has by a URI among its subject's alternative names:
// railgauge://agent/NODE, railgauge://operator/NAME, railgauge://viewer/NAME. Pure; thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::trust {

inline constexpr std::string_view kUriScheme = "railgauge://";
inline constexpr std::size_t kMaxNameBytes = 240;  // a name is also the name of a file

struct UriIdentity {
  std::string role{};  // "agent", "operator" or "viewer"
  std::string name{};
};

// Letters, digits, '.', '-' and '_', beginning with a letter or digit, at most kMaxNameBytes.
bool is_good_name(std::string_view name);

// Composes the URI; role and name are good ones.
std::string uri_of(std::string_view role, std::string_view name);

// Finds the identity among the URIs of one certificate. Absent: none of them is of this scheme.
// kPermissionDenied: there are several of the scheme, or one that is not exactly of the form above.
// There is no decoding, no upper case and no path: a byte that differs gives nothing.
Result<std::optional<UriIdentity>> identity_in(std::span<const std::string> uris);

}  // namespace railgauge::trust
