// Compares figures of one run that differ in placement alone: near and far NUMA node, and the
// distance between GPU and NIC. Pure.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// One ratio for each figure with passed points on both sides (parameter `numa` near and far). All
// else that distinguishes figures is equal: run, kernel and revision, endpoints, metric, meaning,
// pair, size and all parameters but those of effort. Several points of one side count by the median
// of their medians. Points of a task that was not bound to a node, or whose host memory Linux did
// not place (facts `numa`, `host_node`), are on no known side and are left out. In the points'
// order.
std::vector<NearFarRatio> near_far_ratios(
    const google::protobuf::RepeatedPtrField<api::ResultPoint>& points);

// As a table with an empty line before it; "" for none.
std::string near_far_table(const google::protobuf::RepeatedPtrField<NearFarRatio>& ratios,
                           bool colour);

// From passed loopback points of latency and bandwidth of tasks that know the distance and used the
// GPU: one entry for each figure, GPU and distance, the nearest first. A figure is run, kernel and
// revision, metric, meaning, pair, size, and all parameters but gpu and those of effort. Several
// points of one GPU and port count by the median of their medians. An unknown distance is listed
// and compared with nothing.
std::vector<DistanceCost> distance_costs(
    const google::protobuf::RepeatedPtrField<api::ResultPoint>& points);

// As a table with an empty line before it; "" for none.
std::string distance_table(const google::protobuf::RepeatedPtrField<DistanceCost>& costs,
                           bool colour);

}  // namespace railgauge::cli
