// Broken copies of synthetic nodes, one fault each, and what one check must say of it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace railgauge::agent {

struct TreeVariant {
  const char* check;
  const char* state;  // the worst of its results
  const char* edits;  // lines of a node tree, on top
  const char* base = "one_rail";
  std::set<std::string> required{};  // ids that somebody relies on
};

std::vector<TreeVariant> tree_variants();

}  // namespace railgauge::agent
