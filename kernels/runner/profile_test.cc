#include "kernels/peers/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/rows.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const KernelRow* find(std::string_view name) {
  for (const KernelRow& row : testing_rows::peer_rows())
    if (row.info().name() == name) return &row;
  return nullptr;
}

ProfileOptions nvbandwidth(std::vector<std::string> tests) {
  return {.name = "nvbandwidth", .tool = "nvbandwidth", .tests = std::move(tests)};
}

std::vector<std::string> endpoints(const std::vector<ProfileTask>& tasks) {
  std::vector<std::string> out;
  out.reserve(tasks.size());
  for (const ProfileTask& task : tasks)
    out.push_back(std::string(task.row->test) + "@" + task.endpoint);
  return out;
}

Point point_of(const std::string& pair, double median, double bytes = 512 << 20) {
  Point point;
  point.set_metric("bandwidth_bytes_per_second");
  point.set_unit("bytes_per_second");
  point.set_larger_is_better(true);
  point.set_pair(pair);
  point.set_median(median);
  point.set_min(0.9 * median);
  point.set_max(1.1 * median);
  point.set_message_bytes(bytes);
  return point;
}

RunnerReport report_of(const std::string& endpoint, std::vector<Point> points) {
  RunnerReport report;
  report.set_outcome(std::string(kPassed));
  report.mutable_started()->set_endpoint(endpoint);
  for (Point& point : points) *report.add_points() = std::move(point);
  return report;
}

TEST(Profile, TakesEachGpuWhereTheTestTakesOneAndAllAtOnceElse) {
  const auto options = nvbandwidth({"host_to_device_memcpy_ce", "device_to_device_memcpy_read_ce"});
  EXPECT_THAT(endpoints(profile_tasks(options, find, 2)),
              ElementsAre("host_to_device_memcpy_ce@gpu0", "host_to_device_memcpy_ce@gpu1",
                          "device_to_device_memcpy_read_ce@"));
  EXPECT_THAT(endpoints(profile_tasks(options, find, 0)),
              ElementsAre("host_to_device_memcpy_ce@", "device_to_device_memcpy_read_ce@"))
      << "the kernel says what is missing";
}

TEST(Profile, HasTheToolsSizesAndCountsUnlessToldOtherwise) {
  auto options = nvbandwidth({"host_to_device_memcpy_ce"});
  auto parameters = profile_tasks(options, find, 1).at(0).parameters;
  EXPECT_EQ(parameters.at("sizes"), "512MiB");
  EXPECT_EQ(parameters.at("iterations"), "3");
  EXPECT_EQ(parameters.at("copies"), "16");
  options.buffer_bytes = 64 << 20;
  options.samples = 5;
  parameters = profile_tasks(options, find, 1).at(0).parameters;
  EXPECT_EQ(parameters.at("sizes"), "64MiB");
  EXPECT_EQ(parameters.at("iterations"), "5");
  options.samples.reset();
  options.adaptive = true;
  EXPECT_FALSE(profile_tasks(options, find, 1).at(0).parameters.contains("iterations"));
}

TEST(Profile, APairIsThatOfTestsBetweenTwoGpusAlone) {
  auto options = nvbandwidth({"device_to_device_memcpy_read_ce", "host_to_device_memcpy_ce",
                              "all_to_one_write_ce", "device_to_device_latency_sm"});
  options.pair = "GPU-1,GPU-0";
  std::vector<std::string> gpus;
  for (const ProfileTask& task : profile_tasks(options, find, 1))
    gpus.push_back(task.parameters.contains("gpus") ? task.parameters.at("gpus") : "");
  EXPECT_THAT(gpus, ElementsAre("GPU-1,GPU-0", "", "", "GPU-1,GPU-0"));
}

TEST(Profile, PassesParametersOnToKernelsThatDeclareThem) {
  auto options = nvbandwidth({"host_to_device_memcpy_ce"});
  options.parameters = {{"act", "waive"}, {"unknown", "1"}};
  const auto parameters = profile_tasks(options, find, 1).at(0).parameters;
  EXPECT_EQ(parameters.at("act"), "waive");
  EXPECT_FALSE(parameters.contains("unknown"));
}

TEST(Profile, PutsPeersWhereTheToolPutsThem) {
  const PeerTest& write = *find_peer_tests("nvbandwidth", "device_to_device_memcpy_write_ce")[0];
  ProfileCell cell = cell_of(write, point_of("gpu0>gpu1", 100e9), "", false);
  EXPECT_EQ(cell.row() + "," + cell.column(), "gpu0,gpu1");
  EXPECT_DOUBLE_EQ(cell.value(), 100);
  const PeerTest& read = *find_peer_tests("nvbandwidth", "device_to_device_memcpy_read_ce")[0];
  cell = cell_of(read, point_of("gpu0>gpu1", 100e9), "", false);
  EXPECT_EQ(cell.row() + "," + cell.column(), "gpu1,gpu0");
}

