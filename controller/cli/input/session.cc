#include "controller/cli/input/session.h"

#include <cstring>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "controller/api/archive_mark.h"
#include "controller/api/synthetic_mark.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/stubs.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/text/printable.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

constexpr int kMaxAnswerBytes = 256 * 1024 * 1024;
// A busy controller, or one behind a slow link, needs some tenths of a second for TLS.
constexpr int kAttemptMilliseconds = 2'000;

// The advice for a cause of an unreachable controller, by words of gRPC's message.
std::string_view remedy_for(std::string_view cause, std::string_view address) {
  const auto says = [&](std::string_view part) { return cause.find(part) != cause.npos; };
  if (says("Permission denied")) return "this user may not open it; see the socket's group";
  if (says("andshake") || says("SSL") || says("certificate"))
    return "see --tls-cert, --tls-key and --tls-ca";
  if (says("ocket closed") && !address.starts_with("unix:"))
    return "does it want certificates? See --tls-cert, --tls-key and --tls-ca";
  if (address.starts_with("unix:"))
    return "is railgauge-controller running on this host? --controller names another";
  return "is railgauge-controller running there, and the port open?";
}

// The stub whose interface is `Stub`.
template <class Stub>
Stub& stub_of(const Stubs& stubs) {
  if constexpr (std::is_same_v<Stub, api::Control::StubInterface>)
    return *stubs.control;
  else if constexpr (std::is_same_v<Stub, api::Archive::StubInterface>)
    return *stubs.archive;
  else if constexpr (std::is_same_v<Stub, api::Console::StubInterface>)
    return *stubs.console;
  else if constexpr (std::is_same_v<Stub, api::Enrolment::StubInterface>)
    return *stubs.enrolment;
  else
    return *stubs.judge;
}

// `kMethod` of its stub, for messages whose types Rpc has checked.
template <class Stub, class Request, class Answer,
          grpc::Status (Stub::*kMethod)(grpc::ClientContext*, const Request&, Answer*)>
constexpr Rpc<Request, Answer> bind_call() {
  return {[](const Stubs& stubs, grpc::ClientContext& context,
             const google::protobuf::Message& request, google::protobuf::Message& answer) {
    return (stub_of<Stub>(stubs).*kMethod)(&context, static_cast<const Request&>(request),
                                           static_cast<Answer*>(&answer));
  }};
}

}  // namespace

// The innermost cause in gRPC's message, without the address, which the caller prints.
std::string cause_of(const std::string& message, const std::string& address) {
  std::string_view cause = message;
  // gRPC nests causes behind these marks; the last one is the reason.
  for (const std::string_view mark :
       {"last error: ", "UNKNOWN: ", "UNAVAILABLE: ", "Failed to connect to remote host: "}) {
    const std::size_t found = cause.rfind(mark);
    if (found != std::string_view::npos) cause = cause.substr(found + mark.size());
  }
  if (cause.starts_with(address + ": ")) cause = cause.substr(address.size() + 2);
  if (cause.starts_with("DNS resolution failed"))
    return fmt::format("DNS: {}", cause.substr(cause.rfind(": ") + 2));
  return std::string(cause);
}

namespace rpc {
#define RAILGAUGE_BIND(service, name, request, answer)                                         \
  const Rpc<request, answer> k##name = bind_call<api::service::StubInterface, request, answer, \
                                                 &api::service::StubInterface::name>();
RAILGAUGE_CLI_CALLS(RAILGAUGE_BIND)
#undef RAILGAUGE_BIND
}  // namespace rpc

// The one place that sends a unary call: deadline, Ctrl-C and the error's text are the same for all
// verbs.
Status send_call(Session& session, Send send, const google::protobuf::Message& request,
                 google::protobuf::Message& answer, double seconds, EndsAtInterrupt ends) {
  grpc::ClientContext context;
  set_deadline(context, seconds);
  const auto is_interrupted = [&] {
    return ends == EndsAtInterrupt::kYes && session.interrupts.any();
  };
  std::optional<Interrupts::Hook> hook;
  if (ends == EndsAtInterrupt::kYes)
    hook.emplace(session.interrupts, [&context] { context.TryCancel(); });
  // A Ctrl-C before the hook existed is seen here, a later one cancels the context.
  if (is_interrupted()) return fail(Code::kCancelled, "interrupted");
  const grpc::Status status = send(session.stubs, context, request, answer);
  if (is_interrupted()) return fail(Code::kCancelled, "interrupted");
  if (!status.ok()) return tl::unexpected(error_of(status, session));
  note_data_kind(context, session.output);
  if (context.GetServerTrailingMetadata().count(api::kArchiveHeader) > 0)
    print_fault(session.output,
                "done, but the archive may lack it still: a controller that takes over now would "
                "not know it; railgauge status shows the archive's lag");
  make_safe(session.output, answer);
  return {};
}

