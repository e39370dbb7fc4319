// Compares OSU's command lines and settings with the kernels that replace them.
#include <gmock/gmock.h>

#include "kernels/catalog.h"
#include "kernels/peers/osu/profile.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Words = std::vector<std::string>;

Words read(const char* program, const Words& words) {
  const auto line = read_osu_command(*find_osu_program(program), words);
  return line ? *line : Words{line.error().message};
}

TEST(OsuProfile, IsLegalForEveryProgramsKernel) {
  for (const OsuProgram& program : osu_programs()) {
    SCOPED_TRACE(program.name);
    const KernelRow* row = find_kernel(program.kernel);
    ASSERT_NE(row, nullptr);
    const auto given = with_profile(kOsuProfile, program.kernel, {});
    ASSERT_TRUE(given) << given.error().message;
    const auto params = Params::parse(row->info(), *given);
    ASSERT_TRUE(params) << params.error().message;
    for (const auto& [name, value] : *given) EXPECT_EQ(params->effective().at(name), value) << name;
  }
  EXPECT_FALSE(with_profile(kOsuProfile, "verbs.write_bw", {}));
}

TEST(OsuProfile, CoversEveryMpiKernel) {
  for (const KernelRow& row : catalog())
    if (row.info().name().starts_with("mpi.")) {
      EXPECT_NE(osu_program_of(row.info().name()), nullptr) << row.info().name();
    }
}

TEST(OsuProfile, HasTheToolsCounts) {
  const auto latency = osu_defaults(*find_osu_program("osu_latency"));
  EXPECT_THAT(latency,
              Contains(Pair("sizes", ::testing::AllOf(::testing::StartsWith("0,1,2,4,"),
                                                      ::testing::EndsWith(",2MiB,4MiB")))));
  EXPECT_THAT(latency, Contains(Pair("iterations", "10000")));
  EXPECT_THAT(latency, Contains(Pair("large_iterations", "1000")));
  EXPECT_THAT(latency, Contains(Pair("skip", "100")));
  const auto bandwidth = osu_defaults(*find_osu_program("osu_bw"));
  EXPECT_THAT(bandwidth, Contains(Pair("window", "64")));
  EXPECT_THAT(bandwidth, Contains(Pair("large_iterations", "20")));
  const auto reduction = osu_defaults(*find_osu_program("osu_allreduce"));
  EXPECT_THAT(reduction, Contains(Pair("sizes", "4:1MiB")));
  EXPECT_THAT(reduction, Contains(Pair("iterations", "1000")));
}

TEST(OsuCommand, PutsMessagesWhereItIsTold) {
  const Words line = read("osu_latency", {"-d", "cuda", "D", "D"});
  EXPECT_EQ(line[0], "mpi.lat");
  EXPECT_THAT(line, Contains("memory=device"));
  EXPECT_THAT(line, Not(Contains(HasSubstr("peer_memory"))));
  const Words mixed = read("osu_bw", {"-d", "cuda", "H", "MD", "--format", "json"});
  EXPECT_THAT(mixed, Contains("memory=host"));
  EXPECT_THAT(mixed, Contains("peer_memory=managed"));
  EXPECT_THAT(mixed, Contains("--format"));
  EXPECT_THAT(mixed, Contains("json"));
  EXPECT_THAT(read("osu_allreduce", {"-d", "cuda"}), Contains("memory=device"));
  EXPECT_THAT(read("osu_allreduce", {"--accelerator=managed"}), Contains("memory=managed"));
}

TEST(OsuCommand, TakesSizesCountsAndWindow) {
  const Words line = read("osu_bw", {"-m", "8:64", "-i", "7", "-x", "3", "--window-size=16", "-c"});
  for (const char* word :
       {"sizes=8:64", "iterations=7", "large_iterations=7", "skip=3", "large_skip=3", "window=16"})
    EXPECT_THAT(line, Contains(word));
  EXPECT_THAT(read("osu_latency", {"-m", "4"}), Contains("sizes=0,1,2,4"));
  EXPECT_THAT(read("osu_barrier", {"-i", "9"}), Contains("iterations=9"));
  EXPECT_THAT(read("osu_barrier", {"-i", "9"}), Not(Contains("large_iterations=9")));
}

TEST(OsuCommand, SaysWhatItDoesNotRead) {
  for (const Words& words : {Words{"-d", "rocm"}, Words{"-T", "mpi_int"}, Words{"-m", "64:8"},
                             Words{"D"}, Words{"X", "Y"}, Words{"-m"}})
    EXPECT_EQ(read("osu_latency", words).size(), 1U) << words[0];
  EXPECT_EQ(read("osu_bcast", {"D", "D"}).size(), 1U);
  EXPECT_EQ(find_osu_program("osu_nothing"), nullptr);
  EXPECT_EQ(find_mpi_spelling("MPI_Allreduce")->kernel, "mpi.all_reduce");
  EXPECT_EQ(find_mpi_spelling(""), nullptr);
}

TEST(OsuCommand, RefusesAnOddWordInOneLine) {
  const Words line = read("osu_bw", {"-h\x1b[31m\n"});
  ASSERT_EQ(line.size(), 1U);
  EXPECT_THAT(line[0], HasSubstr("\"-h?[31m?\": is not read"));
}

}  // namespace
}  // namespace railgauge