TEST(Profile, AColumnIsTheTasksGpuElseThePairs) {
  const PeerTest& host = *find_peer_tests("nvbandwidth", "host_to_device_memcpy_ce")[0];
  EXPECT_EQ(cell_of(host, point_of("host>gpu1", 1), "gpu1", false).column(), "gpu1");
  const PeerTest& all = *find_peer_tests("nvbandwidth", "all_to_host_memcpy_ce")[0];
  EXPECT_EQ(cell_of(all, point_of("gpu3>host", 1), "", false).column(), "gpu3");
  EXPECT_EQ(cell_of(all, point_of("host>gpu3", 1), "", false).column(), "gpu3");
}

TEST(Profile, SumsAndMediansAreOfAllGpusOrNotThere) {
  const PeerTest& row = *find_peer_tests("nvbandwidth", "host_to_device_memcpy_ce")[0];
  std::vector<RunnerReport> reports{report_of("gpu0", {point_of("host>gpu0", 50e9)}),
                                    report_of("gpu1", {point_of("host>gpu1", 54e9)})};
  EXPECT_DOUBLE_EQ(figure_of(row, reports).sum(), 104);
  EXPECT_DOUBLE_EQ(figure_of(row, reports).median(), 52);
  reports.push_back(report_of("gpu2", {point_of("host>gpu2", 999e9)}));
  reports[2].set_outcome(std::string(kWaived));
  const ProfileFigure part = figure_of(row, reports);
  EXPECT_EQ(part.cells_size(), 2);
  EXPECT_FALSE(part.has_sum());
  EXPECT_FALSE(part.has_median());
  EXPECT_EQ(part.reports_size(), 3);
}

TEST(Profile, ATaskThatDidNotPassHasALineWithoutAValue) {
  const PeerTest& row = *find_peer_tests("nvbandwidth", "host_to_device_memcpy_ce")[0];
  std::vector<RunnerReport> reports{report_of("gpu0", {point_of("host>gpu0", 50e9)}),
                                    report_of("gpu1", {})};
  reports[1].set_outcome(std::string(kWaived));
  ProfileReport report;
  ProfileTest& test = *report.add_tests();
  test.set_test("host_to_device_memcpy_ce");
  test.set_outcome(std::string(kPassed));
  *test.add_figures() = figure_of(row, reports);
  EXPECT_EQ(profile_csv(report),
            "test,kernel,unit,row,column,value,throttled,outcome,wide,visits\n"
            "host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,,gpu0,50,false,passed,false,1\n"
            "host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,,gpu1,,,waived,,\n");
}

TEST(Profile, SeveralSizesAreRowsWithoutASum) {
  const PeerTest& row = *find_peer_tests("gdrcopy", "copybw")[0];
  const std::vector<RunnerReport> reports{
      report_of("gpu0", {point_of("", 1 << 20, 4096), point_of("", 2 << 20, 8192)})};
  const ProfileFigure figure = figure_of(row, reports);
  EXPECT_FALSE(figure.has_sum());
  EXPECT_FALSE(figure.has_median());
  ASSERT_EQ(figure.cells_size(), 2);
  EXPECT_EQ(figure.cells(1).row(), "8 KiB");
  EXPECT_DOUBLE_EQ(figure.cells(1).value(), 2);
}

TEST(Profile, MetricsOfOneRunAreColumnsWithoutASum) {
  const PeerTest& row = *find_peer_tests("gdrcopy", "apiperf")[0];
  std::vector<Point> points;
  double value_ns = 1000;
  for (const double bytes : {65536.0, 131072.0})
    for (const char* metric : {"pin_ns", "map_ns", "unmap_ns", "unpin_ns"}) {
      points.push_back(point_of("", value_ns, bytes));
      points.back().set_metric(metric);
      value_ns *= 2;
    }
  points.push_back(point_of("", 7, 65536));  // another figure of the kernel
  ProfileTest test;
  test.set_test("apiperf");
  test.set_outcome(std::string(kPassed));
  test.set_duration_seconds(0.5);
  for (const std::size_t count : {4U, 9U}) {  // one size, and two
    const std::vector<Point> some(points.begin(), points.begin() + static_cast<long>(count));
    const ProfileFigure figure = figure_of(row, std::vector<RunnerReport>{report_of("gpu0", some)});
    EXPECT_FALSE(figure.has_sum());
    EXPECT_FALSE(figure.has_median());
    test.clear_figures();
    *test.add_figures() = figure;
  }
  EXPECT_EQ(profile_test_text(test, "gdrcopy"),
            "apiperf, us, by bar.map_cost\n"
            "            pin     map   unmap   unpin\n"
            " 64 KiB  1.0000  2.0000  4.0000  8.0000\n"
            "128 KiB   16.00   32.00   64.00  128.00\n"
            "apiperf took 0.50 s\n\n");
}

