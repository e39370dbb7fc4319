#include "controller/plan/suite/suite.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/testing/suite_testing.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kGood = R"(version: 1
metadata:
  name: small
  summary: two stages
stages:
  - name: latency
    kernel: fake.lat
    parameters: {sizes: [8, 4KiB], iterations: 100}
    placement: {pairs: all}
  - kernel: fake.bw
    parameters:
      sizes: 64KiB
      depth: 4
    placement:
      pairs: all
      endpoint: rxe0:1
    deadline_seconds: 12.5
    raw_samples: true
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Suite, ReadsWhatIsDocumented) {
  const SuiteReading reading = read(kGood);
  for (const auto& problem : reading.problems) ADD_FAILURE() << describe(problem);
  ASSERT_TRUE(reading.suite);
  EXPECT_TRUE(reading.kernels_checked);
  const Suite& suite = *reading.suite;
  EXPECT_EQ(suite.name, "small");
  EXPECT_EQ(suite.summary, "two stages");
  ASSERT_EQ(suite.stages.size(), 2u);
  EXPECT_EQ(suite.stages[0].name, "latency");
  EXPECT_EQ(suite.stages[0].parameters.at("sizes"), "8,4KiB");
  EXPECT_EQ(suite.stages[0].parameters.at("iterations"), "100");
  EXPECT_FALSE(suite.stages[0].deadline_seconds);
  EXPECT_FALSE(suite.stages[0].raw_samples);
  EXPECT_EQ(suite.stages[1].name, "fake.bw");
  EXPECT_EQ(suite.stages[1].placement.kind, PlacementKind::kPairs);
  EXPECT_EQ(suite.stages[1].placement.endpoint, "rxe0:1");
  EXPECT_EQ(suite.stages[1].deadline_seconds, 12.5);
  EXPECT_TRUE(suite.stages[1].raw_samples);
}

TEST(Suite, RawSamplesAreAskedForByTrueAlone) {
  EXPECT_THAT(problem_of(with("raw_samples: true", "raw_samples: yes please")),
              HasSubstr("stages[1].raw_samples: is \"yes please\"; must be true or false"));
  EXPECT_FALSE(read(with("raw_samples: true", "raw_samples: false")).suite->stages[1].raw_samples);
}

TEST(Suite, WithoutDeclarationsKernelsStandUncheckedAndItSaysSo) {
  const SuiteReading reading = read_suite(with("fake.lat", "other.kernel"), "x.yaml", {});
  ASSERT_TRUE(reading.suite);
  EXPECT_FALSE(reading.kernels_checked);
  EXPECT_EQ(reading.suite->stages[0].parameters.at("sizes"), "8,4KiB");
}

TEST(Suite, AProfileStandsUnderWhatTheStageSays) {
  constexpr std::string_view kText = R"(version: 1
metadata: {name: like_perftest}
stages:
  - kernel: verbs.write_bw
    profile: perftest
    parameters: {depth: 16, sizes: 8}
    placement: {pairs: all}
)";
  const SuiteReading reading = read_suite(kText, "x.yaml", {});
  ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
  const auto& parameters = reading.suite->stages.front().parameters;
  EXPECT_EQ(parameters.at("depth"), "16");
  EXPECT_EQ(parameters.at("signal_every"), "16");
  EXPECT_EQ(parameters.at("iterations"), "5000");
  EXPECT_THAT(
      problem_of(with("    kernel: fake.lat", "    kernel: fake.lat\n    profile: perftest")),
      HasSubstr("x.yaml:8:14: stages[0].profile: profile perftest: perftest measures "
                "nothing like fake.lat"));
}

TEST(Suite, MpisSpellingAndOsusProgramsAreOtherNamesOfKernels) {
  const SuiteReading reading = read_suite(R"(version: 1
metadata: {name: other_names}
stages:
  - {kernel: MPI_Allreduce, placement: {group: all}}
  - {kernel: osu_bw, parameters: {window: 8}, vary: {mpi: [openmpi, mpich]}, placement: {pairs: all}}
  - {kernel: osu_nothing, placement: {pairs: all}}
)",
                                          "x.yaml", {});
  ASSERT_TRUE(reading.suite) << describe(reading.problems.front());
  const auto& stages = reading.suite->stages;
  ASSERT_EQ(stages.size(), 4U);
  EXPECT_EQ(stages[0].kernel, "mpi.all_reduce");
  EXPECT_THAT(stages[0].parameters, IsEmpty());
  EXPECT_EQ(stages[2].kernel, "mpi.bw");
  EXPECT_EQ(stages[2].parameters.at("mpi"), "mpich");
  EXPECT_EQ(stages[2].parameters.at("window"), "8");
  EXPECT_EQ(stages[2].parameters.at("iterations"), "100");
  EXPECT_EQ(stages[3].kernel, "osu_nothing");
}

