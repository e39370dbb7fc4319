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

// Prints the message as JSON. Keys are the proto's field names in declaration order. Primitives
// always appear; absent `optional` fields and messages are null; members of a oneof appear only
// when set. NaN and infinities are null. Doubles read back as the same value, whole ones below 2^53
// without point or exponent. Map keys are sorted. Invalid UTF-8 becomes U+FFFD. The locale has no
// influence. Fields of type bytes are a programmer error: output messages have none.
std::string to_json(const google::protobuf::Message& message,
                    JsonLayout layout = JsonLayout::kIndented);

// Returns `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// Returns `value` as a JSON number, or null for NaN and infinities.
std::string json_number(double value);

}  // namespace railgauge
