#include "controller/cli/render/csv.h"

#include <cstdlib>
#include <map>
#include <string_view>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include "kernels/core/base/result.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Histograms and raw samples are too large for a cell.
bool has_column(const FieldDescriptor& field) {
  const bool histogram = field.message_type() != nullptr && !field.is_map() &&
                         field.message_type()->full_name() == "railgauge.Histogram";
  return !histogram && field.full_name() != "railgauge.Point.samples";
}

// A single message, whose fields become columns of their own. Lists and maps stay in one cell.
bool is_nested(const FieldDescriptor& field) {
  return !field.is_repeated() && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

// Column names in the order of fields, with the path of nested messages as `prefix`.
void append_header(const Descriptor& descriptor, const std::string& prefix, std::string& line) {
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (!has_column(field)) continue;
    if (is_nested(field)) {
      append_header(*field.message_type(), prefix + field.name() + ".", line);
      continue;
    }
    if (!line.empty()) line += ',';
    line += prefix + field.name();
  }
}

// One plain value as JSON spells it, without quotes; NaN is empty. `index` counts only for repeated
// fields.
std::string scalar(const Message& message, const FieldDescriptor& field, int index) {
  const auto* r = message.GetReflection();
  const bool listed = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return listed ? r->GetRepeatedString(message, &field, index) : r->GetString(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const std::string number = json_number(listed ? r->GetRepeatedDouble(message, &field, index)
                                                    : r->GetDouble(message, &field));
      return number == "null" ? "" : number;
    }
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_INT32: {
      std::string text;
      google::protobuf::TextFormat::PrintFieldValueToString(message, &field, listed ? index : -1,
                                                            &text);
      return text;
    }
    default:
      RG_CHECK(false && "a type that control.proto keeps out of its messages");
  }
  return "";
}

// A map as a JSON object with sorted keys, so that equal maps are equal cells.
std::string map_cell(const Message& message, const FieldDescriptor& field) {
  const auto* reflection = message.GetReflection();
  // Sorted by key.
  std::map<std::string, std::string> entries;  // sorted, whatever the message's own order
  const auto* key = field.message_type()->map_key();
  const auto* value = field.message_type()->map_value();
  for (int i = 0; i < reflection->FieldSize(message, &field); ++i) {
    const Message& entry = reflection->GetRepeatedMessage(message, &field, i);
    const std::string text = scalar(entry, *value, 0);
    entries[scalar(entry, *key, 0)] =
        value->cpp_type() == FieldDescriptor::CPPTYPE_STRING ? json_string(text) : text;
  }
  std::string cell;
  for (const auto& [name, text] : entries)
    cell += (cell.empty() ? "{" : ",") + json_string(name) + ":" + text;
  return cell.empty() ? "" : cell + "}";
}

// Plain values joined by ';', messages as a JSON array.
std::string list_cell(const Message& message, const FieldDescriptor& field) {
  const auto* reflection = message.GetReflection();
  const bool messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  const int count = reflection->FieldSize(message, &field);
  std::string cell;
  for (int i = 0; i < count; ++i) {
    if (i > 0) cell += messages ? ',' : ';';
    cell += messages
                ? to_json(reflection->GetRepeatedMessage(message, &field, i), JsonLayout::kCompact)
                : scalar(message, field, i);
  }
  return messages && count > 0 ? "[" + cell + "]" : cell;
}

// Follows append_header field by field. A message that is not set leaves its columns empty
// (`present` false).
void append_row(const Message& message, bool present, bool& first, std::string& line) {
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (!has_column(field)) continue;
    if (is_nested(field)) {
      append_row(reflection->GetMessage(message, &field),
                 present && reflection->HasField(message, &field), first, line);
      continue;
    }
    if (!first) line += ',';
    first = false;
    if (!present || (field.has_presence() && !reflection->HasField(message, &field))) continue;
    const std::string cell = field.is_map()        ? map_cell(message, field)
                             : field.is_repeated() ? list_cell(message, field)
                                                   : scalar(message, field, 0);
    line += csv_cell(cell);
  }
}

// Whether a spreadsheet would compute the text. Numbers with a sign, and a sign alone, are none.
bool is_formula(const std::string& text) {
  if (text.size() < 2 || std::string_view("=+-@").find(text[0]) == std::string_view::npos)
    return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end != '\0';
}

}  // namespace

// The names are the fields of the message, so that a new field appears without a change here.
std::string csv_header(const Descriptor& descriptor) {
  std::string line;
  append_header(descriptor, "", line);
  return line;
}

std::string csv_row(const Message& message) {
  std::string line;
  bool first = true;
  append_row(message, true, first, line);
  return line;
}

// Quotes only where RFC 4180 demands them: comma and quote. Line ends are escaped, so that a row is
// a line and no cell can forge another row.
std::string csv_cell(const std::string& raw) {
  std::string text = printable(raw);
  if (is_formula(text)) text.insert(text.begin(), '\'');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string sql_text(const api::SqlValue& value) {
  if (value.has_integer()) return std::to_string(value.integer());
  return value.has_number() ? json_number(value.number()) : value.text();
}

}  // namespace railgauge::cli
