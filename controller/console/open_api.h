// The description of the console's interface. Pure.
#pragma once

#include <span>
#include <string>

#include "controller/console/actions.h"
#include "controller/console/reader.h"

namespace railgauge::console {

// Renders routes and actions as an OpenAPI 3.0 document: a path each, its parameters from the
// fields of the request, and a schema for each message.
std::string open_api(std::span<const Route> routes, std::span<const Action> actions,
                     const std::string& version);

}  // namespace railgauge::console