TEST(Suite, AnUnknownKeyIsNamedWithLineColumnAndWhatIsAllowed) {
  const std::string problem = problem_of(with("    deadline_seconds", "    deadline_second"));
  EXPECT_THAT(problem, HasSubstr("x.yaml:17:5: stages[1].deadline_second: unknown key"));
  EXPECT_THAT(problem, HasSubstr("allowed here: kernel, placement, name, profile, parameters"));
  EXPECT_THAT(problem, HasSubstr("did you mean \"deadline_seconds\"?"));
  EXPECT_THAT(
      problem_of(with("version: 1", "version: 1\nfloors: {}")),
      HasSubstr("x.yaml:2:1: floors: unknown key; allowed here: version, metadata, stages"));
  EXPECT_THAT(problem_of(with("  name: small", "  name: small\n  owner:")),
              HasSubstr("metadata.owner: unknown key"));
  EXPECT_THAT(problem_of(with("{pairs: all}", "{pairs: all, rail: 1}")),
              HasSubstr("x.yaml:9:29: stages[0].placement.rail: unknown key"));
}

TEST(Suite, AMissingKeyIsNamed) {
  EXPECT_THAT(problem_of(with("version: 1\n", "")), HasSubstr("lacks the key version"));
  EXPECT_THAT(problem_of(with("  name: small\n", "")), HasSubstr("metadata: lacks the key name"));
  EXPECT_THAT(problem_of(with("    placement: {pairs: all}\n", "")),
              HasSubstr("stages[0]: lacks the key placement"));
}

TEST(Suite, WrongTypesAreNamed) {
  EXPECT_THAT(problem_of(with("version: 1", "version: 2")),
              HasSubstr("version: is \"2\"; this Railgauge reads version 1"));
  EXPECT_THAT(problem_of(with("version: 1", "version: [1]")), HasSubstr("is a list"));
  EXPECT_THAT(problem_of(with("{pairs: all}", "pairs")), HasSubstr("must be a mapping with pairs"));
  EXPECT_THAT(problem_of(with("{pairs: all}", "{pairs: some}")), HasSubstr("allowed: all"));
  EXPECT_THAT(problem_of(with("{pairs: all}", "{}")), HasSubstr("needs one of pairs"));
  EXPECT_THAT(problem_of(with("{pairs: all}", "{pairs: all, group: all}")),
              HasSubstr("exclude each other"));
  EXPECT_THAT(problem_of(with("rxe0:1", "rxe0")), HasSubstr("must be DEV:PORT"));
  EXPECT_THAT(problem_of(with("rxe0:1", "gpu01")), HasSubstr("or gpuN"));
  EXPECT_THAT(problem_of(with("rxe0:1", "rxe0:999")), HasSubstr("port 1 to 255"));
  EXPECT_THAT(problem_of(with("12.5", "soon")), HasSubstr("must be a number of seconds above 0"));
  EXPECT_THAT(problem_of(with("12.5", "0")), HasSubstr("above 0 and at most 86400"));
  EXPECT_THAT(problem_of(with("12.5", "")), HasSubstr("x.yaml:17:5: stages[1].deadline_seconds"));
  EXPECT_THAT(problem_of(with("name: small", "name: a b")), HasSubstr("letters, digits"));
  EXPECT_THAT(problem_of(with("two stages", "\"two\\nlines\"")), HasSubstr("control characters"));
}

