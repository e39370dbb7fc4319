// nccl-tests' command lines: their meaning for our kernels, the refused options, and the table.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "kernels/core/params.h"
#include "kernels/peers/nccl_tests/table.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;
using Words = std::vector<std::string>;

Result<NcclTestsCall> read(const char* program, const Words& words) {
  return read_nccl_tests_call(*find_nccl_tests_program(program), words, find_kernel);
}
NcclTestsCall call(const char* program, const Words& words) {
  auto out = read(program, words);
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(NcclTestsCall{});
}
std::string refusal(const char* program, const Words& words) {
  const auto out = read(program, words);
  if (out) return "accepted";
  EXPECT_EQ(out.error().code, Code::kInvalidArgument);
  EXPECT_EQ(out.error().message.find('\n'), std::string::npos);
  return out.error().message;
}

TEST(NcclTestsOptions, TheToolsDefaultsHoldWhereNothingIsSaid) {
  const NcclTestsCall said = call("all_reduce_perf", {});
  EXPECT_EQ(said.ranks, 1U);
  ASSERT_EQ(said.tasks.size(), 2U) << "out of place, then in place";
  EXPECT_THAT(said.tasks[0].parameters,
              ElementsAre(Pair("datatype", "float32"), Pair("iterations", "20"),
                          Pair("reduction", "sum"), Pair("sizes", "32MiB")));
  EXPECT_THAT(said.tasks[1].parameters, IsSupersetOf({Pair("in_place", "true")}));
}

TEST(NcclTestsOptions, TheUsualLineMeansWhatItMeansThere) {
  const NcclTestsCall said =
      call("all_reduce_perf", {"-b", "8", "-e", "128M", "-f", "4", "-g2", "-n", "50", "-d", "half",
                               "--op=max", "-c", "0", "-R", "1", "-T", "90"});
  EXPECT_EQ(said.ranks, 2U);
  EXPECT_EQ(said.deadline_seconds, 90);
  EXPECT_THAT(
      said.tasks[0].parameters,
      IsSupersetOf({Pair("sizes",
                         "8,32,128,512,2KiB,8KiB,32KiB,128KiB,512KiB,2MiB,8MiB,"
                         "32MiB,128MiB"),
                    Pair("iterations", "50"), Pair("datatype", "float16"), Pair("reduction", "max"),
                    Pair("verify", "false"), Pair("registered", "true")}));
  EXPECT_TRUE(said.infos.empty());
}

TEST(NcclTestsOptions, ThreadsTimesGpusAreTheRanks) {
  EXPECT_EQ(call("sendrecv_perf", {"-t", "2", "-g", "4"}).ranks, 8U);
  EXPECT_THAT(refusal("sendrecv_perf", {"-t", "20", "-g", "4"}), HasSubstr("80 ranks"));
}

TEST(NcclTestsOptions, WithoutAFactorSizesGoByStepsAsThere) {
  EXPECT_THAT(call("all_gather_perf", {"-b", "1M", "-e", "3M"}).tasks[0].parameters,
              IsSupersetOf({Pair("sizes", "1MiB,2MiB,3MiB")}));
  EXPECT_THAT(call("all_gather_perf", {"-b", "1K", "-e", "2K", "-i", "512"}).tasks[0].parameters,
              IsSupersetOf({Pair("sizes", "1KiB,1536,2KiB")}));
  EXPECT_THAT(refusal("all_gather_perf", {"-b", "8", "-e", "1G"}), HasSubstr("-f 2"));
  EXPECT_THAT(refusal("all_gather_perf", {"-b", "64M"}), HasSubstr("is above -e"));
}

