// Copies of synthetic nodes with one fault each, and the state that one check must report.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace railgauge::agent {

struct TreeVariant {
  const char* check;
  const char* state;  // the worst of its results
  const char* edits;  // lines added to the node tree
  const char* base = "one_rail";
  std::set<std::string> required{};  // ids that somebody relies on
};

std::vector<TreeVariant> tree_variants();

}  // namespace railgauge::agent
