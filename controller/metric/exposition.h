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

// Samples of a page in Prometheus' text format; a line that is none has its text as name.
std::vector<Sample> read_exposition(std::string_view page);

// One line for each sample that the catalog does not allow `process`: unknown or another's name, an
// undeclared label, more series than the family may have.
std::vector<std::string> outside_catalog(std::string_view page, Owner process);

}  // namespace railgauge::metric