TEST(NcclTestsOptions, AllTypesReductionsAndRootsAreATaskEach) {
  EXPECT_EQ(call("all_reduce_perf", {"-d", "all"}).tasks.size(), 12U * 2);
  EXPECT_EQ(call("all_reduce_perf", {"-o", "all"}).tasks.size(), 5U * 2);
  const NcclTestsCall roots =
      call("broadcast_perf", {"-r", "all", "-g", "3", "--placement", "out"});
  ASSERT_EQ(roots.tasks.size(), 3U);
  EXPECT_EQ(roots.tasks[2].root, 2);
  EXPECT_EQ(roots.tasks[2].redop, "none");
  EXPECT_THAT(refusal("broadcast_perf", {"-r", "1"}), HasSubstr("no whole number from 0 to 0"));
}

TEST(NcclTestsOptions, WhatACollectiveDoesNotHaveIsNotAsked) {
  const NcclTestsCall said = call("alltoall_perf", {"-o", "prod", "-r", "3", "-g", "2"});
  ASSERT_EQ(said.tasks.size(), 1U) << "never in place";
  EXPECT_EQ(said.tasks[0].redop, "none");
  EXPECT_EQ(said.tasks[0].root, -1);
  EXPECT_THAT(refusal("alltoall_perf", {"--placement", "in"}), HasSubstr("never in place"));
}

TEST(NcclTestsOptions, GraphsHaveTheCallsOfOneSizeAndAreLaunchedSoOften) {
  EXPECT_THAT(call("all_reduce_perf", {"-G", "7", "-n", "30"}).tasks[0].parameters,
              IsSupersetOf({Pair("mode", "graph"), Pair("graph_calls", "30"),
                            Pair("iterations", "7"), Pair("registered", "allocated")}));
  EXPECT_THAT(call("all_reduce_perf", {"-G", "7", "-R", "2"}).tasks[0].parameters,
              IsSupersetOf({Pair("registered", "symmetric")}));
  EXPECT_THAT(refusal("all_reduce_perf", {"-G", "7", "-n", "3000"}), HasSubstr("1000 at most"));
}

TEST(NcclTestsOptions, AdaptiveLeavesTheCountToTheStopRule) {
  const NcclTestsCall said = call("all_reduce_perf", {"--adaptive", "--set", "time_cap=500ms"});
  EXPECT_FALSE(said.tasks[0].parameters.contains("iterations"));
  EXPECT_THAT(said.tasks[0].parameters, IsSupersetOf({Pair("time_cap", "500ms")}));
  EXPECT_THAT(refusal("all_reduce_perf", {"--adaptive", "-n", "5"}), HasSubstr("exclude"));
}

TEST(NcclTestsOptions, WhatChangesNothingSaysSoAndWhatCannotBeSaysWhatIsAllowed) {
  const NcclTestsCall said = call("all_reduce_perf", {"-w", "5", "-p", "1", "-K", "2", "-a", "1",
                                                      "-z", "0", "-y", "0", "-C", "0", "-N", "1"});
  EXPECT_THAT(said.infos, ElementsAre(HasSubstr("-w changes nothing here"),
                                      HasSubstr("-p changes nothing here"),
                                      HasSubstr("-K changes nothing here")));
  const std::pair<Words, const char*> kRefused[] = {
      // NOLINT(modernize-avoid-c-arrays)
      {{"-m", "65"}, "-m: \"65\" is no whole number from 1 to 64"},
      {{"-a", "3"}, "rank_median_ns"},
      {{"-z", "1"}, "times of single calls stand in"},
      {{"-R", "3"}, "no whole number from 0 to 2"},
      {{"-u", "1"}, "multiples of 512 bytes"},
      {{"-D", "1"}, "allowed is 0"},
      {{"-x", "3"}, "no whole number from 0 to 2"},
      {{"-I", "1"}, "percentiles of single calls"},
      {{"-o", "mulsum"}, "is not sum, prod"},
      {{"-d", "float16"}, "is not int8"},
      {{"-n", "0"}, "from 1 to"},
      {{"-b", "8X"}, "is no size"},
      {{"-b"}, "-b needs a value"},
      {{"-Q"}, "option \"-Q\" is not known here"},
      {{"--itres", "5"}, "did you mean \"--iters\"?"},
      {{"node2"}, "\"node2\" is no option"},
      {{"--set", "depth=3"}, "depth"},
  };
  for (const auto& [words, said_so] : kRefused)
    EXPECT_THAT(refusal("all_reduce_perf", words), HasSubstr(said_so));
}

