// Profiles from the command line: by name, or through a link of that name.
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/peers/profile.pb.h"
#include "kernels/peers/tools.h"
#include "kernels/runner/testing/process.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

Ended run(Words words, const std::string& gpus = "2",
          const std::string& called = program("railgauge-runner-testing")) {
  words.insert(words.begin(), called);
  std::vector<std::string> environment;
  if (!gpus.empty()) environment.push_back("RAILGAUGE_TESTING_GPUS=" + gpus);
  return Process(words, false, environment).wait();
}

ProfileReport parse(const std::string& text) {
  ProfileReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &report).ok()) << text;
  return report;
}

TEST(ProfileRun, PrintsAMatrixForEachTestAndASummary) {
  const Ended ended = run({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "-t", "4"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_NE(ended.out.find("  gpu0   gpu1\n  50.00  50.00\nSUM 100.00  median 50.00\n"),
            std::string::npos)
      << ended.out;
  // By number: device_to_device_memcpy_read_ce, whose column is the GPU that is read.
  EXPECT_NE(ended.out.find("gpu0       -  200.00\ngpu1  100.00       -\n"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("nvbandwidth: 2 passed; "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("SYNTHETIC"), ended.out.find("\n\n") + 2);
}

TEST(ProfileRun, JsonIsOneDocumentWithAllReports) {
  const Ended ended = run({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "-t",
                           "device_local_copy", "--format", "json"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  const ProfileReport report = parse(ended.out);
  EXPECT_EQ(report.schema_version(), 1U);
  EXPECT_EQ(report.outcome(), "passed");
  ASSERT_EQ(report.tests_size(), 2);
  EXPECT_EQ(report.tests(0).figures(0).reports_size(), 2);
  EXPECT_EQ(report.tests(0).figures(0).reports(1).started().endpoint(), "gpu1");
  EXPECT_EQ(report.tests(0).figures(0).reports(1).started().parameters().at("iterations"), "3");
  EXPECT_EQ(report.tests(1).outcome(), "waived");
  EXPECT_EQ(report.tests(1).reason(), "this build has no kernel cuda.local_copy_bw");
}

TEST(ProfileRun, CsvHasALineForEachCellAndForWhatHasNone) {
  const Ended ended = run({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "-t",
                           "device_local_copy", "--format", "csv"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_EQ(ended.out,
            "test,kernel,unit,row,column,value,throttled,outcome,wide,visits\n"
            "host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,,gpu0,50,false,passed,false,1\n"
            "host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,,gpu1,50,false,passed,false,1\n"
            "device_local_copy,cuda.local_copy_bw,GB/s,,gpu0,,,waived,,\n"
            "device_local_copy,cuda.local_copy_bw,GB/s,,gpu1,,,waived,,\n");
}

// With tests whose copies take no time here: their share is for visits, also where a busy machine
// makes each of those long.
Words with_time_to_spare(Words words) {
  words.insert(words.end(),
               {"-p", "device_to_device_memcpy_write", "device_to_device_bidirectional"});
  return words;
}

// gpu0 finds another state of its host's memory each time: 40, 50 and so on to 120.
TEST(ProfileRun, ANoisyTaskIsVisitedAgainAndHasTheMedian) {
  const Words words = with_time_to_spare({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "-t",
                                          "4", "--adaptive", "--set", "act=noisy_gpu0"});
  Words csv = words;
  csv.insert(csv.end(), {"--format", "csv"});
  const Ended ended = run(csv);
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  const std::string row = "host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,,";
  const std::size_t visited = ended.out.find(row + "gpu0,80");
  ASSERT_NE(visited, std::string::npos) << ended.out;
  const std::size_t end = ended.out.find('\n', visited);
  EXPECT_TRUE(ended.out.substr(0, end).ends_with(",false,passed,true,9")) << ended.out;
  EXPECT_NE(ended.out.find(row + "gpu1,50,false,passed,false,1\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("gpu0,gpu1,200,false,passed,false,1\n"), std::string::npos) << ended.out;
  const Ended table = run(words);
  const std::size_t noisy = table.out.find(
      "SUM 130.00  median 65.00\n* the interval is wider than asked: stopped by the "
      "time cap\nmeasured up to 9 times");
  ASSERT_NE(noisy, std::string::npos) << table.out;
  EXPECT_LT(table.out.find("device_to_device_memcpy_read_ce took"), noisy)
      << "what is done is told";
  EXPECT_EQ(table.out.find("SUM", noisy + 1), std::string::npos) << "told once";
}

TEST(ProfileRun, WithTheToolsCountsOrACapOfTheCallersNothingIsVisitedAgain) {
  for (const Words& more : {Words{}, Words{"--adaptive", "--set", "time_cap=1s"}}) {
    Words words{"nvbandwidth", "-t", "host_to_device_memcpy_ce", "--set", "act=noisy_gpu0",
                "--format",    "csv"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_NE(ended.out.find("gpu0,40,false,passed,true,1\n"), std::string::npos) << ended.out;
  }
}

TEST(ProfileRun, ACrashOnASecondVisitIsTheTestsOwn) {
  const Ended ended =
      run(with_time_to_spare({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "-t", "4",
                              "--adaptive", "--set", "act=noisy_kill_gpu0", "--format", "json"}));
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  const ProfileReport report = parse(ended.out);
  ASSERT_GT(report.tests_size(), 2);
  EXPECT_EQ(report.tests(0).outcome(), "crashed");
  EXPECT_NE(report.tests(0).reason().find("signal 9"), std::string::npos);
  EXPECT_EQ(report.tests(0).figures(0).reports_size(), 3);
  EXPECT_FALSE(report.tests(0).figures(0).has_sum());
  EXPECT_EQ(report.tests(1).outcome(), "passed");
}

TEST(ProfileRun, AMachineWithoutGpusWaives) {
  const Ended ended =
      run({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "--set", "act=waive"}, "");
  EXPECT_EQ(ended.exit_code, kExitWaived) << ended.err;
  EXPECT_NE(ended.out.find("host_to_device_memcpy_ce: waived: no GPU here: not found\n"),
            std::string::npos)
      << ended.out;
}

TEST(ProfileRun, ACrashCostsItsTaskAloneAndTheRestGoesOn) {
  const Ended ended =
      run({"nvbandwidth", "-t", "host_to_device_memcpy_ce", "-t",
           "device_to_device_memcpy_write_ce", "--set", "act=kill_gpu0", "--format", "json"});
  EXPECT_EQ(ended.exit_code, kExitInvalid);
  const ProfileReport report = parse(ended.out);
  ASSERT_EQ(report.tests_size(), 2);
  EXPECT_EQ(report.tests(0).outcome(), "crashed");
  EXPECT_NE(report.tests(0).reason().find("signal 9"), std::string::npos);
  ASSERT_EQ(report.tests(0).figures(0).reports_size(), 2);
  EXPECT_EQ(report.tests(0).figures(0).reports(0).outcome(), "crashed");
  EXPECT_EQ(report.tests(0).figures(0).reports(1).outcome(), "passed");
  EXPECT_EQ(report.tests(1).figures(0).reports(0).started().endpoint(), "")
      << "a kernel over several GPUs has none";
  EXPECT_EQ(report.tests(1).outcome(), "passed");
}

TEST(ProfileRun, AnswersToItsNameThroughALink) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rg-profile-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string link = folder / "gdrcopy_copybw";
  std::filesystem::create_symlink(program("railgauge-runner-testing"), link);
  const Ended ended = run({"-d", "1"}, "2", link);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_NE(ended.out.find("by bar.write_bw\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("by bar.read_bw\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("gpu1\n  47683.72\n"), std::string::npos) << ended.out;
}

TEST(ProfileRun, LatenciesOfAllSizesAreRows) {
  const Ended ended = run({"gdrcopy_copylat"});
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_NE(ended.out.find("copylat, us, by bar.write_lat\n"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\n 64 KiB"), std::string::npos) << ended.out;
}

// The aliases accept the line that `--as` prints for a person.
TEST(ProfileRun, TakeEveryCommandLineThatTheTableOfToolsMakes) {
  for (const PeerTest& row : peer_tests()) {
    auto parameters = row.parameters;
    parameters.insert(row.exact.begin(), row.exact.end());
    if (row.tool == "nvbandwidth") parameters.insert({{"verify", "false"}, {"numa", "any"}});
    const auto made = peer_command(row.tool, row.kernel, parameters, "gpu0");
    ASSERT_TRUE(made) << made.error().message;
    std::istringstream text(*made);
    Words words{std::istream_iterator<std::string>(text), {}};
    words.insert(words.end(), {"--set", "act=waive"});
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, kExitWaived) << *made << ": " << ended.err;
  }
}

TEST(ProfileRun, FlagsOfTheToolsMeanWhatTheyMeanThere) {
  const Ended bandwidth =
      run({"gdrcopy_copybw", "-s", "65536", "-w", "7", "-r", "3", "--format", "json"});
  EXPECT_EQ(bandwidth.exit_code, kExitPassed) << bandwidth.err;
  const ProfileReport report = parse(bandwidth.out);
  ASSERT_EQ(report.tests(0).figures_size(), 2);
  const auto& write = report.tests(0).figures(0).reports(0).started().parameters();
  EXPECT_EQ(write.at("iterations"), "7");
  EXPECT_EQ(write.at("sizes"), "64KiB");
  EXPECT_EQ(report.tests(0).figures(1).reports(0).started().parameters().at("iterations"), "3");

  const Ended several = run({"nvbandwidth", "-t", "0", "4", "-v", "-j", "--loopCount", "8"});
  EXPECT_EQ(several.exit_code, kExitPassed) << several.err;
  EXPECT_NE(several.err.find("info: -v changes nothing here\n"), std::string::npos) << several.err;
  const ProfileReport both = parse(several.out);
  ASSERT_EQ(both.tests_size(), 2);
  EXPECT_EQ(both.tests(0).figures(0).reports(0).started().parameters().at("copies"), "8");
  EXPECT_EQ(parse(run({"nvbandwidth", "-p", "host_to_device_mem", "-j"}).out).tests_size(), 2);

  const Ended text = run({"nvbandwidth", "-t", "0", "-F", "text", "--useHugePages"});
  EXPECT_EQ(text.exit_code, kExitPassed) << text.err;
  EXPECT_NE(text.out.find("host_to_device_memcpy_ce, GB/s"), std::string::npos) << text.out;
  const ProfileReport huge = parse(run({"nvbandwidth", "-t", "0", "-H", "-F", "json"}).out);
  EXPECT_EQ(huge.tests(0).figures(0).reports(0).started().parameters().at("host_memory"), "huge");

  const Ended large = run({"nvbandwidth", "-b", "2048"});
  EXPECT_EQ(large.exit_code, kExitUsage);
  EXPECT_NE(large.err.find("sizes end at 1 GiB"), std::string::npos) << large.err;
}

TEST(ProfileRun, WrongWordsAreToldInOneLine) {
  const Ended test = run({"nvbandwidth", "-t", "host_to_device_memcpy_c"});
  EXPECT_EQ(test.exit_code, kExitUsage);
  EXPECT_NE(test.err.find("did you mean \"host_to_device_memcpy_ce\"?"), std::string::npos)
      << test.err;
  const Ended several =
      run({"nvbandwidth", "-t", "multinode_device_to_device_broadcast_one_to_all_sm"});
  EXPECT_EQ(several.exit_code, kExitUsage);
  EXPECT_NE(several.err.find("railgauge-runner cuda.broadcast_bw --ranks N --set multicast=allow "
                             "--set pattern=one_to_all --set engine=sm"),
            std::string::npos)
      << several.err;
  EXPECT_EQ(run({"nvbandwidth", "-t", "44"}).exit_code, kExitUsage);
  const Ended left_out = run({"nvbandwidth", "-t", "40"});
  EXPECT_EQ(left_out.exit_code, kExitUsage);
  EXPECT_NE(left_out.err.find("test device_local_read_sm is not measured here: no kernel here reads"
                              " without writing"),
            std::string::npos)
      << left_out.err;
  EXPECT_EQ(run({"nvbandwidth", "-F", "perf"}).exit_code, kExitUsage);
  const Ended pair = run({"nvbandwidth", "--pair", "GPU-1", "0"});
  EXPECT_EQ(pair.exit_code, kExitUsage);
  EXPECT_NE(pair.err.find("--pair: \"0\" is no UUID of a GPU"), std::string::npos) << pair.err;
  EXPECT_EQ(run({"nvbandwidth", "--frob"}).exit_code, kExitUsage);
  EXPECT_EQ(run({"gdrcopy_copybw", "-t", "x"}).exit_code, kExitUsage);
  EXPECT_EQ(run({"nvbandwidth", "--set", "iterations=many"}).exit_code, kExitUsage);
  EXPECT_EQ(run({"nvbandwidth", "-l"}).exit_code, kExitPassed);
}

}  // namespace
}  // namespace railgauge
