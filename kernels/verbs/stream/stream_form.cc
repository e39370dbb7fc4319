#include "kernels/verbs/stream/stream_form.h"

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/verbs/stream/time_slots.h"

namespace railgauge::verbs {
namespace {

constexpr double kBothNs = 1e9;       // the common interval where no duration is given
constexpr double kMaxBothNs = 100e9;  // its slots travel through the group in one message

// kInvalidArgument where the queue would fill before its first completion.
Status check_depth(const Stream::Plan& plan) {
  if (plan.signal_every > plan.depth)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter signal_every: {} is above depth, which is {}: the queue "
                            "would fill before the first completion",
                            plan.signal_every, plan.depth));
  if (plan.signal_every + plan.post_list > plan.depth + 1)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter post_list: {} and signal_every {} need a depth of {} or "
                            "more, and depth is {}",
                            plan.post_list, plan.signal_every,
                            plan.signal_every + plan.post_list - 1, plan.depth));
  return {};
}

// Checks what a stretch of time excludes.
Status check_duration(const Params& params, const StreamForm& form) {
  if (!form.both && form.duration_ns == 0) return {};
  const auto without = [&](std::string_view other) {
    return fail(Code::kInvalidArgument,
                fmt::format("parameter {}: is not for a stretch of time; leave it out, or leave "
                            "out {}",
                            other, form.both ? "direction both" : "duration"));
  };
  if (form.plan.writes != 0) return without("iterations");
  if (form.plan.added_cost > 0) return without("added_cost_fraction");
  if (form.duration_ns != 0 && form.duration_ns < kSlotNs)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter duration: {} is shorter than a slot, which is 10 ms",
                            canonical_duration(form.duration_ns)));
  if (!form.both) return {};
  if (form.duration_ns > kMaxBothNs)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter duration: {} is above {}, the most for direction both",
                            canonical_duration(form.duration_ns), canonical_duration(kMaxBothNs)));
  if (params.text("poll") == "events")
    return fail(Code::kInvalidArgument,
                "parameter poll: events is not for direction both, where each side has two queues "
                "to look at; take busy");
  return {};
}

}  // namespace

// Direction both without a duration takes 1 s.
Result<StreamForm> stream_form(const Params& params) {
  const auto number = [&params](std::string_view name) {
    return static_cast<std::uint64_t>(params.integer(name));
  };
  StreamForm form{.plan = {.depth = number("depth"),
                           .signal_every = number("signal_every"),
                           .post_list = number("post_list"),
                           .writes = number("iterations"),
                           .added_cost = params.number("added_cost_fraction")},
                  .both = params.text("direction") == "both",
                  .duration_ns = params.duration_ns("duration")};
  RG_TRY_OK(check_depth(form.plan));
  RG_TRY_OK(check_duration(params, form));
  if (form.both && form.duration_ns == 0) form.duration_ns = kBothNs;
  return form;
}

}  // namespace railgauge::verbs
