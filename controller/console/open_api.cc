#include "controller/console/open_api.h"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>

#include "controller/api/console.pb.h"
#include "controller/api/control.pb.h"
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

// Operations by path and method.
using Paths = std::map<std::string, std::map<std::string, std::string>>;

constexpr std::string_view kJsonAnswer =
    R"("responses":{{"200":{{"description":"the answer","content":{{"application/json":{{"schema":{{{}}}}}}}}}}})";

void add_route(const Route& route, Schemas& schemas, Paths& paths) {
  std::vector<std::string> parameters;
  add_parameters(*route.request().GetDescriptor(), route.path, parameters);
  paths[std::string(route.path)]["get"] =
      fmt::format(R"({{"summary":{},"parameters":[{}],{}}})", json_string(route.summary),
                  fmt::join(parameters, ","),
                  fmt::format(kJsonAnswer, schemas.reference_to(*route.answer().GetDescriptor())));
}

// The body needs no key that the path has.
void add_action(const Action& action, Schemas& schemas, Paths& paths) {
  std::vector<std::string> parameters{
      R"({"name":"X-Railgauge-Token","in":"header","required":true,"description":"token of /api/v1/actions","schema":{"type":"string"}})"};
  if (const std::size_t open = action.path.find('{'); open != std::string_view::npos)
    parameters.push_back(
        fmt::format(R"({{"name":"{}","in":"path","required":true,"schema":{{"type":"string"}}}})",
                    action.path.substr(open + 1, action.path.find('}') - open - 1)));
  paths[std::string(action.path)]["post"] = fmt::format(
      R"({{"summary":{},"description":"{}, with its rights, audit trail and errors; Origin is the console's own","parameters":[{}],"requestBody":{{"content":{{"application/json":{{"schema":{{{}}}}}}}}},{}}})",
      json_string(action.summary), name_of(action), fmt::join(parameters, ","),
      schemas.reference_to(*action.request().GetDescriptor()),
      fmt::format(kJsonAnswer, schemas.reference_to(*action.answer().GetDescriptor())));
}

constexpr std::string_view kEvents =
    R"({{"summary":"{}; server-sent events: state, at once and when it changes{}","parameters":[{}],"responses":{{"200":{{"description":"the data of an event","content":{{"text/event-stream":{{"schema":{{{}}}}}}}}}}}}})";

// The paths that are no call: who asks, what may be done, and what is followed.
void add_own_paths(Schemas& schemas, Paths& paths) {
  paths["/api/v1/session"]["get"] = fmt::format(
      R"({{"summary":"who asks",{}}})",
      fmt::format(kJsonAnswer, schemas.reference_to(*api::ConsoleSession::descriptor())));
  paths["/api/v1/actions"]["get"] = fmt::format(
      R"({{"summary":"the token of this session's actions, and which of them it may make",{}}})",
      fmt::format(
          kJsonAnswer,
          R"("type":"object","properties":{"schema_version":{"type":"integer"},"token":{"type":"string"},"actions":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"call":{"type":"string"},"summary":{"type":"string"},"allowed":{"type":"boolean"}}}}})"));
  paths["/api/v1/live/runs"]["get"] =
      fmt::format(kEvents, "the newest runs, without their nodes", "", "",
                  schemas.reference_to(*api::RunList::descriptor()));
  paths["/api/v1/live/runs/{run_id}"]["get"] =
      fmt::format(kEvents, "a run", ", and end",
                  R"({"name":"run_id","in":"path","required":true,"schema":{"type":"string"}})",
                  schemas.reference_to(*api::RunEvent::descriptor()));
}

}  // namespace

std::string open_api(std::span<const Route> routes, std::span<const Action> actions,
                     const std::string& version) {
  Schemas schemas;
  Paths by_path;
  for (const Route& route : routes) add_route(route, schemas, by_path);
  for (const Action& action : actions) add_action(action, schemas, by_path);
  add_own_paths(schemas, by_path);
  std::vector<std::string> paths;
  for (const auto& [path, operations] : by_path) {
    std::vector<std::string> all;
    for (const auto& [method, operation] : operations)
      all.push_back(fmt::format("\"{}\":{}", method, operation));
    paths.push_back(fmt::format("\"{}\":{{{}}}", path, fmt::join(all, ",")));
  }
  return fmt::format(
      R"({{"openapi":"3.0.3","info":{{"title":"Railgauge console","version":{}}},"security":[{{"session":[]}}],"paths":{{{}}},"components":{{"securitySchemes":{{"session":{{"type":"apiKey","in":"header","name":"X-Railgauge-Session"}}}},"schemas":{{{}}}}}}})",
      json_string(version), fmt::join(paths, ","), schemas.text());
}

}  // namespace railgauge::console