TEST(Suite, KernelsAndParametersAreHeldAgainstTheirDeclarations) {
  EXPECT_THAT(
      problem_of(with("kernel: fake.lat", "kernel: fake.let")),
      HasSubstr("x.yaml:7:13: stages[0].kernel: unknown kernel \"fake.let\"; known: "
                "fake.lat, fake.bw, fake.group, fake.gpu, fake.nic; did you mean \"fake.lat\"?"));
  EXPECT_THAT(problem_of(with("depth: 4", "dept: 4")),
              HasSubstr("x.yaml:13:7: stages[1].parameters.dept: unknown parameter of fake.bw; "
                        "allowed here: sizes, iterations, time_cap, depth; did you mean"));
  EXPECT_THAT(problem_of(with("depth: 4", "depth: 5000")),
              HasSubstr("x.yaml:13:14: stages[1].parameters.depth: 5000 is out of range"));
  EXPECT_THAT(problem_of(with("depth: 4", "depth: [4, 5]")), HasSubstr("not a list"));
  EXPECT_THAT(problem_of(with("depth: 4", "depth: {a: 1}")), HasSubstr("is a mapping"));
  EXPECT_THAT(problem_of(with("[8, 4KiB]", "[8, [4]]")), HasSubstr("sizes[1]: must be a single"));
  EXPECT_THAT(problem_of(with("[8, 4KiB]", "[]")), HasSubstr("1 to 256, has 0"));
  EXPECT_THAT(problem_of(with("{pairs: all}", "{local: all}")),
              HasSubstr("fake.lat runs with 2 to 2 ranks"));
}

TEST(Suite, AKeyThatStandsTwiceIsAProblem) {
  EXPECT_THAT(problem_of(with("      depth: 4", "      depth: 4\n      depth: 8")),
              HasSubstr("x.yaml:14:7: stages[1].parameters.depth: is here twice"));
}

TEST(Suite, AllProblemsAreReportedInTheOrderOfTheirLines) {
  std::string text = with("fake.lat", "fake.none");
  text.replace(text.find("depth: 4"), 8, "depth: 0");
  text.replace(text.find("summary"), 7, "sumary");
  const SuiteReading reading = read(text);
  ASSERT_EQ(reading.problems.size(), 3u);
  EXPECT_EQ(reading.problems[0].key, "metadata.sumary");
  EXPECT_EQ(reading.problems[1].key, "stages[0].kernel");
  EXPECT_EQ(reading.problems[2].key, "stages[1].parameters.depth");
  const Error error = error_of(reading.problems);
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, testing::StartsWith("x.yaml:4:3: metadata.sumary: unknown key"));
  EXPECT_THAT(error.message, testing::EndsWith("(and 2 more)"));
}

TEST(Suite, TheListOfProblemsIsBounded) {
  std::string text = "version: 1\nmetadata: {name: x}\nstages:\n";
  for (int i = 0; i < 400; ++i)
    text += "  - {kernel: fake.lat, placement: {pairs: all}, oops: 1}\n";
  const SuiteReading reading = read(text);
  ASSERT_EQ(reading.problems.size(), kMaxSuiteProblems + 1);
  EXPECT_EQ(reading.problems.back().message, "350 more problems");
}

TEST(Suite, WhatIsNoYamlIsRefusedWithItsPlace) {
  EXPECT_THAT(problem_of("version: [1"), HasSubstr("x.yaml:1:"));
  EXPECT_THAT(problem_of("version: 1\n---\nversion: 1\n"),
              HasSubstr("x.yaml:2:1: something follows the end"));
  EXPECT_THAT(problem_of(",version: 1"), HasSubstr("something follows"))
      << "yaml-cpp finds documents there without end";
  EXPECT_THAT(problem_of(""), HasSubstr("must be a mapping with version"));
  EXPECT_THAT(problem_of("just words"), HasSubstr("must be a mapping"));
}

