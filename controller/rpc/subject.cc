#include "controller/rpc/subject.h"

#include <vector>

#include <fmt/format.h>

#include "controller/audit/audit_log.h"

namespace railgauge::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kMostBytes = audit::AuditLog::kMaxTextBytes + 1;  // one more: it is cut
constexpr int kMaxDepth = 4;
constexpr int kMaxItems = 8;  // of a repeated field

// One value; `at` is the position in a repeated field, -1 otherwise. Messages are not values.
std::string value_text(const Message& message, const FieldDescriptor& field, int at) {
  const auto& reflection = *message.GetReflection();
  const auto get = [&](auto single, auto repeated) {
    return at < 0 ? (reflection.*single)(message, &field)
                  : (reflection.*repeated)(message, &field, at);
  };
  using Reflection = google::protobuf::Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      const std::string& text =
          at < 0 ? reflection.GetStringReference(message, &field, &scratch)
                 : reflection.GetRepeatedStringReference(message, &field, at, &scratch);
      return text.substr(0, kMostBytes);
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_INT32:
      return fmt::to_string(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return fmt::to_string(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return fmt::to_string(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return fmt::to_string(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fmt::to_string(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    default:
      return "?";
  }
}

void add_fields(const Message& message, const std::string& prefix, int depth, std::string& out) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count =
        field->is_repeated() ? std::min(reflection.FieldSize(message, field), kMaxItems) : 1;
    for (int i = 0; i < count && out.size() < kMostBytes; ++i) {
      const int at = field->is_repeated() ? i : -1;
      const std::string name = fmt::format("{}{}", prefix, field->name());
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        out +=
            fmt::format("{}{}={}", out.empty() ? "" : " ", name, value_text(message, *field, at));
      } else if (depth < kMaxDepth) {
        const Message& part = at < 0 ? reflection.GetMessage(message, field)
                                     : reflection.GetRepeatedMessage(message, field, at);
        add_fields(part, name + ".", depth + 1, out);
      }
    }
  }
}

}  // namespace

std::string subject_of(const Message& request) {
  std::vector<const FieldDescriptor*> fields;
  request.GetReflection()->ListFields(request, &fields);
  const bool is_name = fields.size() == 1 && fields[0]->index() == 0 && !fields[0]->is_repeated() &&
                       fields[0]->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (is_name) return value_text(request, *fields[0], -1);
  std::string subject;
  add_fields(request, "", 0, subject);
  return subject;
}

}  // namespace railgauge::rpc
