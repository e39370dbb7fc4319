#include "controller/trust/identity_uri.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

constexpr std::array<std::string_view, 3> kUriRoles{"agent", "operator", "viewer"};

// A scheme has no case (RFC 3986), so that "RailGauge:x" is ours as well: ours and wrong.
bool is_ours(std::string_view uri) {
  constexpr std::string_view kName = "railgauge:";
  return uri.size() >= kName.size() &&
         std::ranges::equal(uri.substr(0, kName.size()), kName, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

std::optional<UriIdentity> parsed(std::string_view uri) {
  if (!uri.starts_with(kUriScheme)) return std::nullopt;
  uri.remove_prefix(kUriScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view role = uri.substr(0, slash);
  const std::string_view name = uri.substr(slash + 1);
  if (std::ranges::find(kUriRoles, role) == kUriRoles.end() || !is_good_name(name))
    return std::nullopt;
  return UriIdentity{.role = std::string(role), .name = std::string(name)};
}

}  // namespace

bool is_good_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && made_of(name, ".-_") &&
         made_of(name.substr(0, 1), "");
}

std::string uri_of(std::string_view role, std::string_view name) {
  return fmt::format("{}{}/{}", kUriScheme, role, name);
}

Result<std::optional<UriIdentity>> identity_in(std::span<const std::string> uris) {
  std::optional<UriIdentity> found;
  int ours = 0;
  for (const std::string& uri : uris) {
    if (!is_ours(uri)) continue;
    if (++ours > 1)
      return fail(Code::kPermissionDenied, "the certificate has several railgauge: URIs");
    found = parsed(uri);
    if (!found)
      return fail(Code::kPermissionDenied,
                  fmt::format("the certificate's URI {} is not railgauge://agent/NODE, "
                              "railgauge://operator/NAME or railgauge://viewer/NAME",
                              in_quotes(uri)));
  }
  return found;
}

}  // namespace railgauge::trust
