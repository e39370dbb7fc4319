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
      google::protobuf::util::JsonStringToMessage(open_api(routes(), "1.\"2"), &document).ok());
  EXPECT_EQ(at(at(document, "info").struct_value(), "version").string_value(), "1.\"2");
  const Struct& paths = at(document, "paths").struct_value();
  EXPECT_EQ(paths.fields_size(), static_cast<int>(routes().size()));
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
