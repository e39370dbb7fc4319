// One request to a server of ours, with its answer, over HTTPS. Thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::http {

// A request. Files are read at each call.
struct CallRequest {
  std::string method = "GET";
  std::string path{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::string content_type{};      // of the body
  std::string ca_file{};           // authorities of the server's certificate, PEM
  bool checks_server = true;       // false: anybody may answer, as for what is proved otherwise
  std::string certificate_file{};  // of this client; "" for none
  std::string key_file{};
  double seconds = 10;  // bound of the whole call, but for the look-up of the name
};
// An answer of any status: the caller decides which of them are errors.
struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers{};  // by name in lower case; the first of several
  std::string body{};
};
// A longer answer ends the call.
inline constexpr std::size_t kMostReplyBytes = std::size_t{64} * 1024;

// `server` is "https://HOST:PORT". Whoever calls ignores SIGPIPE. kUnavailable: no answer, with the
// cause. kPermissionDenied: its certificate is of another authority or name. kFailedPrecondition:
// by this machine's clock its certificate, or its authority's, has ended or is not valid yet.
Result<Reply> call(const std::string& server, const CallRequest& request);

}  // namespace railgauge::http
