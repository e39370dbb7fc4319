#include "controller/certificate/canonical_json.h"

#include <map>

#include <google/protobuf/util/json_util.h>

#include "kernels/core/text/json.h"

namespace railgauge::certificate {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

void put_object(const Struct& object, std::string& out);

// The reader bounds the depth.
void put_value(const Value& value, std::string& out) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      out += json_number(value.number_value());
      return;
    case Value::kStringValue:
      out += json_string(value.string_value());
      return;
    case Value::kBoolValue:
      out += value.bool_value() ? "true" : "false";
      return;
    case Value::kStructValue:
      put_object(value.struct_value(), out);
      return;
    case Value::kListValue: {
      out += '[';
      bool is_first = true;
      for (const Value& one : value.list_value().values()) {
        if (!is_first) out += ',';
        is_first = false;
        put_value(one, out);
      }
      out += ']';
      return;
    }
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      out += "null";
      return;
  }
}

// Protobuf's map has no order, and its reader keeps one of several equal keys.
void put_object(const Struct& object, std::string& out) {
  std::map<std::string_view, const Value*> sorted;
  for (const auto& [key, value] : object.fields()) sorted.emplace(key, &value);
  out += '{';
  bool is_first = true;
  for (const auto& [key, value] : sorted) {
    if (!is_first) out += ',';
    is_first = false;
    out += json_string(key);
    out += ':';
    put_value(*value, out);
  }
  out += '}';
}

}  // namespace

// The parser's own words quote the input, which may be hostile, so they are not handed on.
Result<Struct> object_of(std::string_view text) {
  Struct object;
  const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(text), &object);
  if (!parsed.ok()) return fail(Code::kInvalidArgument, "no JSON object");
  return object;
}

// One text for one content: keys by byte order, no blanks, numbers in the shortest form that reads
// back to the same double. Signer and verifier both pass through it.
std::string canonical_text(const Struct& object) {
  std::string text;
  put_object(object, text);
  return text;
}

}  // namespace railgauge::certificate
