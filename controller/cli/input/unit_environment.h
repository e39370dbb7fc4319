// The environment of a service's unit, for a program that is asked about its settings by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace railgauge::cli {

// Returns `own` ("NAME=VALUE") without Railgauge's variables, which are this program's and not the
// unit's, and with those of `file`, the text of an EnvironmentFile. As systemd reads it: empty
// lines and those that begin with "#" or ";" are comments, quotes around a value are no part of
// it, and a backslash at a line's end joins the next one. Pure.
std::vector<std::string> unit_environment(const std::vector<std::string>& own,
                                          std::string_view file);

}  // namespace railgauge::cli
