#include "controller/console/open_api.h"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>

#include "kernels/core/text/json.h"

namespace railgauge::console {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string type_of(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return R"("type":"string")";
    case FieldDescriptor::CPPTYPE_BOOL:
      return R"("type":"boolean")";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return R"("type":"number")";
    default:
      return R"("type":"integer")";
  }
}

// Schemas by the full name of their message, added as fields name them.
class Schemas {
 public:
  std::string reference_to(const Descriptor& message) {
    if (const auto [at, is_new] = texts_.try_emplace(message.full_name(), ""); is_new) {
      std::string text = schema_of(message);
      texts_[message.full_name()] = std::move(text);
    }
    return fmt::format(R"("$ref":"#/components/schemas/{}")", message.full_name());
  }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> all;
    for (const auto& [name, text] : texts_) all.push_back(fmt::format("\"{}\":{}", name, text));
    return fmt::format("{}", fmt::join(all, ","));
  }

 private:
  std::string of_field(const FieldDescriptor& field) {
    if (field.is_map())
      return fmt::format(R"({{"type":"object","additionalProperties":{}}})",
                         of_value(*field.message_type()->map_value()));
    if (field.is_repeated())
      return fmt::format(R"({{"type":"array","items":{}}})", of_value(field));
    if (field.has_optional_keyword() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      return fmt::format(R"({{{},"nullable":true}})", type_of(field));
    return of_value(field);
  }
  std::string of_value(const FieldDescriptor& field) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      return fmt::format("{{{}}}", reference_to(*field.message_type()));
    // Missing figures inside a list are null.
    const bool may_lack = field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
    return fmt::format("{{{}{}}}", type_of(field), may_lack ? R"(,"nullable":true)" : "");
  }
  std::string schema_of(const Descriptor& message) {
    std::vector<std::string> fields;
    for (int i = 0; i < message.field_count(); ++i)
      fields.push_back(
          fmt::format("\"{}\":{}", message.field(i)->name(), of_field(*message.field(i))));
    return fmt::format(R"({{"type":"object","properties":{{{}}}}})", fmt::join(fields, ","));
  }

  std::map<std::string, std::string> texts_;
};

void add_parameters(const Descriptor& request, std::string_view path,
                    std::vector<std::string>& into) {
  for (int i = 0; i < request.field_count(); ++i) {
    const FieldDescriptor& field = *request.field(i);
    if (field.is_repeated()) continue;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      add_parameters(*field.message_type(), path, into);
      continue;
    }
    const bool is_in_path = path.find("{" + field.name() + "}") != std::string_view::npos;
    into.push_back(fmt::format(R"({{"name":"{}","in":"{}","required":{},"schema":{{{}}}}})",
                               field.name(), is_in_path ? "path" : "query", is_in_path,
                               type_of(field)));
  }
}

}  // namespace

std::string open_api(std::span<const Route> routes, const std::string& version) {
  Schemas schemas;
  std::vector<std::string> paths;
  for (const Route& route : routes) {
    std::vector<std::string> parameters;
    add_parameters(*route.request().GetDescriptor(), route.path, parameters);
    paths.push_back(fmt::format(
        R"("{}":{{"get":{{"summary":{},"parameters":[{}],"responses":{{"200":{{"description":"the answer","content":{{"application/json":{{"schema":{{{}}}}}}}}}}}}}}})",
        route.path, json_string(route.summary), fmt::join(parameters, ","),
        schemas.reference_to(*route.answer().GetDescriptor())));
  }
  return fmt::format(
      R"({{"openapi":"3.0.3","info":{{"title":"Railgauge console","version":{}}},"paths":{{{}}},"components":{{"schemas":{{{}}}}}}})",
      json_string(version), fmt::join(paths, ","), schemas.text());
}

}  // namespace railgauge::console
