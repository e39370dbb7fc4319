// The description of the console's interface. Pure.
#pragma once

#include <span>
#include <string>

#include "controller/console/reader.h"

namespace railgauge::console {

// Renders the routes as an OpenAPI 3.0 document: a path each, its parameters from the fields of the
// request, and a schema for each message of the answers.
std::string open_api(std::span<const Route> routes, const std::string& version);

}  // namespace railgauge::console