TEST(Profile, VisitsNoisyTasksInTurnAsLongAsTheListsTimeLasts) {
  std::vector<Visited> noisy{{1, 0.5}, {1, 0.2}, {1, 0.9}};
  EXPECT_EQ(next_visit(noisy, 10), 0U);
  ++noisy[0].visits;
  EXPECT_EQ(next_visit(noisy, 10), 1U);
  EXPECT_EQ(next_visit(noisy, 0.6), 1U);
  noisy[1].visits = noisy[2].visits = 2;
  EXPECT_EQ(next_visit(noisy, 0.8), 0U);
  EXPECT_EQ(next_visit(noisy, 0.3), 1U) << "the others would not end in time";
  EXPECT_EQ(next_visit(noisy, 0.1), std::nullopt);
  EXPECT_EQ(next_visit(noisy, -1), std::nullopt);
  for (Visited& each : noisy) each.visits = 9;
  EXPECT_EQ(next_visit(noisy, 10), std::nullopt) << "enough of each";
  EXPECT_EQ(next_visit({}, 10), std::nullopt);
}

TEST(Profile, VisitsNothingAgainWhoseTimeTheCallerSet) {
  auto options = nvbandwidth({"host_to_device_memcpy_ce"});
  EXPECT_FALSE(visits_again(options)) << "the tool's own counts";
  options.adaptive = true;
  EXPECT_TRUE(visits_again(options));
  options.parameters = {{"time_cap", "2s"}};
  EXPECT_FALSE(visits_again(options));
}

// 43 tasks on two GPUs beside nvbandwidth's 62 s, 18 on one beside its 20; contexts come on top.
TEST(Profile, AListsTimeIsBelowAQuarterOfTheTools) {
  EXPECT_LT(list_seconds(43, 2), 62.0 / 4 - 1.3);
  EXPECT_LT(list_seconds(18, 1), 20.0 / 4 - 0.3);
  EXPECT_EQ(list_seconds(0, 2), 0) << "what waives gives none of its time";
  EXPECT_EQ(list_seconds(2, 0), list_seconds(2, 1));
}

// Copies of two speeds: their median is one of them, all bytes over all time is neither.
TEST(Profile, AWidePointIsAllBytesOverAllTimeAsTheToolHasIt) {
  const PeerTest& row = *find_peer_tests("nvbandwidth", "host_to_device_memcpy_ce")[0];
  Point point = point_of("host>gpu0", 50e9);
  point.set_mean(45e9);
  (*point.mutable_facts())["mean_is"] = "all bytes over all time";
  point.set_stop_reason("converged");
  point.set_converged(true);
  EXPECT_DOUBLE_EQ(cell_of(row, point, "gpu0", false).value(), 50);
  point.set_stop_reason("time_cap");
  point.set_converged(false);
  EXPECT_DOUBLE_EQ(cell_of(row, point, "gpu0", false).value(), 45);
  point.set_stop_reason("iterations");  // the tool's own three samples, each of sixteen copies
  EXPECT_DOUBLE_EQ(cell_of(row, point, "gpu0", false).value(), 50);
  point.set_stop_reason("time_cap");
  point.set_min(49.6e9);
  point.set_max(50.4e9);
  EXPECT_DOUBLE_EQ(cell_of(row, point, "gpu0", false).value(), 50)
      << "a few copies of one speed are not wide";
  point.set_min(40e9);
  point.clear_facts();
  EXPECT_DOUBLE_EQ(cell_of(row, point, "gpu0", false).value(), 50) << "a mean of other things";
}

