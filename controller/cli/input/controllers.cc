#include "controller/cli/input/controllers.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/api/controller_list.h"
#include "controller/api/standby.grpc.pb.h"
#include "controller/cli/input/stubs.h"

namespace railgauge::cli {
namespace {

// TLS included; a dead one of the list must not cost more.
constexpr double kAskSeconds = 3;

SeenController see(const Settings& settings, const std::string& address, double seconds) {
  SeenController seen{.address = address};
  Settings one = settings;
  one.controller = address;
  const auto channel = open_channel(one);
  if (!channel) {
    seen.fault = channel.error().message;
    return seen;
  }
  grpc::ClientContext context;
  set_deadline(context, seconds);
  const auto stub = api::Standby::NewStub(*channel);
  const grpc::Status status = stub->GetRole(&context, api::RoleRequest(), &seen.role);
  // One of an earlier version has no role, and is alone.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    seen.role.set_role("single");
  else if (!status.ok())
    seen.fault = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED
                     ? std::string("no answer in time")
                     : cause_of(status.error_message(), address);
  return seen;
}

}  // namespace

// One after the other: lists have two or three addresses, and most of them answer at once.
std::vector<SeenController> see_controllers(const Settings& settings, double seconds) {
  std::vector<SeenController> all;
  for (const std::string& address : api::controllers_of(settings.controller))
    all.push_back(see(settings, address, seconds));
  return all;
}

// Two that both believe to be active can be seen for the time of a lease: the higher generation is
// the one that agents obey.
Result<Settings> with_active_controller(Settings settings) {
  if (api::controllers_of(settings.controller).size() < 2) return settings;
  const SeenController* best = nullptr;
  std::string said;
  const std::vector<SeenController> all =
      see_controllers(settings, std::min(settings.answer_seconds, kAskSeconds));
  for (const SeenController& one : all) {
    const bool acts = one.role.role() == "active" || one.role.role() == "single";
    if (acts && (best == nullptr || one.role.generation() > best->role.generation())) best = &one;
    said += fmt::format("{}{}: {}", said.empty() ? "" : "; ", one.address,
                        one.fault.empty() ? one.role.role() : one.fault);
  }
  if (best == nullptr)
    return fail(Code::kUnavailable, fmt::format("no controller is active: {}", said));
  settings.controller = best->address;
  return settings;
}

}  // namespace railgauge::cli
