// What the distance between a GPU and a NIC of its node costs: loopback figures of one run, by
// distance, held against those of the GPU's nearest NICs. Pure.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

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