TEST(Profile, OfSeveralVisitsACellHasTheMedian) {
  const PeerTest& row = *find_peer_tests("nvbandwidth", "host_to_device_memcpy_ce")[0];
  const auto wide = [](const std::string& gpu, double median) {
    Point point = point_of("host>" + gpu, median);
    point.set_stop_reason("time_cap");
    return report_of(gpu, {point});
  };
  std::vector<RunnerReport> reports{wide("gpu0", 50e9), wide("gpu1", 30e9), wide("gpu0", 20e9)};
  ProfileFigure figure = figure_of(row, reports);
  ASSERT_EQ(figure.cells_size(), 2);
  EXPECT_DOUBLE_EQ(figure.cells(0).value(), 35);
  EXPECT_EQ(figure.cells(0).visits(), 2U);
  EXPECT_TRUE(figure.cells(0).wide());
  EXPECT_EQ(figure.cells(1).visits(), 1U);
  EXPECT_DOUBLE_EQ(figure.sum(), 65) << "each GPU once";
  reports.push_back(report_of("gpu0", {point_of("host>gpu0", 48e9)}));
  figure = figure_of(row, reports);
  EXPECT_DOUBLE_EQ(figure.cells(0).value(), 48);
  EXPECT_EQ(figure.cells(0).visits(), 3U);
  EXPECT_FALSE(figure.cells(0).wide()) << "narrow once";
  EXPECT_EQ(figure.reports_size(), 4);
}

TEST(Profile, PrintsAMatrixWithSumMedianAndTime) {
  const PeerTest& row = *find_peer_tests("nvbandwidth", "device_to_device_memcpy_write_ce")[0];
  Point slow = point_of("gpu1>gpu0", 200e9);
  slow.set_throttled(true);
  Point wide = point_of("gpu0>gpu1", 100.25e9);
  wide.set_converged(false);
  wide.set_stop_reason("time_cap");
  const std::vector<RunnerReport> reports{report_of("", {wide, slow})};
  ProfileTest test;
  test.set_test("device_to_device_memcpy_write_ce");
  test.set_outcome(std::string(kPassed));
  test.set_duration_seconds(1.25);
  *test.add_figures() = figure_of(row, reports);
  EXPECT_EQ(profile_test_text(test, "nvbandwidth"),
            "device_to_device_memcpy_write_ce, GB/s (10^9 bytes), from the row's GPU to the "
            "column's, by cuda.peer_copy_bw\n"
            "          gpu0      gpu1\n"
            "gpu0         -  * 100.25\n"
            "gpu1  ! 200.00         -\n"
            "SUM 300.25  median 150.12\n"
            "! the GPU's clocks were held down meanwhile\n"
            "* the interval is wider than asked: stopped by the time cap\n"
            "device_to_device_memcpy_write_ce took 1.25 s\n\n");
}

// The larger of two cells; a point of another metric is not the test's.
TEST(Profile, PrintsTheLargestCoefficientOfVariationOfACell) {
  const PeerTest& row = *find_peer_tests("nvbandwidth", "device_to_device_memcpy_write_ce")[0];
  const auto varied = [](const char* pair, double stddev) {
    Point point = point_of(pair, 100e9);
    point.set_mean(100e9);
    point.set_stddev(stddev);
    return point;
  };
  Point other = varied("gpu0>gpu1", 90e9);
  other.set_metric("temperature");
  ProfileTest test;
  test.set_outcome(std::string(kPassed));
  *test.add_figures() =
      figure_of(row, std::vector<RunnerReport>{report_of(
                         "", {varied("gpu0>gpu1", 1e9), varied("gpu1>gpu0", 2.5e9), other})});
  EXPECT_THAT(profile_test_text(test, "nvbandwidth"),
              HasSubstr("\ncoefficient of variation of a cell's samples: at most 0.0250\n"));
}

TEST(Profile, SaysWhyATestHasNoFigureAndThatMibPerSecondIsMeant) {
  ProfileTest test;
  test.set_test("copybw");
  test.set_outcome(std::string(kWaived));
  test.set_reason("no GPU");
  test.add_figures();
  EXPECT_THAT(profile_test_text(test, "gdrcopy"), HasSubstr("copybw: waived: no GPU\n"));
  const PeerTest& row = *find_peer_tests("gdrcopy", "copybw")[0];
  *test.mutable_figures(0) =
      figure_of(row, std::vector<RunnerReport>{report_of("gpu0", {point_of("", 1 << 20)})});
  EXPECT_THAT(profile_test_text(test, "gdrcopy"), HasSubstr("MB/s as gdrcopy has it (2^20 bytes)"));
}

TEST(Profile, TheWorstOutcomeCountsAndWaivedBesidePassedIsPassed) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(combined_outcome(Words{"passed", "waived"}), kPassed);
  EXPECT_EQ(combined_outcome(Words{"waived", "waived"}), kWaived);
  EXPECT_EQ(combined_outcome(Words{"passed", "crashed", "failed"}), kFailed);
  EXPECT_EQ(combined_outcome(Words{}), kCrashed) << "missing data never passes";
}

}  // namespace
}  // namespace railgauge
