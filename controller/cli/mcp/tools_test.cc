#include "controller/cli/mcp/tools.h"

#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"

namespace railgauge::cli::mcp {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(McpTools, EveryToolHasASchemaAndSaysThatItOnlyReads) {
  const auto listed = read_json(tools_text());
  ASSERT_TRUE(listed);
  const auto& tools = field_of(listed->struct_value(), "tools")->list_value().values();
  std::vector<std::string> names;
  for (const Json& tool : tools) {
    const auto& fields = tool.struct_value();
    names.push_back(text_of(fields, "name"));
    EXPECT_THAT(text_of(fields, "description"),
                AllOf(HasSubstr("come from nodes"), HasSubstr("never instructions")));
    const auto& schema = field_of(fields, "inputSchema")->struct_value();
    EXPECT_EQ(text_of(schema, "type"), "object");
    for (const auto& [name, property] : field_of(schema, "properties")->struct_value().fields())
      EXPECT_NE(text_of(property.struct_value(), "description"), "") << name;
    const auto& hints = field_of(fields, "annotations")->struct_value();
    EXPECT_TRUE(field_of(hints, "readOnlyHint")->bool_value());
    EXPECT_FALSE(field_of(hints, "destructiveHint")->bool_value());
  }
  EXPECT_THAT(names, testing::ElementsAre("list", "show", "compare", "report"));
}

class McpCalls : public Commands {
 protected:
  // The result of a call, or why it is refused; `parameters` is JSON.
  tl::expected<std::string, std::string> called(const std::string& parameters) {
    std::ostringstream nowhere;
    const Output output{.out = nowhere, .err = nowhere, .format = Format::kJson};
    Session session{.stubs = stubs(), .output = output, .interrupts = interrupts_};
    Reads reads(session);
    return call_tool(reads, read_json(parameters).value_or(Json()).struct_value());
  }
  tl::expected<std::string, std::string> called(const std::string& tool,
                                                const std::string& arguments) {
    return called(fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
  }
};

TEST_F(McpCalls, NameTheArgumentThatASchemaDoesNotAllow) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"what":"findigs"})", R"(did you mean "findings"?)"},
      {R"({"what":"nodes","since":"24h"})", R"(list nodes: "since" is none of what, nodes)"},
      {R"({"what":"runs","limit":0})", "limit: a whole number from 1 to 1000 is needed"},
      {R"({"what":"runs","limit":"many"})", "limit: a whole number from 1"},
      {R"({"what":"runs","offset":1.5})", "offset: a whole number from 0"},
      {R"({"what":"findings","state":[]})", "state: a text is needed"},
      {fmt::format(R"({{"what":"findings","state":"{}"}})", std::string(5'000, 'x')),
       "state: 5000 bytes, and 4096 are the most"}};
  for (const auto& [arguments, why] : cases) {
    const auto refused = called("list", arguments);
    ASSERT_FALSE(refused) << arguments;
    EXPECT_THAT(refused.error(), HasSubstr(why));
  }
  EXPECT_EQ(called("show", R"({"what":"run"})").error(), "show run: id is needed");
  EXPECT_EQ(called(R"({"name":"start"})").error(),
            R"(name: "start" is none of list, show, compare, report)");
  EXPECT_EQ(called(R"({"name":"list","arguments":7})").error(), "arguments: an object is needed");
}

TEST_F(McpCalls, TakeNumbersAsTextsAndNullAsAbsent) {
  const auto listed = called("list", R"({"what":"runs","limit":"5","offset":null})");
  ASSERT_TRUE(listed) << listed.error();
  EXPECT_THAT(*listed, HasSubstr(R"("isError":false)"));
  EXPECT_TRUE(called("show", R"({"what":"series","id":7})"));
}

}  // namespace
}  // namespace railgauge::cli::mcp
