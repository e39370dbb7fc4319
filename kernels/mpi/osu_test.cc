// Compares OSU's command lines and settings with the kernels that replace them.
#include <gmock/gmock.h>

#include "kernels/catalog.h"
#include "kernels/peers/osu/profile.h"
#include "kernels/peers/osu/table.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
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

// A program of another form of the same call has the settings of its own.
TEST(OsuProfile, IsLegalInEachProgramsOwnForm) {
  for (const OsuProgram& program : osu_programs()) {
    SCOPED_TRACE(program.name);
    const auto defaults = osu_defaults(program);
    const auto params = Params::parse(find_kernel(program.kernel)->info(), defaults);
    ASSERT_TRUE(params) << params.error().message;
    if (!program.call.empty()) {
      EXPECT_EQ(params->effective().at("call"), program.call);
    }
  }
}

TEST(OsuProfile, CoversEveryMpiKernel) {
  for (const KernelRow& row : catalog())
    // OSU's own releases have no gets of several pairs.
    if (row.info().name().starts_with("mpi.") && !row.info().name().starts_with("mpi.get_multi_")) {
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
  EXPECT_THAT(bandwidth, Contains(Pair("buffers", "single")));
  EXPECT_THAT(osu_defaults(*find_osu_program("osu_put_bw")), Not(Contains(Key("buffers"))));
  EXPECT_THAT(osu_defaults(*find_osu_program("osu_mbw_mr")), Not(Contains(Key("over_ranks"))));
  const auto reduction = osu_defaults(*find_osu_program("osu_allreduce"));
  EXPECT_THAT(reduction, Contains(Pair("sizes", "4:1MiB")));
  EXPECT_THAT(reduction, Contains(Pair("iterations", "1000")));
  EXPECT_THAT(reduction, Contains(Pair("over_ranks", "mean")));
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

TEST(OsuCommand, GivesEachMessageItsPlaceWhereToldSo) {
  EXPECT_THAT(read("osu_bw", {"-b", "multiple"}), Contains("buffers=each"));
  EXPECT_THAT(read("osu_mbw_mr", {"--buffer-num=single"}), Contains("buffers=single"));
  for (const Words& words : {Words{"-b", "many"}, Words{"-b"}})
    EXPECT_EQ(read("osu_bw", words).size(), 1U);
  EXPECT_THAT(read("osu_put_bw", {"-b", "single"})[0], HasSubstr("osu_put_bw has no such choice"));
}

TEST(OsuCommand, ChoosesTheFormOfACall) {
  EXPECT_THAT(read("osu_iallreduce", {"-t", "3"}), Contains("call=nonblocking"));
  EXPECT_THAT(read("osu_iallreduce", {"-t", "3"}), Contains("polls=3"));
  EXPECT_THAT(read("osu_allreduce", {"-t", "3"})[0], HasSubstr("computes nothing beside"));
  EXPECT_THAT(read("osu_gather_persistent", {"-k", "1"}), Contains("call=persistent"));
  EXPECT_THAT(read("osu_gather_persistent", {"-k", "1"}), Contains("root=1"));
  EXPECT_THAT(read("osu_allgather", {"-k", "1"})[0], HasSubstr("has no root"));
  EXPECT_THAT(read("osu_put_latency", {"-w", "create", "-s", "flush"}), Contains("sizes=1:4MiB"));
  EXPECT_THAT(read("osu_put_latency", {"-s", "fence"}), Contains("sync=fence"));
  EXPECT_THAT(read("osu_put_latency", {"-s", "flush_local"})[0], HasSubstr("pscw"));
  EXPECT_THAT(read("osu_fop_latency", {"-s", "fence"})[0], HasSubstr("flush alone"));
  EXPECT_THAT(read("osu_allreduce", {"-l"}), Contains("in_place=true"));
  EXPECT_THAT(read("osu_bcast", {"-l"})[0], HasSubstr("has no such form"));
  EXPECT_THAT(read("osu_latency_mt", {"-t", "4:4"}), Contains("threads=4"));
  EXPECT_THAT(read("osu_latency_mt", {"-t", "4:2"})[0], HasSubstr("as many threads"));
  EXPECT_THAT(read("osu_fop_latency", {"-i", "9"}), Not(Contains(HasSubstr("sizes="))));
  EXPECT_EQ(read("osu_init", {}), (Words{"mpi.init", "--set", "over_ranks=mean"}));
  EXPECT_THAT(osu_help(*find_osu_program("osu_iallreduce")),
              HasSubstr("by mpi.all_reduce with call=nonblocking"));
  EXPECT_THAT(osu_help(*find_osu_program("osu_bw")), HasSubstr("-W, --window-size VALUE\n"));
}

RunnerReport report_with(const char* metric, double bytes) {
  RunnerReport report;
  report.set_outcome("passed");
  Point* point = report.add_points();
  point->set_metric(metric);
  point->set_message_bytes(bytes);
  point->set_sample_count(100);
  point->set_median(1000);
  point->set_mean(2345);
  return report;
}

// The columns are OSU's: a script that reads the second one gets the figure it knows.
TEST(OsuTable, ShowsTheMeanOverRanksWithTheLeastAndTheMost) {
  RunnerReport report = report_with("latency_ns", 4096);
  auto& facts = *report.mutable_points(0)->mutable_facts();
  facts["least_rank_mean_ns"] = "1500.0";
  facts["most_rank_mean_ns"] = "3500.0";
  Point* rank = report.add_points();
  *rank = report.points(0);
  rank->set_pair("rank1");
  const std::string text = osu_table(*find_osu_program("osu_allreduce"), report, {});
  EXPECT_THAT(text, HasSubstr("# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  "
                              "Iterations\n  4096             2.35             1.50             "
                              "3.50         100\n"));
  EXPECT_THAT(text, Not(HasSubstr("rank1")));
}

TEST(OsuTable, ShowsAllMessagesOverTheMeanOfThePairsTimes) {
  RunnerReport report = report_with("message_rate_per_second", 8);
  report.mutable_points(0)->set_rate(2.5e6);
  const std::string text = osu_table(*find_osu_program("osu_mbw_mr"), report, {});
  EXPECT_THAT(text, HasSubstr("# Size   MB/s  Messages/s\n     8  20.00  2500000.00\n"));
  report.mutable_points(0)->clear_rate();
  EXPECT_THAT(osu_table(*find_osu_program("osu_mbw_mr"), report, {}), HasSubstr("     8     -"));
}

TEST(OsuTable, ShowsWhatAComputationHides) {
  RunnerReport report = report_with("latency_ns", 8);
  auto& facts = *report.mutable_points(0)->mutable_facts();
  for (const auto& [name, value] : {std::pair{"overall_ns", "5000.0"},
                                    {"compute_ns", "2345"},
                                    {"least_rank_mean_ns", "2000.0"},
                                    {"most_rank_mean_ns", "3000.0"},
                                    {"overlap_percent", "12.5"}})
    facts[name] = value;
  *report.add_points() = report.points(0);
  report.mutable_points(1)->set_metric("exposed_ns");
  const std::string text = osu_table(*find_osu_program("osu_iallreduce"), report, {});
  EXPECT_THAT(text, HasSubstr("Overlap(%)\n     8         5.00         2.35            2.35"));
  EXPECT_THAT(text, HasSubstr("2.00                3.00       12.50\n"));
  EXPECT_EQ(text.find("     8 "), text.rfind("     8 ")) << "its other point is no row";
}

TEST(OsuTable, ShowsABandwidthInMillionsOfBytes) {
  RunnerReport report = report_with("bandwidth_bytes_per_second", 65536);
  report.mutable_points(0)->set_rate(12.5e9);
  EXPECT_THAT(osu_table(*find_osu_program("osu_bw"), report, {}),
              HasSubstr(" 65536          12500.00\n"));
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
  const Words line = read("osu_bw", {"-q\x1b[31m\n"});
  ASSERT_EQ(line.size(), 1U);
  EXPECT_THAT(line[0], HasSubstr("\"-q\\x1b[31m\\n\": is not read"));
}

}  // namespace
}  // namespace railgauge