TEST(NcclTestsOptions, EveryProgramHasHelpAndAKernelOfTheCatalog) {
  for (const NcclTestsProgram& program : nccl_tests_programs()) {
    EXPECT_NE(find_kernel(program.kernel), nullptr) << program.kernel;
    EXPECT_THAT(nccl_tests_help(program), HasSubstr("-b, --minbytes VALUE"));
    EXPECT_THAT(nccl_tests_help(program), testing::Not(HasSubstr("--blocking")));
  }
}

TEST(NcclTestsOptions, GroupsWindowsAndPoliciesAreParameters) {
  const NcclTestsCall said = call("all_reduce_perf", {"-m", "4", "-R", "2", "-x", "2"});
  EXPECT_THAT(said.tasks[0].parameters,
              IsSupersetOf({Pair("aggregate", "4"), Pair("registered", "symmetric"),
                            Pair("cta_policy", "zero")}));
  EXPECT_FALSE(call("all_reduce_perf", {"-m", "1"}).tasks[0].parameters.contains("aggregate"));
  EXPECT_THAT(refusal("hypercube_perf", {"-m", "4"}), HasSubstr("aggregate"));
}

// --- the table --------------------------------------------------------------------------------

RunnerReport report_of(double algbw, double busbw) {
  RunnerReport report;
  report.set_outcome("passed");
  for (const auto& [metric, value] :
       {std::pair{"algbw_bytes_per_second", algbw}, std::pair{"busbw_bytes_per_second", busbw}}) {
    for (const char* meaning : {"completion", "aggregate_wall"}) {
      Point& point = *report.add_points();
      point.set_metric(metric);
      point.set_meaning(meaning);
      point.set_message_bytes(1048576);
      point.set_median(std::string_view(meaning) == "completion" ? value * 2 : value);
      point.set_verified(true);
      (*point.mutable_facts())["iterations_in_sample"] =
          std::string_view(meaning) == "completion" ? "7" : "20";
    }
  }
  return report;
}

TEST(NcclTestsTable, HasBothPlacementsOfASizeInOneRow) {
  const NcclTestsCall said = call("all_reduce_perf", {"-b", "1M", "-e", "1M", "-g", "2"});
  const NcclTestsReport report =
      nccl_tests_report(*find_nccl_tests_program("all_reduce_perf"), said,
                        {report_of(104.8576e9, 104.8576e9), report_of(52.4288e9, 52.4288e9)});
  EXPECT_EQ(report.outcome(), "passed");
  ASSERT_EQ(report.rows_size(), 1);
  EXPECT_DOUBLE_EQ(report.rows(0).out_of_place().time_us(), 10);
  EXPECT_DOUBLE_EQ(report.rows(0).in_place().time_us(), 20);
  EXPECT_THAT(nccl_tests_table(report),
              HasSubstr("1048576  float    sum    -1    10.00  104.9  104.9       0   20.00  52.43 "
                        " 52.43       0\n"));
  EXPECT_THAT(nccl_tests_table(report), HasSubstr("; 20 calls in a row by the CPU's clock"));
  EXPECT_THAT(nccl_tests_csv(report),
              HasSubstr("\nall_reduce_perf,1048576,float,sum,-1,out,10,104.8576,104.8576,0,passed\n"
                        "all_reduce_perf,1048576,float,sum,-1,in,20,52.4288,52.4288,0,passed\n"));
}

