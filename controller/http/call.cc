#include "controller/http/call.h"

#include <cstdint>

#include <fmt/format.h>
#include <httplib.h>

#include "controller/http/httplib_words.h"
#include "controller/http/whole_time.h"

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

// A name that is not the host's is no fault of `verified`.
tl::unexpected<Error> no_answer(const std::string& server, httplib::Error error, long verified) {
  if (error != httplib::Error::SSLServerVerification)
    return fail(Code::kUnavailable, fmt::format("{}: {}", server, words_of(error)));
  const std::string_view time_fault = words_of_time_fault(verified);
  return fail(time_fault.empty() ? Code::kPermissionDenied : Code::kFailedPrecondition,
              fmt::format("{}: {}", server, time_fault.empty() ? words_of(error) : time_fault));
}

}  // namespace

Result<Reply> call(const std::string& server, const CallRequest& request) {
  httplib::Client client(server, request.certificate_file, request.key_file);
  if (!client.is_valid())
    return fail(Code::kUnavailable, fmt::format("{}: not a server's address", server));
  const WholeTime time(client, request.seconds);
  client.enable_server_certificate_verification(request.checks_server);
  if (!request.ca_file.empty()) client.set_ca_cert_path(request.ca_file.c_str());
  Reply reply;
  bool is_too_long = false;
  const auto answer = client.send(request_of(request, reply.body, is_too_long));
  if (is_too_long)
    return fail(Code::kUnavailable,
                fmt::format("{}: its answer has more than {} bytes", server, kMostReplyBytes));
  if (time.is_over())
    return fail(Code::kUnavailable,
                fmt::format("{}: no whole answer within {} s", server, request.seconds));
  if (!answer) return no_answer(server, answer.error(), client.get_openssl_verify_result());
  reply.status = answer->status;
  for (const auto& [name, value] : answer->headers)
    reply.headers.try_emplace(in_lower_case(name), value);
  return reply;
}

}  // namespace railgauge::http
