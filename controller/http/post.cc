#include "controller/http/post.h"

#include <string_view>

#include <fmt/format.h>
#include <httplib.h>

#include "controller/http/httplib_words.h"
#include "controller/http/whole_time.h"
#include "kernels/core/text/text.h"

namespace railgauge::http {
namespace {

constexpr std::size_t kMostAnswerBytes = 64U << 10U;

}  // namespace

Result<Url> parse_url(const std::string& url) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("the URL is not usable: {}", why));
  };
  if (!url.starts_with("https://") && !url.starts_with("http://"))
    return wrong("it begins neither with https:// nor with http://");
  const std::size_t host = url.find("://") + 3;
  const std::size_t slash = url.find('/', host);
  Url parts{.server = url.substr(0, slash),
            .path = slash == std::string::npos ? "/" : url.substr(slash)};
  if (parts.server.size() == host) return wrong("the host is missing");
  if (parts.server.find('@') != std::string::npos) return wrong("no user name belongs into it");
  for (const char c : url)
    if (c <= ' ' || c == '\x7f') return wrong("it has a blank or a control character");
  return parts;
}

Result<int> post(const Url& url, const PostRequest& request) {
  httplib::Client client(url.server);
  if (!client.is_valid())
    return fail(Code::kUnavailable, fmt::format("{}: not a server's address", url.server));
  const WholeTime time(client, request.seconds);
  if (!request.ca_file.empty()) client.set_ca_cert_path(request.ca_file.c_str());
  httplib::Request whole_request;
  whole_request.method = "POST";
  whole_request.path = url.path;
  whole_request.body = request.body;
  for (const auto& [name, value] : request.headers) whole_request.headers.emplace(name, value);
  whole_request.headers.emplace("Content-Type", request.content_type);
  // Nobody reads the answer. It must not fill the memory.
  std::size_t bytes = 0;
  whole_request.content_receiver = [&bytes](const char*, std::size_t more, auto, auto) {
    bytes += more;
    return bytes <= kMostAnswerBytes;
  };
  const auto answer = client.send(whole_request);
  if (bytes > kMostAnswerBytes)
    return fail(Code::kUnavailable, fmt::format("{}: its answer is longer than {} KiB", url.server,
                                                kMostAnswerBytes >> 10U));
  if (time.is_over())
    return fail(Code::kUnavailable,
                fmt::format("{}: no whole answer within {} s", url.server, request.seconds));
  if (!answer)
    return fail(Code::kUnavailable, fmt::format("{}: {}", url.server, words_of(answer.error())));
  return answer->status;
}

}  // namespace railgauge::http
