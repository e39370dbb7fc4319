// Messages as JSON under the output rules: proto field names in declared order, numbers as JSON
// numbers, zeros and empty lists printed, what is absent and what is not finite as null.
// (protobuf's own printer quotes 64-bit integers, drops absent fields and writes NaN as a string.)
// Pure.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/message.h>

namespace railgauge {

enum class JsonLayout { kOneLine, kIndented };

// One JSON object, without a newline at its end. Of a oneof only the member that is set is printed.
// Fields of type bytes are a programmer error.
std::string to_json(const google::protobuf::Message& message,
                    JsonLayout layout = JsonLayout::kIndented);

// `text` in quotes, escaped; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace railgauge
