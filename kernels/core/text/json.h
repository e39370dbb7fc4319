// Messages as JSON, in the form that every program here prints. Protobuf's own printer quotes
// 64-bit integers, leaves out absent `optional` scalars and writes NaN as a string; this one does
// none of that. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/message.h>

namespace railgauge {

// The layout of the text; neither ends in a newline.
enum class JsonLayout {
  // One line.
  kCompact,
  // Two spaces for each level.
  kIndented,
};

// The message as JSON. Keys are the proto's field names in the order of declaration. Primitives
// always appear; absent `optional` fields and messages are null; members of a oneof appear only
// when set. NaN and infinities are null. Doubles read back as the same value, whole ones below 2^53
// without point or exponent. Map keys are sorted. Bytes that are no UTF-8 become U+FFFD. The locale
// has no influence. Fields of type bytes are a programmer error: output messages have none.
std::string to_json(const google::protobuf::Message& message,
                    JsonLayout layout = JsonLayout::kIndented);

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// `value` as a JSON number, or null where JSON has none.
std::string json_number(double value);

}  // namespace railgauge
