// How the controller says that all it has is of a modelled site, and how programs hand that on.
// Data of real nodes has no mark. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace railgauge::api {

// The initial metadata of each answer, where there is a mark, and its values.
inline constexpr const char* kDataKindHeader = "railgauge-data-kind";
inline constexpr const char* kSyntheticData = "synthetic";
inline constexpr const char* kUnknownData = "unknown";  // the controller cannot say
// The last member of a JSON object, and the last column of CSV.
inline constexpr std::string_view kDataKindField = "data_kind";

// The mark; "" for data of real nodes. Absent: unknown.
inline const char* data_kind_of(std::optional<bool> is_synthetic) {
  if (!is_synthetic) return kUnknownData;
  return *is_synthetic ? kSyntheticData : "";
}

// Returns the JSON object that to_json() made, in either layout, with the mark as its last member.
inline std::string marked(std::string object, std::string_view kind) {
  const bool is_indented = object.ends_with("\n}");
  object.resize(object.size() - (is_indented ? 2 : 1));
  object += object == "{" ? "" : is_indented ? ",\n  " : ",";
  object.append("\"").append(kDataKindField).append(is_indented ? "\": \"" : "\":\"");
  return object.append(kind).append(is_indented ? "\"\n}" : "\"}");
}
inline std::string marked_synthetic(std::string object) {
  return marked(std::move(object), kSyntheticData);
}

}  // namespace railgauge::api
