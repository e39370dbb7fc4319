// Why httplib's client has no answer, in words of people. Internal to this room.
#pragma once

#include <httplib.h>

#include <string_view>

namespace railgauge::http {

// Shared by all clients of this room, so that one cause has one wording.
std::string_view words_of(httplib::Error error);

// The words for a certificate that this machine's clock makes invalid; "" for any other result of
// OpenSSL's check (X509_V_...).
std::string_view words_of_time_fault(long verified);

}  // namespace railgauge::http
