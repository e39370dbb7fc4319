// From a found element to the suspect shown to a person: figures, parts ruled out, the sentence.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/localise/localise.h"
#include "controller/localise/localise_search.h"

namespace railgauge::localise {

// Builds the report of one found element; `cells` as they stand when it was found. Thread safe.
Suspect suspect_of(const PairData& data, const Cells& cells, const Found& found);

// "gpu017 rail 2", "leaf a and leaf b", "gpu017 to gpu031 on rail 2".
std::string name_of(const PairData& data, const Element& element);

}  // namespace railgauge::localise
