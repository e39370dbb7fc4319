// How the controller says that all it has is of a modelled site, and how programs hand that on.
// Data of real nodes has no mark. Pure.
#pragma once

#include <string>
#include <string_view>

namespace railgauge::api {

// The initial metadata of each answer; its only value is kSyntheticData.
inline constexpr const char* kDataKindHeader = "railgauge-data-kind";
inline constexpr const char* kSyntheticData = "synthetic";
// The last member of a JSON object, and the last column of CSV.
inline constexpr std::string_view kDataKindField = "data_kind";

// Returns the JSON object that to_json() made, in either layout, with the mark as its last member.
inline std::string marked_synthetic(std::string object) {
  const bool is_indented = object.ends_with("\n}");
  object.resize(object.size() - (is_indented ? 2 : 1));
  object += object == "{" ? "" : is_indented ? ",\n  " : ",";
  object.append("\"").append(kDataKindField).append(is_indented ? "\": \"" : "\":\"");
  return object.append(kSyntheticData).append(is_indented ? "\"\n}" : "\"}");
}

}  // namespace railgauge::api
