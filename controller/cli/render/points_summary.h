// Points in few lines, for the report of a run: what each kind of them gave, and the places that
// are furthest from it. Pure.
#pragma once

#include <cstddef>
#include <string>

#include <google/protobuf/repeated_ptr_field.h>

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// Up to so many points, a table with a row each is as short as a summary.
inline constexpr int kFewPoints = 30;

// Returns a row for each kernel and size with the number of points, their median, worst and best
// figure, and below it the places whose figures are worst against the median of their kind:
// those of a kernel that are about as far off are a row. Figures that differ in kernel, parameters,
// memory or path are never one kind. "" without points.
std::string points_summary(const google::protobuf::RepeatedPtrField<api::ResultPoint>& points,
                           Units units, bool colour);

}  // namespace railgauge::cli