TEST(Suite, SizeDepthAndAliasesAreBounded) {
  EXPECT_THAT(problem_of(std::string(kMaxSuiteBytes + 1, ' ')), HasSubstr("at most 1048576"));
  EXPECT_THAT(problem_of(std::string(100'000, '[')), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(problem_of(std::string(30, '[') + std::string(30, ']')), HasSubstr("deeper than 16"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i)
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  EXPECT_THAT(problem_of(bomb), HasSubstr("more than 20000 values"));
  EXPECT_THAT(problem_of("a: &a [*a]\n"), testing::Not(IsEmpty())) << "an alias within itself";
}

TEST(Suite, TheShippedOnesAreSoundAndNamedLikeTheirFiles) {
  int suites = 0;
  for (const auto& entry : std::filesystem::directory_iterator("suites")) {
    if (entry.path().extension() != ".yaml") continue;
    ++suites;
    const SuiteReading reading = read_suite_file(entry.path(), {});
    for (const SuiteProblem& problem : reading.problems) ADD_FAILURE() << describe(problem);
    ASSERT_TRUE(reading.suite);
    EXPECT_EQ(reading.suite->name, entry.path().stem());
    EXPECT_FALSE(reading.suite->summary.empty());
  }
  EXPECT_GT(suites, 0);
}

TEST(Suite, TheExampleInTheDocumentationIsSound) {
  std::ifstream file("suites/README.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t begin = text.find("```yaml\n") + 8;
  const SuiteReading reading =
      read_suite(text.substr(begin, text.find("```", begin) - begin), "README.md", {});
  for (const SuiteProblem& problem : reading.problems) ADD_FAILURE() << describe(problem);
  EXPECT_TRUE(reading.suite);
}

// Every key that a text can have at some level; none else may pass.
void expect_only_known_keys(const Suite& suite, const std::string& text) {
  const std::set<std::string> parameters{"sizes", "iterations", "time_cap", "depth"};
  ASSERT_FALSE(suite.name.empty()) << text;
  ASSERT_FALSE(suite.stages.empty()) << text;
  for (const Stage& stage : suite.stages) {
    ASSERT_THAT(stage.kernel, testing::StartsWith("fake.")) << text;
    for (const auto& [name, value] : stage.parameters)
      ASSERT_TRUE(parameters.contains(name)) << name << " in\n" << text;
  }
}

TEST(Suite, MutatedTextsAreReadOrRefusedButNeverCrash) {
  std::mt19937 random(7);
  constexpr std::string_view kBytes =
      "[]{}:,-&*!|>'\"%@`#? \n\t\0\xff"
      "1a~";
  int accepted = 0;
  for (int round = 0; round < 4'000; ++round) {
    std::string text(kGood);
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          text.insert(at, 1, kBytes[random() % kBytes.size()]);
          break;
        case 2:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
    }
    const SuiteReading reading = read(text);
    ASSERT_NE(reading.suite.has_value(), !reading.problems.empty());
    if (!reading.suite) continue;
    ++accepted;
    expect_only_known_keys(*reading.suite, text);
  }
  EXPECT_GT(accepted, 20) << "the mutations are too rough to test anything";
}

TEST(Suite, AKeyPutAnywhereIsRefused) {
  const std::string good(kGood);
  for (std::size_t at = good.find('\n'); at != std::string::npos; at = good.find('\n', at + 1)) {
    for (const int indent : {0, 2, 4, 6}) {
      std::string text = good;
      text.insert(at + 1, std::string(static_cast<std::size_t>(indent), ' ') + "unheard_of: 1\n");
      EXPECT_FALSE(read(text).suite) << text;
    }
  }
}

TEST(Suite, AStageMayTakeEachOfANodesEndpoints) {
  const SuiteReading gpus = read(local("fake.gpu", "local: all, each: gpu"));
  ASSERT_TRUE(gpus.suite);
  EXPECT_EQ(gpus.suite->stages.at(0).placement.each, "gpu");
  const SuiteReading one = read(local("fake.gpu", "local: all, endpoint: gpu3"));
  ASSERT_TRUE(one.suite);
  EXPECT_EQ(one.suite->stages.at(0).placement.endpoint, "gpu3");
}

TEST(Suite, EachIsCheckedAgainstPlacementAndKernel) {
  const SuiteReading together = read(local("fake.gpu", "local: all, each: gpu, together: true"));
  ASSERT_TRUE(together.suite);
  EXPECT_TRUE(together.suite->stages.at(0).placement.together);
  EXPECT_THAT(problem_of(local("fake.gpu", "local: all, together: true")),
              HasSubstr("together: only with local: all and each"));
  EXPECT_THAT(problem_of(local("fake.lat", "pairs: all, together: true")),
              HasSubstr("together: only with local: all and each"));
  EXPECT_THAT(problem_of(local("fake.gpu", "local: all, each: cpu")),
              HasSubstr("is \"cpu\"; allowed: gpu, nic"));
  EXPECT_THAT(problem_of(local("fake.lat", "pairs: all, each: nic")),
              HasSubstr("placement.each: only with local: all"));
  EXPECT_THAT(problem_of(local("fake.gpu", "local: all, each: gpu, endpoint: gpu0")),
              HasSubstr("each takes them all"));
  EXPECT_THAT(problem_of(local("fake.gpu", "local: all, each: nic")),
              HasSubstr("is nic; fake.gpu runs on gpu"));
  EXPECT_THAT(problem_of(local("fake.group", "local: all, each: gpu")),
              HasSubstr("fake.group runs on no endpoint, once a node: leave out each"));
}

}  // namespace
}  // namespace railgauge::plan
