// From what the search found to what a person is told: figures, what was ruled out, the sentence.
#pragma once

#include "controller/analysis/localise_search.h"

namespace railgauge::localise {

class Reporter {
 public:
  // Both outlive it; `cells` as they stand when the element was found.
  Reporter(const PairData& data, const Cells& cells) : data_(data), cells_(cells) {}

  [[nodiscard]] Suspect suspect(const Found& found) const;

 private:
  void add_figures(const Found& found, Suspect& suspect) const;
  void add_ruled_out(const Found& found, Suspect& suspect) const;
  // Mean drop of the element's figures on these layers against the rest, and how many there are.
  struct Drop {
    double drop = 0;
    double count = 0;
  };
  [[nodiscard]] Drop drop_of(const Element& element, const std::vector<std::size_t>& layers) const;
  // "receiving is as expected", or how far it is not; "" without figures.
  [[nodiscard]] std::string told(std::string_view what, const Drop& drop) const;

  const PairData& data_;
  const Cells& cells_;
};

}  // namespace railgauge::localise
