#include "controller/console/query.h"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::console {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

tl::unexpected<Error> wrong(const FieldDescriptor& field, const std::string& text,
                            std::string_view needed) {
  return fail(Code::kInvalidArgument,
              fmt::format("{} {}: {}", field.name(), in_quotes(text), needed));
}

// A whole number from `least` to `most`, both within 2^53.
Result<double> whole_number(const FieldDescriptor& field, const std::string& text, double least,
                            double most) {
  const auto number = parse_number(text);
  if (number && std::trunc(*number) == *number && *number >= least && *number <= most)
    return *number;
  return wrong(field, text, fmt::format("a whole number from {} to {} is needed", least, most));
}

Status set_field(const FieldDescriptor& field, const std::string& text, Message& message) {
  const auto& reflection = *message.GetReflection();
  constexpr double kExact = 9'007'199'254'740'992;  // 2^53
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(&message, &field, valid_utf8(text));
      return {};
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") return wrong(field, text, "true or false is needed");
      reflection.SetBool(&message, &field, text == "true");
      return {};
    case FieldDescriptor::CPPTYPE_UINT32: {
      const double most =
          field.name() == "limit" ? kMostRows : std::numeric_limits<std::uint32_t>::max();
      reflection.SetUInt32(&message, &field,
                           static_cast<std::uint32_t>(RG_TRY(whole_number(field, text, 0, most))));
      return {};
    }
    case FieldDescriptor::CPPTYPE_INT32:
      reflection.SetInt32(&message, &field,
                          static_cast<std::int32_t>(RG_TRY(
                              whole_number(field, text, std::numeric_limits<std::int32_t>::min(),
                                           std::numeric_limits<std::int32_t>::max()))));
      return {};
    case FieldDescriptor::CPPTYPE_INT64:
      reflection.SetInt64(
          &message, &field,
          static_cast<std::int64_t>(RG_TRY(whole_number(field, text, -kExact, kExact))));
      return {};
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const auto number = parse_number(text);
      if (!number || !std::isfinite(*number)) return wrong(field, text, "a number is needed");
      reflection.SetDouble(&message, &field, *number);
      return {};
    }
    default:
      return wrong(field, text, "a URL cannot set it");
  }
}

// The field of that name in the message or in one inside it, with the message to set it in.
const FieldDescriptor* find_field(const std::string& name, Message& message, Message*& owner) {
  const auto& descriptor = *message.GetDescriptor();
  owner = &message;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated()) continue;
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      if (field.name() == name) return &field;
      continue;
    }
    Message& inside = *message.GetReflection()->MutableMessage(&message, &field);
    if (const FieldDescriptor* found = find_field(name, inside, owner)) return found;
    owner = &message;
  }
  return nullptr;
}

// Repeated fields have no words in a query.
void add_names(const google::protobuf::Descriptor& descriptor, std::vector<std::string>& names) {
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated()) continue;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      add_names(*field.message_type(), names);
    else
      names.push_back(field.name());
  }
}

}  // namespace

Status fill_request(const Query& query, Message& request) {
  for (const auto& [name, text] : query) {
    Message* owner = nullptr;
    const FieldDescriptor* field = find_field(name, request, owner);
    if (field == nullptr) {
      std::vector<std::string> names;
      add_names(*request.GetDescriptor(), names);
      return fail(Code::kInvalidArgument,
                  names.empty() ? fmt::format("{}: this path takes no parameters", in_quotes(name))
                                : fmt::format("{}: unknown parameter; allowed: {}", in_quotes(name),
                                              fmt::join(names, ", ")));
    }
    if (query.count(name) > 1)
      return fail(Code::kInvalidArgument, fmt::format("{}: is given twice", in_quotes(name)));
    RG_TRY_OK(set_field(*field, text, *owner));
  }
  return {};
}

Status fill_from_json(const std::string& json, const std::string& name, const std::string& value,
                      Message& request) {
  // An empty body is a request without fields.
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(json.empty() ? "{}" : json, &request);
  if (!parsed.ok())
    return fail(Code::kInvalidArgument,
                fmt::format("the body is no {}: {}", request.GetDescriptor()->name(),
                            in_quotes(std::string(parsed.message()))));
  if (name.empty()) return {};
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
  const auto& reflection = *request.GetReflection();
  const std::string given = reflection.GetString(request, field);
  if (!given.empty() && given != value)
    return wrong(*field, given, fmt::format("the path says {}", in_quotes(value)));
  reflection.SetString(&request, field, valid_utf8(value));
  return {};
}

bool fits_path(std::string_view pattern, std::string_view path, std::string& field,
               std::string& value) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == path;
  const std::size_t close = pattern.find('}');
  const std::string_view before = pattern.substr(0, open);
  const std::string_view after = pattern.substr(close + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
      !path.ends_with(after))
    return false;
  const std::string_view inside =
      path.substr(before.size(), path.size() - before.size() - after.size());
  if (inside.find('/') != std::string_view::npos) return false;
  field = pattern.substr(open + 1, close - open - 1);
  value = inside;
  return true;
}

}  // namespace railgauge::console
