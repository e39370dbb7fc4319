// Points as tables for people: one table for each kernel, metric, memory kind and path, since
// figures of two paths must not stand in one column unmarked.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// Whether both ranks were on one port: then nothing of it is the fabric's.
bool is_loopback(const api::ResultPoint& point);

// Whether the parameter sets how long and how precisely to measure (or the sizes, which have a
// column). Figures that differ in such a parameter alone measure the same thing.
bool is_effort_parameter(std::string_view name);

// Tables in the points' order, each with memory kind and path in its first line, and below them
// what must be known to read them: soft-RoCE, synthetic figures. "" for no points.
std::string results_tables(const google::protobuf::RepeatedPtrField<api::ResultPoint>& points,
                           Units units, bool colour);

// Four significant digits without an exponent, at most six decimals: "2.317", "97.43", "12345".
std::string figure(double value);

}  // namespace railgauge::cli
