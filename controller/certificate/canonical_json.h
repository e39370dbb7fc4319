// JSON texts with one form for each value: keys in the order of their bytes, no blanks, numbers and
// texts as kernels/core/text/json.h prints them. For the values of a certificate this is the form
// of RFC 8785. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/struct.pb.h>

#include "kernels/core/base/result.h"

namespace railgauge::certificate {

// Reads a text that is one JSON object. kInvalidArgument: it is none, or nested too deeply.
Result<google::protobuf::Struct> object_of(std::string_view text);

// Without a newline.
std::string canonical_text(const google::protobuf::Struct& object);

}  // namespace railgauge::certificate
