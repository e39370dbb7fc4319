// Requests and answers of the console's port in the words of HTTP. Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/http/http_server.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

// The value of a header, by its name in lower case; "" without one.
std::string header_of(const http::Request& request, const std::string& name);
// The secret of the session by which the request asks; "" without one.
std::string session_of(const http::Request& request);
// The host of "127.0.0.1:7480" and "[::1]:7480", without the brackets.
std::string host_of(std::string_view host);

int status_of(Code code);
// The error as JSON.
http::Answer error_answer(const Error& error);
http::Answer json_answer(std::string text);
http::Answer text_answer(int status, std::string_view text);
// 405, with the methods that the path has: "GET, HEAD".
http::Answer method_answer(std::string_view allowed);

}  // namespace railgauge::console
