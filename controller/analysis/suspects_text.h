// Suspects in words, for an operator.
#pragma once

#include <string>
#include <string_view>

#include "controller/analysis/localise.h"

namespace railgauge::localise {

// "gpu017 rail 2", "leaf a and leaf b", "gpu017 to gpu031 on rail 2".
std::string name_of(const PairData& data, const Element& element);

// One line without a period: what is slow, by how much, seen in how many tasks, what is likely to
// be wrong, and what is not. Uses all other fields of `suspect`.
std::string sentence_of(const PairData& data, const Suspect& suspect);

}  // namespace railgauge::localise
