#include "kernels/fakes/solo.h"

#include <cstdio>

#include "kernels/fakes/recorder.h"

namespace railgauge::fake {
namespace {

Status run(const KernelRow& row, Context& context) {
  SoloGroup group;
  const auto kernel = row.make();
  RG_TRY_OK(kernel->prepare(context));
  RG_TRY_OK(kernel->connect(context, group));
  return kernel->measure(context, group);
}

}  // namespace

RankResult run_solo(const KernelRow& row, const SoloOptions& options) {
  RankResult result;
  const auto params = Params::parse(row.info(), options.parameters);
  if (!params) std::fprintf(stderr, "run_solo: %s\n", params.error().message.c_str());
  RG_CHECK(params.has_value());
  Recorder recorder(result);
  Context context{*params,
                  recorder,
                  test_clock(),
                  options.endpoint,
                  monotonic_now_ns() + options.deadline_seconds * 1e9,
                  options.raw_samples};
  result.status = run(row, context);
  return result;
}

std::map<std::string, std::string> declared_among(
    const KernelInfo& kernel, const std::map<std::string, std::string>& wanted) {
  std::map<std::string, std::string> out;
  for (const ParameterInfo& parameter : kernel.parameters())
    if (const auto given = wanted.find(parameter.name()); given != wanted.end()) out.insert(*given);
  return out;
}

}  // namespace railgauge::fake
