// The paths of the console's interface that change something. Each is one call of a service, made
// with the rights of the person who asks: the service decides, and writes the audit trail.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <google/protobuf/message.h>

#include "controller/console/reader.h"
#include "kernels/core/base/result.h"

namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace railgauge::console {

// A path for POST. It may have a part in braces, as a Route's.
struct Action {
  std::string_view path;
  std::string_view summary;
  std::string_view service;  // "railgauge.api.Judge"
  std::string_view method;   // "StepFinding"
  const google::protobuf::Message& (*request)();
  const google::protobuf::Message& (*answer)();
  grpc::Status (*call)(const Stubs& stubs, grpc::ClientContext& context,
                       const google::protobuf::Message& request, google::protobuf::Message& answer);
};
std::span<const Action> actions();

// An action with what the path names. Absent fields: the path has none.
struct Asked {
  const Action* action = nullptr;  // none has the path
  std::string field{};
  std::string value{};
};
Asked find_action(std::string_view path);

// "Judge.StepFinding", as the audit trail has it.
std::string name_of(const Action& action);

// Makes the call for the person whom the services know as `caller`. Returns whether the archive has
// what it changed, as far as anybody waits for that. Errors: the service's, and Reader::call()'s,
// of which some come before a service has seen it.
Result<bool> carry_out(Reader& reader, const Action& action, const std::string& caller,
                       const google::protobuf::Message& request, google::protobuf::Message& answer);

}  // namespace railgauge::console
