// nccl-tests' aliases from the command line, with made-up collectives over several processes.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/peers/profile.pb.h"
#include "kernels/runner/testing/process.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

Ended run(Words words, const std::string& called = program("railgauge-runner-testing")) {
  words.insert(words.begin(), called);
  return Process(words).wait();
}

NcclTestsReport parse(const std::string& text) {
  NcclTestsReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &report).ok()) << text;
  return report;
}

TEST(NcclTestsRun, PrintsBothPlacementsOfEverySizeFromTwoRanks) {
  const Ended ended = run({"all_reduce_perf", "-b", "1M", "-e", "4M", "-f", "4", "-g", "2"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_EQ(ended.out.find("SYNTHETIC"), 0U) << ended.out;
  EXPECT_NE(ended.out.find("all_reduce_perf by nccl.all_reduce, 2 ranks on this host"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("4194304  float    sum    -1    41.94  100.0  150.0       0   41.94  "
                           "100.0  150.0       0\n"),
            std::string::npos)
      << ended.out;
}

TEST(NcclTestsRun, JsonHasOneReportATaskAndAFileTakesIt) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("rg-nccl-" + std::to_string(::getpid()) + ".json");
  const Ended ended = run({"all_reduce_perf", "-b", "8", "-e", "8", "-g", "3", "--format", "json",
                           "-J", file.string()});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  const NcclTestsReport report = parse(ended.out);
  EXPECT_EQ(report.ranks(), 3U);
  ASSERT_EQ(report.reports_size(), 2);
  EXPECT_EQ(report.reports(1).started().parameters().at("in_place"), "true");
  EXPECT_EQ(report.reports(1).started().size(), 3U);
  std::ifstream written(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), ended.out);
  std::filesystem::remove(file);
}

TEST(NcclTestsRun, AMachineWithoutNcclWaives) {
  const Ended ended = run({"all_reduce_perf", "-g", "2", "--set", "act=waive"});
  EXPECT_EQ(ended.exit_code, kExitWaived) << ended.err;
  EXPECT_NE(ended.out.find("all_reduce_perf: waived: libnccl.so.2: not found\n"), std::string::npos)
      << ended.out;
}

TEST(NcclTestsRun, ARankThatCrashesOrHasWrongBytesIsNamed) {
  const Ended crashed = run({"alltoall_perf", "-g", "3", "--set", "act=kill_2"});
  EXPECT_EQ(crashed.exit_code, kExitInvalid);
  EXPECT_NE(crashed.out.find("crashed: rank 2: gone; its process was ended by signal 9"),
            std::string::npos)
      << crashed.out;
  const Ended failed =
      run({"alltoall_perf", "-g", "2", "--set", "act=corrupt_1", "--format", "csv"});
  EXPECT_EQ(failed.exit_code, kExitFailed);
  EXPECT_NE(failed.out.find("\nalltoall_perf,,,,,,,,,,failed\n"), std::string::npos) << failed.out;
}

TEST(NcclTestsRun, AnswersToItsNameThroughALink) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rg-nccl-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string link = folder / "alltoall_perf";
  std::filesystem::create_symlink(program("railgauge-runner-testing"), link);
  const Ended ended = run({"-w", "5"}, link);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_EQ(ended.err.find("info: -w changes nothing here: "), 0U) << ended.err;
}

TEST(NcclTestsRun, WrongWordsAndAMissingKernelAreToldInOneLine) {
  const Ended wrong = run({"all_reduce_perf", "-m", "2"});
  EXPECT_EQ(wrong.exit_code, kExitUsage);
  EXPECT_EQ(wrong.err.find('\n'), wrong.err.size() - 1) << wrong.err;
  const Ended lacking = run({"broadcast_perf"});
  EXPECT_EQ(lacking.err, "railgauge-runner: this build has no kernel nccl.broadcast\n");
}

}  // namespace
}  // namespace railgauge
