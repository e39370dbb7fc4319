// What a verdict or a finding shows of its figures and reasons in a few lines.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

namespace railgauge::cli {

// Levels before and after as bars of one scale, parted by '|'; "" where there is none.
std::string sparkline(const google::protobuf::RepeatedField<double>& before,
                      const google::protobuf::RepeatedField<double>& after);

// The heading, and each line below it; "" where there is none.
std::string headed_lines(const std::string& heading,
                         const google::protobuf::RepeatedPtrField<std::string>& lines);

}  // namespace railgauge::cli
