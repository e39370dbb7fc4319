#include "controller/http/call.h"

#include <cstdint>
#include <ctime>

#include <fmt/format.h>
#include <httplib.h>

#include "controller/http/httplib_words.h"

namespace railgauge::http {
namespace {

// Names of headers have no case.
std::string in_lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// The receiver bounds the body: httplib alone would take any length from whoever answers.
httplib::Request request_of(const CallRequest& from, std::string& body, bool& is_too_long) {
  httplib::Request request;
  request.method = from.method;
  request.path = from.path;
  request.body = from.body;
  for (const auto& [name, value] : from.headers) request.headers.emplace(name, value);
  if (!from.content_type.empty()) request.headers.emplace("Content-Type", from.content_type);
  request.content_receiver = [&body, &is_too_long](const char* bytes, std::size_t size,
                                                   std::uint64_t, std::uint64_t) {
    is_too_long = body.size() + size > kMostReplyBytes;
    if (!is_too_long) body.append(bytes, size);
    return !is_too_long;
  };
  return request;
}

}  // namespace

Result<Reply> call(const std::string& server, const CallRequest& request) {
  httplib::Client client(server, request.certificate_file, request.key_file);
  if (!client.is_valid())
    return fail(Code::kUnavailable, fmt::format("{}: not a server's address", server));
  // Each wait has the bound, not the call: a server that sends a byte a second is cut by the size.
  const auto seconds = static_cast<std::time_t>(request.seconds);
  client.set_connection_timeout(seconds);
  client.set_read_timeout(seconds);
  client.set_write_timeout(seconds);
  client.enable_server_certificate_verification(request.checks_server);
  if (!request.ca_file.empty()) client.set_ca_cert_path(request.ca_file.c_str());
  Reply reply;
  bool is_too_long = false;
  const auto answer = client.send(request_of(request, reply.body, is_too_long));
  if (is_too_long)
    return fail(Code::kUnavailable,
                fmt::format("{}: its answer has more than {} bytes", server, kMostReplyBytes));
  if (!answer)
    return fail(Code::kUnavailable, fmt::format("{}: {}", server, words_of(answer.error())));
  reply.status = answer->status;
  for (const auto& [name, value] : answer->headers)
    reply.headers.try_emplace(in_lower_case(name), value);
  return reply;
}

}  // namespace railgauge::http
