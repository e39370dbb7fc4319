// The connection to the controller as gRPC has it. Only the files that open it or read a stream of
// their own include this header; verbs call through session.h, which costs no gRPC header.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <grpcpp/grpcpp.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/api/console.grpc.pb.h"
#include "controller/api/control.grpc.pb.h"
#include "controller/api/enrolment.grpc.pb.h"
#include "controller/api/judge.grpc.pb.h"
#include "controller/cli/input/session.h"
#include "controller/cli/input/settings.h"

namespace railgauge::cli {

// One stub for each service, on one channel. Stubs may be used from several threads.
struct Stubs {
  std::unique_ptr<api::Control::StubInterface> control;
  std::unique_ptr<api::Archive::StubInterface> archive;
  std::unique_ptr<api::Judge::StubInterface> judge;
  std::unique_ptr<api::Console::StubInterface> console;
  std::unique_ptr<api::Enrolment::StubInterface> enrolment;

  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : control(api::Control::NewStub(channel)),
        archive(api::Archive::NewStub(channel)),
        judge(api::Judge::NewStub(channel)),
        console(api::Console::NewStub(channel)),
        enrolment(api::Enrolment::NewStub(channel)) {}
};

// A channel to the controller; nothing is dialled yet. Errors: kInvalidArgument for a certificate
// file that cannot be read.
Result<std::shared_ptr<grpc::Channel>> open_channel(const Settings& settings);

// A failed call as one line. The controller's own message is kept. For a controller that was not
// reached the line names address, cause and remedy.
Error error_of(const grpc::Status& status, const Session& session);

// The innermost cause in gRPC's message, without the address.
std::string cause_of(const std::string& message, const std::string& address);

// Notes what the answer's metadata say of the controller's data. Some answer of the call was read.
void note_data_kind(const grpc::ClientContext& context, const Output& output);

// Sets the deadline of a call to `seconds` from now.
inline void set_deadline(grpc::ClientContext& context, double seconds) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3)));
}

}  // namespace railgauge::cli
