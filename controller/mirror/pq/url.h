// The address of a PostgreSQL database as settings and the command line have it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::pq {

// Accepts "postgres://..." and "postgresql://...". Refuses a password in it, which every user of
// the host could read, and says where one belongs.
Status check_url(std::string_view url);

// The address without its parameters, for messages: "postgres://db.example.org:5432/railgauge".
std::string shown_url(std::string_view url);

}  // namespace railgauge::pq
