// One POST to a server of others. HTTPS checks the server's certificate. Thread safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::http {

// The parts of a URL: "https://host:8443" and "/hooks/railgauge?x=1".
struct Url {
  std::string server{};
  std::string path{};
};
// kInvalidArgument: it is no http or https URL, or has a user name. The error does not show the
// path, which may be a secret.
Result<Url> parse_url(const std::string& url);

// A message, and how to post it.
struct PostRequest {
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::string content_type = "application/json";
  std::string ca_file{};  // authorities of the server's certificate, PEM; "": the system's
  double seconds = 5;     // bound of the whole call, but for the look-up of the name
};
// Sends it and returns the status; redirections are not followed. Whoever calls ignores
// SIGPIPE. kUnavailable: no answer, with the cause. kInvalidArgument: the file of authorities
// cannot be read.
Result<int> post(const Url& url, const PostRequest& request);

}  // namespace railgauge::http
