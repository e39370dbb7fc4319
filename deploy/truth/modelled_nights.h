// The nights of a case without the service: the plan of each night, the modelled figure of each of
// its tasks, and the judge of parts. Controller and fleet would plan the same tasks on a simulated
// clock and get the same figures bit for bit. Pure.
#pragma once

#include <span>
#include <vector>

#include "controller/findings/part_cases.h"
#include "deploy/truth/truth_case.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::truth {

// The figures of one night, from 0, as the controller would read them from the run's matrices.
// kInvalidArgument: `kernels` do not fit the suite.
Result<parts::NightFigures> figures_of(const Case& one, std::uint32_t night,
                                       std::span<const KernelInfo> kernels);

// Judges night after night and notes what findings would say, in the order of their opening. Errors
// as above.
Result<std::vector<SaidPart>> judge_case(const Case& one, std::span<const KernelInfo> kernels);

}  // namespace railgauge::truth
