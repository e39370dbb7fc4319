#include "kernels/core/json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/result.h"

namespace railgauge {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Length of the UTF-8 sequence that begins `text`, 0 when it is none (overlong forms included).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80U) return 1;
  const std::size_t length = lead >= 0xc2U && lead < 0xe0U   ? 2
                             : lead >= 0xe0U && lead < 0xf0U ? 3
                             : lead >= 0xf0U && lead < 0xf5U ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  const bool overlong = (lead == 0xe0U && byte(1) < 0xa0U) || (lead == 0xf0U && byte(1) < 0x90U);
  const bool surrogate = lead == 0xedU && byte(1) >= 0xa0U;
  const bool too_high = lead == 0xf4U && byte(1) >= 0x90U;
  return overlong || surrogate || too_high ? 0 : length;
}

std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

class Printer {
 public:
  explicit Printer(JsonLayout layout) : indented_(layout == JsonLayout::kIndented) {}

  void object(const Message& message) {
    const auto* descriptor = message.GetDescriptor();
    open('{');
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor& field = *descriptor->field(i);
      const bool in_oneof = field.real_containing_oneof() != nullptr;
      if (in_oneof && !message.GetReflection()->HasField(message, &field)) continue;
      key(field.name());
      if (field.is_map())
        map(message, field);
      else if (field.is_repeated())
        list(message, field);
      else if (field.has_presence() && !message.GetReflection()->HasField(message, &field))
        out_ += "null";
      else
        value(message, field, -1);
    }
    close('}');
  }
  std::string take() { return std::move(out_); }

 private:
  // Figures in a list stand on one line: a histogram is no page of its own.
  void list(const Message& message, const FieldDescriptor& field) {
    const bool one_line = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
    const bool was_indented = std::exchange(indented_, indented_ && !one_line);
    open('[');
    for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
      comma();
      value(message, field, i);
    }
    close(']');
    indented_ = was_indented;
  }

  // Sorted by key, so that equal messages print equally.
  void map(const Message& message, const FieldDescriptor& field) {
    const Reflection* reflection = message.GetReflection();
    const auto* entry = field.message_type();
    std::map<std::string, const Message*> sorted;
    for (int i = 0; i < reflection->FieldSize(message, &field); ++i) {
      const Message& pair = reflection->GetRepeatedMessage(message, &field, i);
      RG_CHECK(entry->map_key()->cpp_type() == FieldDescriptor::CPPTYPE_STRING);
      sorted[pair.GetReflection()->GetString(pair, entry->map_key())] = &pair;
    }
    open('{');
    for (const auto& [name, pair] : sorted) {
      key(name);
      value(*pair, *entry->map_value(), -1);
    }
    close('}');
  }

  // The field's value, or its element `index` of a repeated field.
  void value(const Message& message, const FieldDescriptor& field, int index) {
    const Reflection& r = *message.GetReflection();
    const bool single = index < 0;
#define RG_JSON_GET(type) \
  (single ? r.Get##type(message, &field) : r.GetRepeated##type(message, &field, index))
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        out_ += fmt::format("{}", RG_JSON_GET(Int32));
        return;
      case FieldDescriptor::CPPTYPE_INT64:
        out_ += fmt::format("{}", RG_JSON_GET(Int64));
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        out_ += fmt::format("{}", RG_JSON_GET(UInt32));
        return;
      case FieldDescriptor::CPPTYPE_UINT64:
        out_ += fmt::format("{}", RG_JSON_GET(UInt64));
        return;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        out_ += json_number(RG_JSON_GET(Double));
        return;
      case FieldDescriptor::CPPTYPE_FLOAT:
        out_ += json_number(static_cast<double>(RG_JSON_GET(Float)));
        return;
      case FieldDescriptor::CPPTYPE_BOOL:
        out_ += RG_JSON_GET(Bool) ? "true" : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        out_ += json_string(RG_JSON_GET(Enum)->name());
        return;
      case FieldDescriptor::CPPTYPE_STRING:
        RG_CHECK(field.type() != FieldDescriptor::TYPE_BYTES);
        out_ += json_string(RG_JSON_GET(String));
        return;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return object(RG_JSON_GET(Message));
    }
#undef RG_JSON_GET
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    first_ = true;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) new_line();
    out_ += bracket;
    first_ = false;
  }
  void comma() {
    if (!first_) out_ += indented_ ? "," : ", ";
    first_ = false;
    new_line();
  }
  void key(const std::string& name) {
    comma();
    out_ += json_string(name) + ": ";
  }
  void new_line() {
    if (indented_) out_ += '\n' + std::string(2 * static_cast<std::size_t>(depth_), ' ');
  }

  bool indented_;
  int depth_ = 0;
  bool first_ = true;
  std::string out_;
};

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0)
      out += kReplacement;
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20U)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

std::string to_json(const Message& message, JsonLayout layout) {
  Printer printer(layout);
  printer.object(message);
  return printer.take();
}

}  // namespace railgauge
