// The shape of the streams that a bandwidth kernel's parameters select.
#pragma once

#include "kernels/core/base/result.h"
#include "kernels/core/params.h"
#include "kernels/verbs/stream/stream.h"

namespace railgauge::verbs {

// Checked values; the fields fit each other.
struct StreamForm {
  Stream::Plan plan;
  bool both = false;       // both ranks are initiators
  double duration_ns = 0;  // 0: until the estimate is precise
};

// kInvalidArgument names the parameter that does not fit the others.
Result<StreamForm> stream_form(const Params& params);

}  // namespace railgauge::verbs
