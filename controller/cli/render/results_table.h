// Points as tables for people: one table for each kernel, metric, memory kind and path, since
// figures of two paths must not share a column without a mark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// Reports whether both ranks were on one port: then the point does not measure the fabric.
bool is_loopback(const api::ResultPoint& point);

// Reports whether the parameter sets how long and how precisely to measure (or the sizes, which
// have a column). Figures that differ in such a parameter alone measure the same thing.
bool is_effort_parameter(std::string_view name);

// Renders tables in the points' order, each with memory kind and path in its first line, and below
// them remarks for their readers: soft-RoCE, synthetic figures. "" without points.
std::string results_tables(const google::protobuf::RepeatedPtrField<api::ResultPoint>& points,
                           Units units, bool colour);

// The subject of a figure; only points of one kind may be compared.
struct PointKind {
  std::string kernel{};  // with the parameters that differ here: "cuda.copy_bw, direction h2d"
  std::string what{};    // "bandwidth (unidirectional), memory gpu, path dma-buf"
};
// Returns the kind of each point, in their order.
std::vector<PointKind> kinds_of_points(
    const google::protobuf::RepeatedPtrField<api::ResultPoint>& points);

// Remarks on some of the points for their readers: soft-RoCE, synthetic figures. "" for none.
std::string remarks_on(const google::protobuf::RepeatedPtrField<api::ResultPoint>& points);

// How the value of a point is shown: times `factor`, with the label of its unit.
struct ShownUnit {
  std::string label{};
  double factor = 1;
};
// The first unit of the point's columns in tables.
ShownUnit shown_unit(const api::ResultPoint& point, Units units);

// Formats four significant digits without an exponent, with at most six decimals: "2.317", "97.43",
// "12345".
std::string figure(double value);

}  // namespace railgauge::cli
