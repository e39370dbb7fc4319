// The verb: what it prints and how it ends. Synthetic series.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

// One clear step, a spike and a gap, as a file.
class SampleFile {
 public:
  SampleFile()
      : path_(testing::TempDir() + "analyze_test_series_" + std::to_string(getpid()) + ".csv") {
    std::ofstream file(path_);
    file << "time,value\n";
    const auto values = analysis::step_series(40, 30, 8, 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == 20) {
        file << "2026-01-21,\n";
        continue;
      }
      file << fmt::format("2026-{:02}-{:02},{:.4f}\n", 1 + i / 28, 1 + i % 28,
                          values[i] + (i == 10 ? 25 : 0));
    }
  }
  ~SampleFile() { std::remove(path_.c_str()); }
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using Analyze = Commands;

TEST_F(Analyze, PrintsTheStepAndTheSpike) {
  const SampleFile file;
  EXPECT_EQ(run({"analyze", file.path(), "--direction", "lower"}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("69 points, 1 gap,"));
  EXPECT_THAT(out_, HasSubstr("step"));
  EXPECT_THAT(out_, HasSubstr("worse"));
  EXPECT_THAT(out_, HasSubstr("spike at 10"));
}

TEST_F(Analyze, JsonHasIndexRangeClassAndEffect) {
  const SampleFile file;
  EXPECT_EQ(run({"analyze", file.path(), "--direction", "higher"}, Format::kJson), 0) << err_;
  EXPECT_THAT(out_, testing::StartsWith("{\n  \"schema_version\": 1,\n  \"series\": ["));
  for (const char* key : {"\"file\": ", "\"changes\": [", "\"index\": 40", "\"class\": \"step\"",
                          "\"effect_percent\": ", "\"worse\": false", "\"spikes\": ["})
    EXPECT_THAT(out_, HasSubstr(key));
}

TEST_F(Analyze, WorksOnSeveralFilesAtOnce) {
  const SampleFile file;
  EXPECT_EQ(run({"analyze", file.path(), file.path()}, Format::kNdjson), 0);
  EXPECT_EQ(std::ranges::count(out_, '\n'), 2);
}

TEST_F(Analyze, FewPointsAreSaidToBeFew) {
  const std::string path =
      testing::TempDir() + "analyze_test_two_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "1\n2\n";
  EXPECT_EQ(run({"analyze", path}), 0);
  EXPECT_THAT(out_, HasSubstr("2 points: 12 are needed"));
  std::remove(path.c_str());
}

TEST_F(Analyze, WrongUseIsOneLineAndTwo) {
  EXPECT_EQ(run({"analyze", "/nonexistent/x.csv"}), 2);
  EXPECT_EQ(err_, "railgauge: /nonexistent/x.csv: open: No such file or directory\n");
  EXPECT_EQ(run({"analyze", "/tmp"}), 2);
  EXPECT_EQ(err_, "railgauge: /tmp: read: Is a directory\n");
  EXPECT_EQ(run({"analyze", "x", "--direction", "up"}), 2);
  EXPECT_EQ(err_, "railgauge: --direction: \"up\" is none of higher, lower\n");
  EXPECT_EQ(run({"analyze", "-", "-"}), 2);
}

}  // namespace
}  // namespace railgauge::cli
