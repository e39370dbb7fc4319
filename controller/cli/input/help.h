// Help texts, made from the grammar so that they cannot say something else.
#pragma once

#include <string>

#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// Help for what `arguments` names: one verb, one noun's verbs, or everything.
std::string help_text(const Grammar& grammar, const Arguments& arguments);

}  // namespace railgauge::cli
