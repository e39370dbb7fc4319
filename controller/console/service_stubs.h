// The services of the controller as the console calls them. Included by the sources of this room
// that make calls, and by none of its headers.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/api/control.grpc.pb.h"
#include "controller/api/judge.grpc.pb.h"

namespace railgauge::console {

// One stub for each service. Stubs may be used from several threads.
struct Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : control(api::Control::NewStub(channel)),
        archive(api::Archive::NewStub(channel)),
        judge(api::Judge::NewStub(channel)) {}

  std::unique_ptr<api::Control::StubInterface> control;
  std::unique_ptr<api::Archive::StubInterface> archive;
  std::unique_ptr<api::Judge::StubInterface> judge;
};

}  // namespace railgauge::console
