// Why httplib's client has no answer, in words of people. Internal to this room.
#pragma once

#include <httplib.h>

#include <string_view>

namespace railgauge::http {

// Shared by all clients of this room, so that one cause has one wording.
std::string_view words_of(httplib::Error error);

}  // namespace railgauge::http
