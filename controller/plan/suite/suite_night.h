// A suite's `night:`.
#pragma once

#include <optional>
#include <string>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

std::optional<Night> read_night(const YamlValue& value);
// Whether a run's text, which with_night() may have made, is that suite still.
bool is_same_suite(const std::string& of_run, const std::string& suite);

}  // namespace railgauge::plan
