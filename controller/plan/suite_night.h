// Reads a suite's `night:`.
#pragma once

#include <optional>

#include "controller/plan/suite.h"
#include "controller/plan/yaml_reader.h"

namespace railgauge::plan {

std::optional<Night> read_night(const YamlValue& value);

}  // namespace railgauge::plan
