// Messages as JSON, in the form that every program here prints. Protobuf's own printer quotes
// 64-bit integers, drops absent `optional` scalars and writes NaN as a string; this one does none
// of that.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/message.h>

namespace railgauge {

enum class JsonLayout {
  kCompact,   // one line, no newline at its end
  kIndented,  // two spaces a level, no newline at its end
};

// Keys are the proto's field names in the order of declaration. Primitives always stand, absent
// `optional` fields and messages are null, members of a oneof stand only when set. NaN and
// infinities are null; doubles read back as the same value, whole ones below 2^53 without point or
// exponent; map keys are sorted; bytes that are no UTF-8 become U+FFFD. No dependence on the
// locale. Fields of type bytes are a programmer error: output messages have none.
std::string to_json(const google::protobuf::Message& message,
                    JsonLayout layout = JsonLayout::kIndented);

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// `value` as a JSON number, or null where JSON has none.
std::string json_number(double value);

}  // namespace railgauge
