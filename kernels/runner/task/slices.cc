#include "kernels/runner/task/slices.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/agreement.h"
#include "kernels/core/slice_words.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::size_t kMostBytes = 200;  // of the value: four slices
constexpr std::string_view kWhole = "-";
constexpr std::size_t kUuidBytes = 40;  // "MIG-" and 36 more

bool declares_slices(const KernelInfo& kernel) {
  return std::ranges::find(kernel.parameters(), kSliceParameter, &ParameterInfo::name) !=
         kernel.parameters().end();
}

std::string joined(const std::vector<std::string>& slices) {
  const auto whole = [](const std::string& slice) { return slice.empty(); };
  if (std::ranges::all_of(slices, whole)) return "";
  if (std::ranges::adjacent_find(slices, std::ranges::not_equal_to{}) == slices.end())
    return slices.front();
  std::vector<std::string_view> names;
  for (const std::string& slice : slices) names.push_back(slice.empty() ? kWhole : slice);
  std::string all = fmt::format("{}", fmt::join(names, ","));
  if (all.size() <= kMostBytes) return all;
  return fmt::format("{}-ranks-{}", slices.size(), stack_hash({{"slices", all}}));
}

}  // namespace

// CUDA shows a process one slice, the first of them all unless another is named. The agent names
// none.
void show_slice(const Params& params, const KernelInfo& kernel) {
  if (!declares_slices(kernel)) return;
  const std::string& wanted = params.text(kSliceParameter);
  if (wanted.size() == kUuidBytes && params.text(kSlicesParameter) == kMeasureSlices)
    setenv("CUDA_VISIBLE_DEVICES", wanted.c_str(), 1);
}

Result<std::string> slices_of_task(const Context& context, Group& group, const KernelInfo& kernel,
                                   const std::string& mine) {
  if (!declares_slices(kernel)) return "";
  const std::string& wanted = context.params.text(kSliceParameter);
  if (context.params.text(kSlicesParameter) != kMeasureSlices) {
    if (wanted.empty()) return "";
    return invalid("parameter {}: {} is measured with {}={} alone", kSliceParameter,
                   in_quotes(wanted), kSlicesParameter, kMeasureSlices);
  }
  const std::vector<std::string> slices = RG_TRY(group.exchange(mine, seconds_left(context)));
  for (std::size_t rank = 0; rank < slices.size(); ++rank)
    if (!slices[rank].starts_with(wanted))
      return fail(Code::kFailedPrecondition,
                  "rank {}: parameter {}: {} was asked for, and CUDA shows {}; a whole UUID "
                  "(nvidia-smi -L) makes CUDA show that slice",
                  rank, kSliceParameter, in_quotes(wanted),
                  slices[rank].empty() ? "a whole GPU" : slices[rank]);
  return joined(slices);
}

}  // namespace railgauge
