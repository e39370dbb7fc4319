// The purpose of the database's tables, in words that explain where the space is used. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/api/archive.pb.h"

namespace railgauge::cli {

struct Purpose {
  std::string_view holds;    // "points"
  std::string_view kept_by;  // the setting that bounds it; "" is none
};

// The purpose of a table by name. An index belongs to its table. "others" for a table that is not
// listed.
const Purpose& purpose_of(std::string_view table);

struct PurposeSum {
  Purpose purpose;
  double bytes = 0;  // of the tables and their indexes
};
// The largest first.
std::vector<PurposeSum> sums_by_purpose(const api::Space& space);

// "41.0 kB", "603.0 MB", "1.2 GB".
std::string size_text(double bytes);

}  // namespace railgauge::cli
