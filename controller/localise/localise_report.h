// Reports a found element as a suspect for a person: figures, excluded parts, and the sentence.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/localise/localise.h"
#include "controller/localise/localise_search.h"

namespace railgauge::localise {

// Builds the report of one found element. `cells`: their state when the element was found. Thread
// safe.
Suspect suspect_of(const PairData& data, const Cells& cells, const Found& found);

// Returns the element's name: "gpu017 rail 2", "leaf a and leaf b", "gpu017 to gpu031 on rail 2".
std::string name_of(const PairData& data, const Element& element);

}  // namespace railgauge::localise
