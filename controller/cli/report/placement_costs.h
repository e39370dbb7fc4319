// What the far NUMA node costs: figures that one run measured from both sides, held against each
// other. Pure.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// One for each figure of which the run has passed points with the parameter `numa` near and far,
// all else that tells figures apart being the same: run, kernel and revision, endpoints, metric,
// meaning, pair, size, and the parameters but for those that only say how long and how precisely to
// measure. Of several points of one side the median of their medians counts. Points of a task that
// was not bound to a node, or whose host memory Linux did not place (facts `numa`, `host_node`),
// are on no known side and count for none. In the points' order.
std::vector<NearFarRatio> near_far_ratios(
    const google::protobuf::RepeatedPtrField<railgauge::api::ResultPoint>& points);

// As a table with an empty line before it; "" for none.
std::string near_far_table(const google::protobuf::RepeatedPtrField<NearFarRatio>& ratios,
                           bool colour);

// From passed loopback points of latency and bandwidth whose task knows the distance and used the
// GPU: one for each figure, GPU and distance, the nearest first. A figure is: run, kernel and
// revision, metric, meaning, pair, size, and the parameters but gpu and those that only say how
// long and how precisely to measure. Of several points of one pair of GPU and port the median of
// their medians counts. What is at an unknown distance is told, and held against nothing.
std::vector<DistanceCost> distance_costs(
    const google::protobuf::RepeatedPtrField<railgauge::api::ResultPoint>& points);

// As a table with an empty line before it; "" for none.
std::string distance_table(const google::protobuf::RepeatedPtrField<DistanceCost>& costs,
                           bool colour);

}  // namespace railgauge::cli
