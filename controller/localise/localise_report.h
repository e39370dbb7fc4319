// From a found element to the suspect shown to a person: figures, parts ruled out, the sentence.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/localise/localise.h"
#include "controller/localise/localise_search.h"

namespace railgauge::localise {

// Builds the report of one localisation. Thread safe.
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
  [[nodiscard]] std::string drop_text(std::string_view what, const Drop& drop) const;

  const PairData& data_;
  const Cells& cells_;
};

// "gpu017 rail 2", "leaf a and leaf b", "gpu017 to gpu031 on rail 2".
std::string name_of(const PairData& data, const Element& element);

// One line without a period: what is slow, by how much, seen in how many tasks, what is likely to
// be wrong, and what is not. Uses all other fields of `suspect`.
std::string sentence_of(const PairData& data, const Suspect& suspect);

}  // namespace railgauge::localise
