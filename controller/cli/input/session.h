// One use of the CLI: the controller, the output, and the deadlines. Not thread safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/api/control.grpc.pb.h"
#include "controller/api/judge.grpc.pb.h"
#include "controller/cli/input/interrupts.h"
#include "controller/cli/input/settings.h"
#include "controller/cli/render/output.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

using Control = railgauge::api::Control;
using Archive = railgauge::api::Archive;
using Judge = railgauge::api::Judge;

// The surroundings of one verb. All references outlive it. Durations are seconds.
struct Session {
  Control::StubInterface& control;
  const Output& output;
  Interrupts& interrupts;
  std::string address;              // of the controller, for messages
  std::function<bool()> connected;  // whether the controller is reached right now
  std::string again;                // how a person calls this program for the same controller
  double answer_seconds = 15;       // deadline of one call
  double linger_seconds = 3;        // after the first Ctrl-C, for the second
  double cancel_seconds = 90;       // for a cancel to be verified: the controller's own bounds
  double reconnect_seconds = 30;    // to wait for a controller that went away during a run
  double watch_slice_seconds = 30;  // a watch is asked for anew this often: a dead link shows
  Archive::StubInterface* archive = nullptr;  // for the verbs about what is stored
  Judge::StubInterface* judge = nullptr;      // for those about what is judged
};

// A channel to the controller; nothing is dialled yet. Errors: kInvalidArgument for a certificate
// file that cannot be read.
Result<std::shared_ptr<grpc::Channel>> open_channel(const Settings& settings);

// A failed call as one line. The controller's own message is kept. For a controller that was not
// reached the line names address, cause and remedy.
Error error_of(const grpc::Status& status, const Session& session);

// Prints "railgauge: TEXT" to stderr, with control characters replaced, and flushes: it is read
// before a wait begins.
void print_notice(const Session& session, const std::string& text);

inline void set_deadline(grpc::ClientContext& context, double seconds) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3)));
}

template <class Request, class Answer>
using Method = grpc::Status (Control::StubInterface::*)(grpc::ClientContext*, const Request&,
                                                        Answer*);

// One call with a deadline that Ctrl-C does not end, for changes whose result has to be known.
// Errors: error_of's.
template <class Request, class Answer>
Result<Answer> call_through(Session& session, Method<Request, Answer> method,
                            const Request& request) {
  grpc::ClientContext context;
  set_deadline(context, session.answer_seconds);
  Answer answer;
  const grpc::Status status = (session.control.*method)(&context, request, &answer);
  if (!status.ok()) return tl::unexpected(error_of(status, session));
  return answer;
}

// One call of any service with a deadline. Errors: kCancelled after Ctrl-C, else error_of's.
template <class Stub, class Request, class Answer>
Result<Answer> call_stub(Session& session, Stub& stub,
                         grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                      Answer*),
                         const Request& request, double seconds) {
  grpc::ClientContext context;
  set_deadline(context, seconds);
  const Interrupts::Hook hook(session.interrupts, [&context] { context.TryCancel(); });
  if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
  Answer answer;
  const grpc::Status status = (stub.*method)(&context, request, &answer);
  if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
  if (!status.ok()) return tl::unexpected(error_of(status, session));
  return answer;
}

template <class Request, class Answer>
Result<Answer> call(Session& session, Method<Request, Answer> method, const Request& request) {
  return call_stub(session, session.control, method, request, session.answer_seconds);
}

// A call of the archive. `least_seconds` is the deadline of calls that read much data.
template <class Request, class Answer>
Result<Answer> call_archive(Session& session,
                            grpc::Status (Archive::StubInterface::*method)(grpc::ClientContext*,
                                                                           const Request&, Answer*),
                            const Request& request, double least_seconds = 0) {
  return call_stub(session, *session.archive, method, request,
                   std::max(session.answer_seconds, least_seconds));
}

}  // namespace railgauge::cli
