// Reads the text of a scrape back and compares it with the catalog. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/metric/catalog.h"

namespace railgauge::metric {

struct Sample {
  std::string name{};
  std::map<std::string, std::string> labels{};
  std::string value{};
};

// Reads the samples of a page in Prometheus' text format. A malformed line becomes a sample with
// the line's text as its name.
std::vector<Sample> read_exposition(std::string_view page);

// Returns one line for each sample that the catalog does not allow for `process`: an unknown name,
// a name of another process, an undeclared label, or more series than the family's bound.
std::vector<std::string> outside_catalog(std::string_view page, Owner process);

}  // namespace railgauge::metric
