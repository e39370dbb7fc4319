// One upgrade on one screen.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

#include "controller/api/judge.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// What, where, how much, since when, why, what it was not, what to do next.
std::string upgrade_text(const railgauge::api::Upgrade& upgrade, bool colour);

// DESIGN's exit code of a verdict; 4 where there is none.
int exit_code_of_verdict(const railgauge::api::Upgrade& upgrade);

// Levels before and after as bars of one scale, parted by '|'; "" where there is none.
std::string sparkline(const google::protobuf::RepeatedField<double>& before,
                      const google::protobuf::RepeatedField<double>& after);

// The heading, and each line below it; "" where there is none.
std::string headed_lines(const std::string& heading,
                         const google::protobuf::RepeatedPtrField<std::string>& lines);

}  // namespace railgauge::cli
