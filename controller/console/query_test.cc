#include "controller/console/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"
#include "controller/api/control.pb.h"

namespace railgauge::console {
namespace {

using testing::HasSubstr;

TEST(ConsoleQuery, ParametersAreTheFieldsOfTheRequest) {
  api::PointsRequest request;
  ASSERT_TRUE(fill_request({{"run_id", "all"},
                            {"message_bytes", "65536"},
                            {"rail", "-1"},
                            {"series_id", "4"},
                            {"all_attempts", "true"},
                            {"limit", "10000"}},
                           request));
  EXPECT_EQ(request.run_id(), "all");
  EXPECT_EQ(request.message_bytes(), 65536);
  EXPECT_EQ(request.rail(), -1);
  EXPECT_EQ(request.series_id(), 4U);
  EXPECT_TRUE(request.all_attempts());
  EXPECT_FALSE(request.has_since_unix_seconds());
}

TEST(ConsoleQuery, FieldsInsideAreParametersToo) {
  api::MatrixTileRequest request;
  ASSERT_TRUE(fill_request({{"run_id", "r1"}, {"order", "worst"}, {"step", "4"}}, request));
  EXPECT_EQ(request.matrix().run_id(), "r1");
  EXPECT_EQ(request.matrix().order(), "worst");
  EXPECT_EQ(request.step(), 4U);
}

TEST(ConsoleQuery, WhatIsNoValueIsRefusedByName) {
  const std::map<std::pair<std::string, std::string>, std::string> cases{
      {{"limit", "10001"}, "a whole number from 0 to 10000"},
      {{"limit", "ten"}, "limit"},
      {{"rail", "1.5"}, "whole number"},
      {{"series_id", "-1"}, "whole number"},
      {{"message_bytes", "inf"}, "a number"},
      {{"all_attempts", "yes"}, "true or false"},
      {{"colour", "red"}, "unknown parameter; allowed: run_id, kernel"}};
  for (const auto& [given, words] : cases) {
    api::PointsRequest request;
    const Status filled = fill_request({given}, request);
    ASSERT_FALSE(filled) << given.first;
    EXPECT_THAT(filled.error().message, HasSubstr(words));
    EXPECT_EQ(filled.error().code, Code::kInvalidArgument);
  }
  api::PointsRequest request;
  EXPECT_FALSE(fill_request({{"kernel", "a"}, {"kernel", "b"}}, request));
}

TEST(ConsoleQuery, ABodysKeysAreFieldsAndThePathHasOneOfThem) {
  api::PauseNodesRequest request;
  ASSERT_TRUE(fill_from_json(R"({"reason":"DIMM \u00e9","for_seconds":60})", "node_set", "n[1-2]",
                             request));
  EXPECT_EQ(request.node_set(), "n[1-2]");
  EXPECT_EQ(request.reason(), "DIMM \u00e9");
  EXPECT_EQ(request.for_seconds(), 60);
  EXPECT_TRUE(fill_from_json(R"({"node_set":"n1"})", "node_set", "n1", request));
  EXPECT_TRUE(fill_from_json("", "node_set", "n1", request));
  EXPECT_TRUE(fill_from_json("{}", "", "", request));
}

TEST(ConsoleQuery, AWrongBodyIsRefusedInOneLine) {
  const std::string deep = std::string(10'000, '[');
  for (const std::string& body :
       {std::string("{"), std::string("[]"), std::string("null x"), std::string(R"({"colour":1})"),
        std::string(R"({"reason":1,)"), std::string(R"({"node_set":"n2"})"),
        std::string("{\"reason\":\"\xff\"}"), R"({"reason":)" + deep + "}"}) {
    api::PauseNodesRequest request;
    const Status filled = fill_from_json(body, "node_set", "n1", request);
    ASSERT_FALSE(filled) << body;
    EXPECT_EQ(filled.error().code, Code::kInvalidArgument);
    EXPECT_EQ(filled.error().message.find('\n'), std::string::npos) << filled.error().message;
  }
}

}  // namespace
}  // namespace railgauge::console
