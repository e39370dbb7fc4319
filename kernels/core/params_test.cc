#include "kernels/core/params.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {

ParameterInfo declare(const std::string& name, const std::string& type,
                      const std::string& default_value) {
  ParameterInfo info;
  info.set_name(name);
  info.set_type(type);
  info.set_default_value(default_value);
  return info;
}

ParameterInfo ranged(ParameterInfo info, double minimum, double maximum) {
  info.set_minimum(minimum);
  info.set_maximum(maximum);
  return info;
}

KernelInfo example() {
  KernelInfo kernel;
  kernel.set_name("verbs.example");
  *kernel.add_parameters() = ranged(declare("depth", "integer", "128"), 1, 1024);
  *kernel.add_parameters() = ranged(declare("ratio", "number", "0.5"), 0, 1);
  *kernel.add_parameters() = ranged(declare("size", "bytes", "64KiB"), 1, 1 << 30);
  *kernel.add_parameters() = ranged(declare("cap", "duration", "5s"), 1e6, 60e9);
  *kernel.add_parameters() = declare("relaxed", "boolean", "false");
  *kernel.add_parameters() = declare("device", "text", "");
  ParameterInfo mode = declare("mode", "choice", "hot");
  mode.add_choices("hot");
  mode.add_choices("cold");
  *kernel.add_parameters() = mode;
  *kernel.add_parameters() = ranged(declare("sizes", "bytes_list", "8,64KiB"), 1, 8 << 20);
  return kernel;
}

std::string error_of(const std::map<std::string, std::string>& given) {
  const auto params = Params::parse(example(), given);
  return params ? "no error" : params.error().message;
}

TEST(Params, FillInDefaultsInCanonicalText) {
  const auto params = Params::parse(example(), {});
  ASSERT_TRUE(params) << params.error().message;
  EXPECT_EQ(params->integer("depth"), 128);
  EXPECT_EQ(params->number("ratio"), 0.5);
  EXPECT_EQ(params->bytes("size"), 65536U);
  EXPECT_EQ(params->duration_ns("cap"), 5e9);
  EXPECT_FALSE(params->boolean("relaxed"));
  EXPECT_EQ(params->text("device"), "");
  EXPECT_EQ(params->text("mode"), "hot");
  EXPECT_EQ(params->bytes_list("sizes"), (std::vector<std::uint64_t>{8, 65536}));
  EXPECT_EQ(params->effective().size(), 8U);
  EXPECT_EQ(params->effective().at("sizes"), "8,64KiB");
}

TEST(Params, GivenValuesWinAndBecomeCanonical) {
  const auto params = Params::parse(example(), {{"depth", "007"},
                                                {"ratio", "-0.0"},
                                                {"size", "1024KiB"},
                                                {"cap", "1.5s"},
                                                {"relaxed", "yes"},
                                                {"mode", "cold"},
                                                {"sizes", "1:4, 8 B"}});
  ASSERT_TRUE(params) << params.error().message;
  const std::map<std::string, std::string> expected{
      {"depth", "7"},      {"ratio", "0"}, {"size", "1MiB"}, {"cap", "1500ms"},
      {"relaxed", "true"}, {"device", ""}, {"mode", "cold"}, {"sizes", "1:8"}};
  EXPECT_EQ(params->effective(), expected);
}

TEST(Params, WhoSaysTheDefaultInOtherWordsHasTheDefault) {
  const auto params = Params::parse(example(), {{"size", "65536"}, {"depth", "64"}});
  ASSERT_TRUE(params);
  EXPECT_TRUE(params->is_default("size"));
  EXPECT_TRUE(params->is_default("mode"));
  EXPECT_FALSE(params->is_default("depth"));
}

TEST(Params, CanonicalTextIsAFixedPoint) {
  const auto once = Params::parse(example(), {{"sizes", "2:64KiB"}, {"cap", "1.25s"}});
  ASSERT_TRUE(once);
  const auto twice = Params::parse(example(), once->effective());
  ASSERT_TRUE(twice);
  EXPECT_EQ(once->effective(), twice->effective());
  EXPECT_EQ(twice->bytes_list("sizes").size(), 16U);
}

