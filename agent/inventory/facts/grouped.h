// One fact of several devices, combined to one value: a common value appears once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/inventory/facts/fact.h"

namespace railgauge::agent {

// A collector of one fact over devices.
class Grouped {
 public:
  // An absent fact adds nothing.
  void add(const std::string& subject, const Fact<std::string>& fact);
  // Writes the combined value to `words`; nothing if no device has the fact. Writes kUnknownPart if
  // one device could not be read: the values of the others alone would look like a change.
  void put(std::map<std::string, std::string>& words, const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::string>> subjects_;  // by value
  bool is_unknown_ = false;
};

// Writes the fact to `words`; kUnknownPart if it is open, nothing if it is absent.
void put(std::map<std::string, std::string>& words, const std::string& name,
         const Fact<std::string>& fact);

}  // namespace railgauge::agent
