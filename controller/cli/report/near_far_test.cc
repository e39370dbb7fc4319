#include "controller/cli/report/placement_costs.h"

#include <gmock/gmock.h>

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;
using ::testing::HasSubstr;
using Points = google::protobuf::RepeatedPtrField<ResultPoint>;

ResultPoint point(const std::string& side, double median) {
  ResultPoint made;
  made.set_run_id("r1");
  made.set_kernel("cuda.host_copy_bw");
  made.set_revision(1);
  made.add_endpoints("n1/gpu0");
  made.set_outcome("passed");
  (*made.mutable_parameters())["numa"] = side;
  (*made.mutable_parameters())["direction"] = "h2d";
  made.mutable_point()->set_metric("bandwidth_bytes_per_second");
  made.mutable_point()->set_unit("bytes_per_second");
  made.mutable_point()->set_meaning("unidirectional");
  made.mutable_point()->set_message_bytes(1024);
  made.mutable_point()->set_median(median);
  return made;
}

Points points(const std::vector<ResultPoint>& all) { return {all.begin(), all.end()}; }

TEST(NearFar, IsTheRatioOfWhatOneRunMeasuredFromBothSides) {
  const auto ratios = near_far_ratios(points({point("near", 50e9), point("far", 40e9)}));
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_EQ(ratios[0].endpoints(0), "n1/gpu0");
  EXPECT_EQ(ratios[0].near(), 50e9);
  EXPECT_EQ(ratios[0].far(), 40e9);
  EXPECT_DOUBLE_EQ(ratios[0].near_over_far(), 1.25);
  EXPECT_EQ(ratios[0].parameters().count("numa"), 0U);
}

TEST(NearFar, HoldsNothingAgainstAnotherFigure) {
  const auto changed = [](const auto& change) {
    ResultPoint far = point("far", 40e9);
    change(far);
    return near_far_ratios(points({point("near", 50e9), far})).size();
  };
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_run_id("r2"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_kernel("bar.write_bw"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_revision(2); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_endpoints(0, "n1/gpu1"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_parameters())["direction"] = "d2h"; }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_parameters())["numa"] = "any"; }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_metric("latency_ns"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_meaning("copied_once"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_pair("bar"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_message_bytes(4); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_median(0); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_outcome("failed"); }), 0U) << "no figure counts";
  EXPECT_EQ(changed([](ResultPoint& p) {
              (*p.mutable_facts())["host_node"] = "not told: Operation not permitted (errno 1)";
            }),
            0U)
      << "it may be near";
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_facts())["gpu1_host_node"] = "not told: x"; }),
            0U);
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_facts())["numa"] = "not bound: 2 nodes"; }),
            0U);
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_facts())["host_node"] = "1"; }), 1U);
  // How long was measured is no other figure.
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_parameters())["time_cap"] = "1s"; }), 1U);
}

TEST(NearFar, TakesTheMedianOfSeveralTasksOfOneSide) {
  const auto ratios =
      near_far_ratios(points({point("near", 10), point("far", 10), point("near", 99),
                              point("near", 20), point("far", 30)}));
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_EQ(ratios[0].near(), 20);
  EXPECT_EQ(ratios[0].far(), 20);
}

TEST(NearFar, IsATableWithWhatTellsItsRowsApart) {
  ResultPoint other_near = point("near", 30e9);
  ResultPoint other_far = point("far", 30e9);
  for (ResultPoint* other : {&other_near, &other_far})
    (*other->mutable_parameters())["direction"] = "d2h";
  const auto ratios =
      near_far_ratios(points({point("near", 50e9), other_near, point("far", 40e9), other_far}));
  const google::protobuf::RepeatedPtrField<NearFarRatio> list(ratios.begin(), ratios.end());
  EXPECT_EQ(near_far_table(list, false),
            "\nnear and far NUMA node\n"
            "ENDPOINTS  KERNEL             PARAMETERS     METRIC                       SIZE        "
            "NEAR         FAR  NEAR/FAR\n"
            "n1/gpu0    cuda.host_copy_bw  direction h2d  bandwidth_bytes_per_second  1 KiB  50.00 "
            "GB/s  40.00 GB/s     1.250\n"
            "n1/gpu0    cuda.host_copy_bw  direction d2h  bandwidth_bytes_per_second  1 KiB  30.00 "
            "GB/s  30.00 GB/s     1.000\n");
  EXPECT_EQ(near_far_table({}, false), "");
}

}  // namespace
}  // namespace railgauge::cli
