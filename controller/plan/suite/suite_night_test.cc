// `night:`, which the controller writes into the suite that it stores with a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/suite/suite.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSuite =
    "version: 1\nmetadata: {name: s}\nstages:\n  - {kernel: k, placement: {pairs: all, slice: 7}}";

TEST(SuiteNight, IsReadAsItWasWritten) {
  const std::string text = with_night(kSuite, {.number = 20'781, .nodes = {"n2", "n-1.a", "n3"}});
  const SuiteReading reading = read_suite(text, "", {});
  ASSERT_TRUE(reading.suite) << reading.problems.at(0).message;
  ASSERT_TRUE(reading.suite->night);
  EXPECT_EQ(reading.suite->night->number, 20'781u);
  EXPECT_THAT(reading.suite->night->nodes, ElementsAre("n2", "n-1.a", "n3"));
  EXPECT_EQ(with_night(text, {.number = 1, .nodes = {"x"}}), text) << "the first one stays";
}

// A rest reads there which slice it is of.
TEST(SuiteNight, IsWrittenIntoAMappingInBracesToo) {
  for (const std::string end : {"]}", "], }", "]\n}  # done\n"}) {
    const std::string braces =
        "{version: 1, metadata: {name: s}, stages: [{kernel: k, placement: {pairs: all}}" + end;
    ASSERT_TRUE(read_suite(braces, "", {}).suite) << braces;
    const auto night = read_suite(with_night(braces, {.number = 1, .nodes = {"x"}}), "", {}).suite;
    ASSERT_TRUE(night && night->night) << braces;
    EXPECT_EQ(night->night->number, 1u);
  }
}

TEST(SuiteNight, ATextThatTakesNoKeyMoreStaysAsItIs) {
  const std::string closed = std::string(kSuite) + "\n...\n";
  ASSERT_TRUE(read_suite(closed, "", {}).suite);
  EXPECT_EQ(with_night(closed, {.number = 1, .nodes = {"x"}}), closed);
}

// Runs that an earlier Railgauge stored are gone on with.
TEST(SuiteNight, ItsNumberMayBeCalledTheDayAsItOnceWas) {
  const std::string text = std::string(kSuite) + "\nnight: {day: 20781, nodes: \"n1,n2\"}\n";
  const SuiteReading reading = read_suite(text, "", {});
  ASSERT_TRUE(reading.suite && reading.suite->night) << error_of(reading.problems).message;
  EXPECT_EQ(reading.suite->night->number, 20'781u);
  EXPECT_THAT(reading.suite->night->nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(with_night(text, {.number = 1, .nodes = {"x"}}), text);
}

TEST(SuiteNight, ARunsSuiteIsTheSameBesideIt) {
  const std::string braces =
      "{version: 1, metadata: {name: s}, stages: [{kernel: k, placement: {pairs: all}}]}";
  for (const std::string& suite : {std::string(kSuite), std::string(kSuite) + "\n", braces,
                                   braces + "\n", std::string(kSuite) + "\n\nslice: 2/7\n"}) {
    EXPECT_TRUE(is_same_suite(suite, suite));
    const std::string of_run = with_night(suite, {.number = 3, .nodes = {"n1", "n2"}});
    EXPECT_NE(of_run, suite);
    EXPECT_TRUE(is_same_suite(of_run, suite)) << of_run;
    EXPECT_FALSE(is_same_suite(of_run, "# other\n" + suite)) << of_run;
    EXPECT_FALSE(is_same_suite(suite, of_run)) << of_run;
  }
  const std::string of_old = std::string(kSuite) + "\nnight: {day: 20781, nodes: \"n1,n2\"}\n";
  EXPECT_TRUE(is_same_suite(of_old, kSuite));
}

TEST(SuiteNight, SaysWhatIsWrong) {
  const auto problem = [](const std::string& night) {
    const SuiteReading reading = read_suite(std::string(kSuite) + "\nnight: " + night, "", {});
    return reading.problems.empty() ? "none"
                                    : reading.problems[0].key + " " + reading.problems[0].message;
  };
  EXPECT_THAT(problem("{number: 1}"), HasSubstr("nodes"));
  EXPECT_THAT(problem("{number: -1, nodes: a}"), HasSubstr("night.number"));
  EXPECT_THAT(problem("{day: -1, nodes: a}"), HasSubstr("night.day"));
  EXPECT_THAT(problem("{number: 1, day: 1, nodes: a}"), HasSubstr("night.day"));
  EXPECT_THAT(problem("{nodes: a}"), HasSubstr("number"));
  EXPECT_THAT(problem("{number: 1, nodes: \"a,b,a\"}"), HasSubstr("names \"a\" twice"));
  EXPECT_THAT(problem("{number: 1, nodes: \"a,,b\"}"), HasSubstr("no node between two commas"));
}

TEST(SuiteProof, IsReadAsItWasWritten) {
  const std::string text = with_proof(kSuite, {.nodes = {"n2", "n-1.a"}, .partners = {"n3"}});
  const auto proof = read_suite(text, "", {}).suite;
  ASSERT_TRUE(proof && proof->prove) << text;
  EXPECT_THAT(proof->prove->nodes, ElementsAre("n2", "n-1.a"));
  EXPECT_THAT(proof->prove->partners, ElementsAre("n3"));
  EXPECT_EQ(with_proof(text, {.nodes = {"x"}}), text) << "the first one stays";
  const auto lone = read_suite(with_proof(kSuite, {.nodes = {"n1"}}), "", {}).suite;
  ASSERT_TRUE(lone && lone->prove);
  EXPECT_TRUE(lone->prove->partners.empty());
}

TEST(SuiteProof, SaysWhatIsWrong) {
  const auto problem = [](const std::string& prove) {
    const SuiteReading reading = read_suite(std::string(kSuite) + "\nprove: " + prove, "", {});
    return reading.problems.empty() ? "none"
                                    : reading.problems[0].key + " " + reading.problems[0].message;
  };
  EXPECT_THAT(problem("{partners: a}"), HasSubstr("nodes"));
  EXPECT_THAT(problem("{nodes: \"a,a\"}"), HasSubstr("names \"a\" twice"));
  EXPECT_THAT(problem("{nodes: a, partners: \"b,,c\"}"), HasSubstr("prove.partners"));
  EXPECT_THAT(problem("{nodes: a, number: 1}"), HasSubstr("prove.number"));
}

TEST(SuiteNight, OnlyStagesWithASliceHaveSlices) {
  EXPECT_TRUE(has_slices(*read_suite(kSuite, "", {}).suite));
  Suite suite;
  suite.stages.push_back({.kernel = "k"});
  EXPECT_FALSE(has_slices(suite));
}

}  // namespace
}  // namespace railgauge::plan