TEST(Params, ErrorsNameKernelParameterValueAndWhatIsAllowed) {
  EXPECT_EQ(error_of({{"dpeth", "1"}}),
            "verbs.example: parameter \"dpeth\" is unknown; did you mean \"depth\"?");
  EXPECT_EQ(error_of({{"depth", "0"}}),
            "verbs.example: parameter depth: 0 is out of range; 1 to 1024 are allowed");
  EXPECT_EQ(error_of({{"depth", "many"}}),
            "verbs.example: parameter depth: \"many\" is not a whole number");
  EXPECT_EQ(error_of({{"size", "2GiB"}}),
            "verbs.example: parameter size: 2GiB is out of range; 1 to 1GiB are allowed");
  EXPECT_EQ(error_of({{"cap", "2min"}}),
            "verbs.example: parameter cap: 120s is out of range; 1ms to 60s are allowed");
  EXPECT_EQ(error_of({{"mode", "cald"}}),
            "verbs.example: parameter mode: \"cald\" is not hot or cold; did you mean \"cold\"?");
  EXPECT_EQ(error_of({{"relaxed", "maybe"}}),
            "verbs.example: parameter relaxed: \"maybe\" is neither true nor false");
  EXPECT_EQ(error_of({{"device", "a\nb"}}),
            "verbs.example: parameter device: \"a\\nb\" holds a control character");
}

TEST(Params, TextIsUtf8SinceMessagesCarryIt) {
  EXPECT_EQ(error_of({{"device", "\xff"}}), "verbs.example: parameter device: \"?\" is not UTF-8");
  EXPECT_EQ(error_of({{"device", "m\u00b5"}}), "no error");
}

TEST(Params, OneSidedRangesSayTheirSide) {
  ParameterInfo info = declare("n", "integer", "1");
  info.set_minimum(1);
  EXPECT_EQ(check_parameter(info, "0").error().message, "0 is out of range; at least 1 is allowed");
  info.clear_minimum();
  info.set_maximum(5);
  EXPECT_EQ(check_parameter(info, "6").error().message, "6 is out of range; at most 5 is allowed");
}

TEST(BytesList, RefusesWhatIsNoList) {
  for (const char* text : {"", ",", "8,", "8,,9", "8,8", "4:2", "3:24", "0:8", "1:", ":4", "1:2:4",
                           "1:4,2", "16MiB", "1:1TiB"})
    EXPECT_NE(error_of({{"sizes", text}}), "no error") << text;
  std::string many = "1";
  for (int i = 2; i <= 257; ++i) many += "," + std::to_string(i);
  EXPECT_NE(error_of({{"sizes", many}}).find("more than 256"), std::string::npos);
}

TEST(Params, AWrongDeclarationIsInternalEvenWhereAValueIsGiven) {
  KernelInfo kernel;
  kernel.set_name("k");
  *kernel.add_parameters() = ranged(declare("depth", "integer", "0"), 1, 2);
  auto params = Params::parse(kernel, {{"depth", "1"}});
  ASSERT_FALSE(params);
  EXPECT_EQ(params.error().code, Code::kInternal);
  EXPECT_EQ(params.error().message, "k: default of depth: 0 is out of range; 1 to 2 are allowed");
  kernel.mutable_parameters(0)->set_type("colour");
  EXPECT_EQ(Params::parse(kernel, {}).error().message,
            "k: default of depth: type \"colour\" is unknown");
}

TEST(ParamsDeathTest, AskingForWhatIsNotDeclaredStopsTheProcess) {
  const auto params = Params::parse(example(), {});
  ASSERT_TRUE(params);
  EXPECT_DEATH((void)params->integer("nothing"), "CHECK failed");
  EXPECT_DEATH((void)params->integer("size"), "CHECK failed");
  EXPECT_DEATH((void)params->bytes("sizes"), "CHECK failed");
}

}  // namespace
}  // namespace railgauge
