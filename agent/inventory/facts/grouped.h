// One fact of several devices as one value: the common value appears once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/inventory/facts/fact.h"

namespace railgauge::agent {

class Grouped {
 public:
  // Absent ones say nothing.
  void add(const std::string& subject, const Fact<std::string>& fact);
  // Nothing where nobody has it; kUnknownPart where one of them could not be read: what is known of
  // the others alone would look like a change.
  void put(std::map<std::string, std::string>& words, const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::string>> subjects_;  // by value
  bool is_unknown_ = false;
};

// A fact's value as a word.
template <class T, class Word>
Fact<std::string> with(const Fact<T>& fact, Word word) {
  Fact<std::string> text = fact.template without_value<std::string>();
  if (fact.is_known()) text.value = word(fact.value);
  return text;
}

}  // namespace railgauge::agent
