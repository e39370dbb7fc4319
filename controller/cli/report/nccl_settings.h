// Ranks NCCL's settings by the figures of one run that measured several of them, for each size.
// Pure.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// Compares collectives that a run measured at one size with two settings or more, where all else
// that distinguishes figures is equal. One entry for each setting, best first, by the median of its
// tasks' headlines: the rate of a rate, else the median. A rank is one more than the number of
// settings whose whole interval is better, so settings with overlapping intervals share a rank. The
// figure is the slowest rank's: latency up to 1 MiB, above it bus bandwidth, or algbw with one
// rank. Only passed points count. A setting of `tasks` (the run's) without such a figure comes
// last, with the reason, where another has one. In the points' order.
std::vector<NcclSettingRank> nccl_setting_ranks(
    const google::protobuf::RepeatedPtrField<api::ResultPoint>& points,
    const google::protobuf::RepeatedPtrField<api::TaskDetail>& tasks);

// Renders the ranks as a table after an empty line; "" without ranks.
std::string nccl_settings_table(const google::protobuf::RepeatedPtrField<NcclSettingRank>& ranks,
                                bool colour);

}  // namespace railgauge::cli
