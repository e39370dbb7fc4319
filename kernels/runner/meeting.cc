// One exchange of hellos, after which both sides decide alike from the same data.
#include "kernels/runner/meeting.h"

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/group/tcp.h"
#include "kernels/core/report/report.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// A day.
constexpr double kMaxMeetingSeconds = 86400;

// Returns the parameters that each side chooses for itself: they are neither compared nor
// overridden.
std::map<std::string, std::string> own_choices(const KernelInfo& kernel,
                                               const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> own;
  for (const ParameterInfo& parameter : kernel.parameters())
    if (const auto found = given.find(parameter.name());
        parameter.per_rank() && found != given.end())
      own.insert(*found);
  return own;
}

// Other versions are refused: their figures would not be comparable, and their messages may differ.
Status check_same_kernel(const RunnerHello& connecting, const RunnerHello& listening) {
  if (connecting.schema_version() != listening.schema_version())
    return invalid(
        "railgauge-runner {} and {} cannot work together; install one version on both hosts",
        connecting.railgauge_version(), listening.railgauge_version());
  if (connecting.kernel() != listening.kernel())
    return invalid("the listener runs {}, the connecting side {}", listening.kernel(),
                   connecting.kernel());
  if (connecting.revision() != listening.revision())
    return invalid(
        "{}: the listener has revision {} ({}), the connecting side {} ({}); install one version "
        "on both hosts",
        connecting.kernel(), listening.revision(), listening.railgauge_version(),
        connecting.revision(), connecting.railgauge_version());
  return {};
}

}  // namespace

// The connecting side's parameters apply; parameters typed at the listener must agree with them.
Result<Settled> meet(Group& group, const KernelInfo& kernel,
                     const std::map<std::string, std::string>& given, double deadline_seconds) {
  const Params mine = RG_TRY(Params::parse(kernel, given));
  RunnerHello hello;
  hello.set_schema_version(kReportSchemaVersion);
  hello.set_railgauge_version(RAILGAUGE_VERSION);
  hello.set_kernel(kernel.name());
  hello.set_revision(kernel.revision());
  const auto own = own_choices(kernel, given);
  for (const auto& [name, text] : given)
    if (!own.contains(name))
      (*hello.mutable_given())[name] = mine.effective().at(name);  // canonical
  // The connecting side's deadline holds for both.
  hello.set_deadline_seconds(deadline_seconds);
  hello.set_host(host_name());
  const auto all = RG_TRY(group.exchange(hello.SerializeAsString(), kMeetingTimeoutSeconds));
  // The ranks are fixed: the connecting side is rank 0.
  RunnerHello connecting;
  RunnerHello listening;
  if (!connecting.ParseFromString(all[kConnectingRank]) ||
      !listening.ParseFromString(all[kListeningRank]))
    return fail(Code::kDataLoss, "the peer's hello is not a railgauge-runner's");
  RG_TRY_OK(check_same_kernel(connecting, listening));
  if (!(connecting.deadline_seconds() > 0) || connecting.deadline_seconds() > kMaxMeetingSeconds)
    return invalid("deadline of {} s; allowed is above 0 to {} s", connecting.deadline_seconds(),
                   kMaxMeetingSeconds);
  std::map<std::string, std::string> ruling_given(connecting.given().begin(),
                                                  connecting.given().end());
  // Adds this rank's own choices.
  ruling_given.insert(own.begin(), own.end());
  Params params = RG_TRY(Params::parse(kernel, ruling_given));
  for (const auto& [name, text] : listening.given()) {
    const auto ruling = params.effective().find(name);
    if (ruling == params.effective().end() || ruling->second != text)
      return invalid("parameter {}: the listener was given {}, the connecting side {}", name, text,
                     value_of(params.effective(), name, "none"));
  }
  return Settled{std::move(params), connecting.deadline_seconds(),
                 group.rank() == kConnectingRank ? listening.host() : connecting.host()};
}

}  // namespace railgauge
