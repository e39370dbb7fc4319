#include "controller/console/open_api.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::console {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

const Value& at(const Struct& in, const std::string& key) {
  static const Value kNothing;
  const auto found = in.fields().find(key);
  EXPECT_NE(found, in.fields().end()) << key;
  return found == in.fields().end() ? kNothing : found->second;
}

// Every "$ref" of the document.
void add_references(const Value& value, std::vector<std::string>& into) {
  for (const Value& one : value.list_value().values()) add_references(one, into);
  for (const auto& [key, one] : value.struct_value().fields()) {
    if (key == "$ref") into.push_back(one.string_value());
    add_references(one, into);
  }
}

TEST(OpenApi, DescribesEveryPathItsParametersAndItsAnswer) {
  Struct document;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(open_api(routes(), actions(), "1.\"2"), &document)
          .ok());
  EXPECT_EQ(at(at(document, "info").struct_value(), "version").string_value(), "1.\"2");
  const Struct& paths = at(document, "paths").struct_value();
  for (const Route& route : routes())
    EXPECT_TRUE(at(paths, std::string(route.path)).struct_value().fields().contains("get"));
  for (const char* own :
       {"/api/v1/session", "/api/v1/actions", "/api/v1/live/runs", "/api/v1/live/runs/{run_id}"})
    EXPECT_TRUE(at(paths, own).struct_value().fields().contains("get")) << own;
  const Struct& get = at(at(paths, "/api/v1/runs/{run_id}").struct_value(), "get").struct_value();
  const Struct& parameter = at(get, "parameters").list_value().values(0).struct_value();
  EXPECT_EQ(at(parameter, "name").string_value(), "run_id");
  EXPECT_EQ(at(parameter, "in").string_value(), "path");
  const Struct& schemas = at(at(document, "components").struct_value(), "schemas").struct_value();
  Value all;
  *all.mutable_struct_value() = document;
  std::vector<std::string> references;
  add_references(all, references);
  EXPECT_GT(references.size(), routes().size());
  for (const std::string& reference : references)
    EXPECT_TRUE(schemas.fields().contains(reference.substr(reference.rfind('/') + 1))) << reference;
}

TEST(OpenApi, DescribesEveryActionItsTokenAndItsBody) {
  Struct document;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(open_api(routes(), actions(), "1"), &document)
          .ok());
  const Struct& paths = at(document, "paths").struct_value();
  for (const Action& action : actions()) {
    const Struct& post =
        at(at(paths, std::string(action.path)).struct_value(), "post").struct_value();
    const auto& parameters = at(post, "parameters").list_value().values();
    EXPECT_EQ(at(parameters.Get(0).struct_value(), "name").string_value(), "X-Railgauge-Token");
    EXPECT_EQ(parameters.size(), action.path.find('{') == std::string_view::npos ? 1 : 2);
    const Struct& content = at(at(post, "requestBody").struct_value(), "content").struct_value();
    const Struct& json = at(content, "application/json").struct_value();
    EXPECT_EQ(at(at(json, "schema").struct_value(), "$ref").string_value(),
              "#/components/schemas/" + action.request().GetDescriptor()->full_name());
  }
  const Struct& runs = at(paths, "/api/v1/runs").struct_value();
  EXPECT_EQ(runs.fields_size(), 2) << "the list, and the start";
}

TEST(OpenApi, AnActionIsFoundWithWhatItsPathNames) {
  const Asked step = find_action("/api/v1/findings/step-gpu017/steps");
  ASSERT_NE(step.action, nullptr);
  EXPECT_EQ(name_of(*step.action), "Judge.StepFinding");
  EXPECT_EQ(step.field, "finding_id");
  EXPECT_EQ(step.value, "step-gpu017");
  EXPECT_EQ(find_action("/api/v1/findings/a/b/steps").action, nullptr);
  EXPECT_EQ(find_action("/api/v1/nodes").action, nullptr);
}

TEST(OpenApi, APathLeadsToItsRoute) {
  std::string field;
  std::string value;
  const Route* tasks = find_route("/api/v1/runs/r-1/tasks", field, value);
  ASSERT_NE(tasks, nullptr);
  EXPECT_EQ(tasks->path, "/api/v1/runs/{run_id}/tasks");
  EXPECT_EQ(field, "run_id");
  EXPECT_EQ(value, "r-1");
  for (const char* path : {"/api/v1/runs/", "/api/v1/runs/a/b", "/api/v1/runs//tasks", "/api/v1",
                           "/api/v2/runs", "/api/v1/runs/a/tasks/b"})
    EXPECT_EQ(find_route(path, field, value), nullptr) << path;
}

}  // namespace
}  // namespace railgauge::console
