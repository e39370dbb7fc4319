// A writer of messages by protobuf's reflection.
#include "kernels/core/text/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <type_traits>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/reflection.h>

#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// 2^53: from here on a double has no place for every integer.
constexpr double kFirstInexactInteger = 9007199254740992.0;
// Deeper than any message here nests.
constexpr int kMaxDepth = 64;
// In place of the number of a value, where a field has one value alone.
constexpr int kNotRepeated = -1;

// Escapes what RFC 8259 demands, and DEL, which a terminal may interpret, as it may the characters
// beyond ASCII that json_string() escapes.
void append_escaped(char character, std::string& out) {
  constexpr std::string_view kShort = "\"\\\n\r\t";
  constexpr std::string_view kLetters = "\"\\nrt";
  if (const std::size_t at = kShort.find(character); at != std::string_view::npos)
    out.append(1, '\\').append(1, kLetters[at]);
  else if (static_cast<unsigned char>(character) < 0x20 || character == 0x7F)
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
  else
    out += character;
}

// The shortest digits that read back as the same value; "null" where JSON has none.
template <class Number>
void append_shortest(Number value, std::string& out) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) {
      out += "null";
      return;
    }
  }
  std::array<char, 32> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// Whole numbers have all their digits, which to_chars takes ten times as long to find.
template <class Float>
void append_number(Float value, std::string& out) {
  if (value == std::trunc(value) && std::abs(value) < kFirstInexactInteger)
    append_shortest(static_cast<std::int64_t>(value), out);
  else
    append_shortest(value, out);
}

// Appends one message. Fields come in the order of their declaration.
class Writer {
 public:
  explicit Writer(JsonLayout layout) : indented_(layout == JsonLayout::kIndented) {}

  // Members of a oneof appear only when they are set.
  void message(const Message& value) {
    RG_CHECK(depth_ < kMaxDepth);
    const auto* descriptor = value.GetDescriptor();
    const Reflection* reflection = value.GetReflection();
    open('{');
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      if (field->real_containing_oneof() != nullptr && !reflection->HasField(value, field))
        continue;
      key(field->name());
      member(value, field);
    }
    close('}');
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  // One field: a map, a list, a single value, or null where it is absent.
  void member(const Message& value, const FieldDescriptor* field) {
    const Reflection* reflection = value.GetReflection();
    if (field->is_map()) return map(value, field);
    if (!field->is_repeated()) {
      if (field->has_presence() && !reflection->HasField(value, field))
        out_ += "null";
      else
        single(value, field);
      return;
    }
    open('[');
    if (append_numbers(value, field)) return close(']');
    const int count = reflection->FieldSize(value, field);
    for (int i = 0; i < count; ++i) {
      item();
      single(value, field, i);
    }
    close(']');
  }

  // Appends the items of a list of numbers, and reports whether the field is one. The field is
  // looked up once: a matrix has a hundred thousand of them.
  bool append_numbers(const Message& value, const FieldDescriptor* field) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return numbers<std::uint32_t>(value, field);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return numbers<double>(value, field);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return numbers<float>(value, field);
      default:
        return false;
    }
  }
  template <class Number>
  bool numbers(const Message& value, const FieldDescriptor* field) {
    for (const Number each : value.GetReflection()->GetRepeatedFieldRef<Number>(value, field)) {
      item();
      number(each);
    }
    return true;
  }

  // Keys are sorted, because protobuf keeps maps in no order.
  void map(const Message& value, const FieldDescriptor* field) {
    const Reflection* reflection = value.GetReflection();
    const FieldDescriptor* key_field = field->message_type()->map_key();
    RG_CHECK(key_field->cpp_type() == FieldDescriptor::CPPTYPE_STRING);
    std::map<std::string, const Message*> entries;
    const int count = reflection->FieldSize(value, field);
    for (int i = 0; i < count; ++i) {
      const Message& entry = reflection->GetRepeatedMessage(value, field, i);
      entries[entry.GetReflection()->GetString(entry, key_field)] = &entry;
    }
    open('{');
    for (const auto& [name, entry] : entries) {
      key(name);
      single(*entry, field->message_type()->map_value());
    }
    close('}');
  }

  // The value of a field; of a repeated one the value number `i`.
  void single(const Message& value, const FieldDescriptor* field, int i = kNotRepeated) {
    const Reflection* r = value.GetReflection();
    const auto get = [&](auto of_one, auto of_many) -> decltype(auto) {
      return i == kNotRepeated ? (r->*of_one)(value, field) : (r->*of_many)(value, field, i);
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return integer(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
      case FieldDescriptor::CPPTYPE_INT64:
        return integer(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
      case FieldDescriptor::CPPTYPE_UINT32:
        return integer(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
      case FieldDescriptor::CPPTYPE_UINT64:
        return integer(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return number(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return number(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
      case FieldDescriptor::CPPTYPE_BOOL:
        return boolean(get(&Reflection::GetBool, &Reflection::GetRepeatedBool));
      case FieldDescriptor::CPPTYPE_ENUM:
        return text(field, get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name());
      case FieldDescriptor::CPPTYPE_STRING:
        return text(field, get(&Reflection::GetString, &Reflection::GetRepeatedString));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return message(i == kNotRepeated ? r->GetMessage(value, field)
                                         : r->GetRepeatedMessage(value, field, i));
    }
  }

  template <class Integer>
  void integer(Integer value) {
    append_shortest(value, out_);
  }
  void number(double value) { append_number(value, out_); }
  // The digits of the float, not of the double that it converts to.
  void number(float value) { append_number(value, out_); }
  void number(std::uint32_t value) { append_shortest(value, out_); }
  void boolean(bool value) { out_ += value ? "true" : "false"; }
  // CHECKs that the field is not of type bytes: JSON has no form for them.
  void text(const FieldDescriptor* field, const std::string& value) {
    RG_CHECK(field->type() != FieldDescriptor::TYPE_BYTES);
    out_ += json_string(value);
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    first_ = true;
  }
  // A comma where needed, then a new line.
  void item() {
    if (!first_) out_ += ',';
    first_ = false;
    new_line();
  }
  void key(const std::string& name) {
    item();
    out_ += json_string(name);
    out_ += indented_ ? ": " : ":";
  }
  void close(char bracket) {
    --depth_;
    if (!first_) new_line();
    first_ = false;
    out_ += bracket;
  }
  void new_line() {
    if (!indented_) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  }

  bool indented_;
  bool first_ = true;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else if (length == 1)
      append_escaped(text.front(), out);
    else if (const char32_t character = character_of(text, length); steers(character))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
  return out;
}

std::string json_number(double value) {
  std::string out;
  append_number(value, out);
  return out;
}

std::string to_json(const Message& message, JsonLayout layout) {
  Writer writer(layout);
  writer.message(message);
  return writer.take();
}

}  // namespace railgauge