void note_data_kind(const grpc::ClientContext& context, const Output& output) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto found = metadata.find(api::kDataKindHeader);
  if (found == metadata.end()) return;
  if (found->second == api::kSyntheticData) output.mark->is_synthetic = true;
  if (found->second == api::kUnknownData)
    print_fault(output,
                "UNKNOWN: the controller cannot say whether its data is of a modelled site");
}

// Machine formats that escape by themselves keep the text as it is.
void make_safe(const Output& output, google::protobuf::Message& answer) {
  if (output.format == Format::kTable || output.format == Format::kCsv) make_printable(answer);
}

// Pages are passed to `take` as they arrive; nothing here holds more than one.
Status stream_points(Session& session, const api::PointsRequest& request, double seconds,
                     const std::function<bool(const api::ResultList& page)>& take) {
  grpc::ClientContext context;
  set_deadline(context, seconds);
  const Interrupts::Hook hook(session.interrupts, [&context] { context.TryCancel(); });
  const auto stream = session.stubs.archive->ExportPoints(&context, request);
  bool wants_more = true;
  for (api::ResultList page; wants_more && stream->Read(&page);) {
    note_data_kind(context, session.output);
    make_safe(session.output, page);
    wants_more = take(page);
  }
  // Ends the stream on the controller too.
  if (!wants_more) context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
  if (wants_more && !status.ok()) return tl::unexpected(error_of(status, session));
  note_data_kind(context, session.output);  // of a stream without a page
  return {};
}

// The reconnect times are short: people wait for the answer. An attempt may take
// kAttemptMilliseconds, TLS included, before the next begins.
Result<std::shared_ptr<grpc::Channel>> open_channel(const Settings& settings) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  // A unix socket checks the peer's user; TCP needs certificates on both sides.
  if (!settings.controller.starts_with("unix:") && !settings.insecure) {
    grpc::SslCredentialsOptions options;
    trust::Material material = RG_TRY(trust::load_material(
        {.certificate = settings.tls_cert, .key = settings.tls_key, .authority = settings.tls_ca}));
    options.pem_cert_chain = std::move(material.certificate);
    options.pem_private_key = std::move(material.key);
    options.pem_root_certs = std::move(material.authority);
    credentials = grpc::SslCredentials(options);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a fabric's controller is never behind one
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kAttemptMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  return grpc::CreateCustomChannel(settings.controller, credentials, arguments);
}

// Codes that the controller chose keep their message. Codes that gRPC makes by itself get the
// address and advice.
Error error_of(const grpc::Status& status, const Session& session) {
  const std::string& address = session.address;
  const auto code = static_cast<Code>(status.error_code());
  std::string message = status.error_message();
  // One error is one line.
  for (char& c : message)
    if (c == '\n') c = ' ';
  switch (code) {
    case Code::kUnavailable: {
      if (session.connected()) return {code, message};  // "no node is attached"
      const std::string cause = cause_of(message, address);
      return {code,
              fmt::format("controller {}: {}; {}", address, cause, remedy_for(cause, address))};
    }
    case Code::kDeadlineExceeded:
      // The controller explains its own time limits. gRPC's words would not help.
      if (!message.empty() && message != "Deadline Exceeded") return {code, message};
      return {code, fmt::format("controller {}: no answer in time; it may be busy or stopped, "
                                "--timeout waits longer",
                                address)};
    case Code::kUnimplemented:
      return {code, fmt::format("controller {}: {}; is it of this program's version? railgauge "
                                "version shows both",
                                address, message.empty() ? "unknown call" : message)};
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      return {code, fmt::format("controller {}: {}", address, message)};
    default:
      return {code, message.empty() ? fmt::format("controller {}: error {}", address,
                                                  static_cast<int>(status.error_code()))
                                    : message};
  }
}

}  // namespace railgauge::cli