TEST(NcclTestsTable, NamesTheLaunchesOfAGraphAndWhoseMemoryItHas) {
  const NcclTestsCall said = call("all_reduce_perf", {"-b", "1M", "-e", "1M", "-G", "7"});
  const auto table_of = [&](const char* buffers, const char* registered) {
    RunnerReport report = report_of(1e9, 1e9);
    (*report.mutable_started()->mutable_parameters())["mode"] = "graph";
    (*report.mutable_started()->mutable_parameters())["graph_calls"] = "30";
    (*report.mutable_started()->mutable_facts())["buffers"] = buffers;
    if (*registered != '\0')
      (*report.mutable_started()->mutable_facts())["registered"] = registered;
    return nccl_tests_table(
        nccl_tests_report(*find_nccl_tests_program("all_reduce_perf"), said, {report, report}));
  };
  const std::string old = table_of("by CUDA", "no (NCCL 2.18.3 has no ncclMemAlloc)");
  EXPECT_THAT(old, HasSubstr("\n  buffers: by CUDA\n  registered: no (NCCL 2.18.3 has no"));
  EXPECT_THAT(old, HasSubstr("; 20 launches of a graph of 30 calls in a row"));
  // With `--set registered=false` nobody registers.
  const std::string plain = table_of("by CUDA", "");
  EXPECT_THAT(plain, HasSubstr("\n  buffers: by CUDA\n"));
  EXPECT_THAT(plain, Not(HasSubstr("registered")));
}

TEST(NcclTestsTable, OnlyWhatPassedHasAFigureAndTheRestSaysWhy) {
  const NcclTestsCall said = call("all_reduce_perf", {"-b", "1M", "-e", "1M"});
  RunnerReport failed = report_of(1e9, 1e9);
  failed.set_outcome("failed");
  failed.set_reason("rank 1: element 3 is 1, not 2");
  const NcclTestsReport report = nccl_tests_report(*find_nccl_tests_program("all_reduce_perf"),
                                                   said, {report_of(1e9, 1e9), failed});
  EXPECT_EQ(report.outcome(), "failed");
  EXPECT_FALSE(report.rows(0).has_in_place());
  EXPECT_THAT(nccl_tests_table(report),
              HasSubstr("all_reduce_perf: failed: rank 1: element 3 is 1, not 2\n"));
}

TEST(NcclTestsTable, TellsTheSizeThatWasReallyMoved) {
  const NcclTestsCall said = call("alltoall_perf", {"-b", "1M", "-e", "1M", "-g", "3"});
  RunnerReport rounded = report_of(1e9, 1e9);
  for (Point& point : *rounded.mutable_points())
    (*point.mutable_facts())["moved_bytes"] = "1048572";
  const NcclTestsReport report =
      nccl_tests_report(*find_nccl_tests_program("alltoall_perf"), said, {rounded});
  EXPECT_EQ(report.rows(0).size_bytes(), 1048572);
  EXPECT_DOUBLE_EQ(report.rows(0).out_of_place().time_us(), 1048.572);
}

// hypercube_perf prints the buffer of all shares, and its bandwidth is without the own share.
TEST(NcclTestsTable, AHypercubesSizeHasTheOwnShareAndItsTimeIsWithoutIt) {
  const NcclTestsCall said = call("hypercube_perf", {"-b", "1M", "-e", "1M", "-g", "2"});
  RunnerReport half = report_of(1e9, 1e9);
  for (Point& point : *half.mutable_points()) {
    (*point.mutable_facts())["moved_bytes"] = "524288";
    (*point.mutable_facts())["shares_bytes"] = "1048576";
  }
  const NcclTestsReport report =
      nccl_tests_report(*find_nccl_tests_program("hypercube_perf"), said, {half});
  EXPECT_EQ(report.rows(0).size_bytes(), 1048576);
  EXPECT_DOUBLE_EQ(report.rows(0).out_of_place().time_us(), 524.288);
}

}  // namespace
}  // namespace railgauge
