#include "controller/rpc/gate.h"

#include <utility>

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <spdlog/spdlog.h>

#include "controller/api/synthetic_mark.h"
#include "controller/fleet/stream_gate.h"
#include "controller/rpc/subject.h"

namespace railgauge::rpc {
namespace {

constexpr std::string_view kOwnServices = "railgauge.api.";
constexpr std::string_view kDescriptorPrefix = "fd:";  // gRPC's name of a unix socket's connection

// "railgauge.api.Control" and "StartRun" are "Control.StartRun".
std::string short_name(std::string_view service, std::string_view method) {
  const std::size_t dot = service.rfind('.');
  return fmt::format("{}.{}", dot == std::string_view::npos ? service : service.substr(dot + 1),
                     method);
}

audit::Act act_of(const auth::Peer& peer, std::string_view service, std::string_view method,
                  const google::protobuf::Message* request) {
  return {.caller = {.who = peer.who.empty() ? "unknown" : peer.who,
                     .role = std::string(auth::name_of(peer.role)),
                     .address = peer.address},
          .rpc = short_name(service, method),
          .subject = request == nullptr ? "" : subject_of(*request)};
}

}  // namespace

Call::Call(Gate& gate, const Right& right, auth::Peer peer, audit::Act act,
           ConnectionCalls::Place place, auth::PeerBook::Call under_way)
    : gate_(gate),
      right_(right),
      peer_(std::move(peer)),
      act_(std::move(act)),
      place_(std::move(place)),
      under_way_(std::move(under_way)) {}

// People of one host have certificates of their own; an agent's changes when it is renewed.
std::string Call::owner() const {
  if (!peer_.address.starts_with("ip")) return "";  // ipv4:, ipv6:
  const auto& [issuer, serial] = peer_.certificate;
  const bool is_person = !serial.empty() && auth::identity_of(peer_).empty();
  return is_person ? fmt::format("certificate {} of {}", serial, issuer) : fleet::peer_key(peer_);
}

Call::~Call() { end(fail(Code::kCancelled, "the caller is gone")); }

Status Call::begin() {
  if (!is_write(right_.access)) return {};
  if (right_.access == Access::kUrgentWrite) {
    begun_ = gate_.log_.begin_urgent(act_);
    return {};
  }
  const auto begun = gate_.log_.begin(act_);
  if (begun) {
    begun_ = *begun;
    return {};
  }
  const Error error{Code::kUnavailable,
                    fmt::format("{}: not carried out, because its row of the audit trail is not "
                                "stored: {}",
                                act_.rpc, begun.error().message)};
  gate_.note_refused(act_, error);
  return tl::unexpected(error);
}

void Call::end(const Status& outcome) {
  if (begun_) gate_.log_.end(*std::exchange(begun_, std::nullopt), act_, outcome);
  place_.release();
  under_way_.end();
}

void Call::refuse(const Error& error) {
  gate_.note_refused(act_, error);
  place_.release();
  under_way_.end();
}

Result<std::shared_ptr<Call>> Gate::admit(grpc::ServerContextBase& context, const Right& right,
                                          const google::protobuf::Message* request) {
  auth::Peer peer = peers_.peer_of(context);
  const auto refuse = [&](const Error& error) -> Result<std::shared_ptr<Call>> {
    note_refused(act_of(peer, right.service, right.method, request), error);
    return tl::unexpected(error);
  };
  const std::string connection = auth::PeerBook::name_of(context);
  // Whoever gave it up has put it into the trail.
  if (!expected_.begin(connection))
    return fail(Code::kCancelled, "nobody waits for this call any more");
  if (const Status allowed = check_access(peer, right.access); !allowed)
    return refuse({allowed.error().code, audit::clean_text(allowed.error().message)});
  ConnectionCalls::Place place;
  if (!connection.starts_with(kDescriptorPrefix)) {
    auto taken = calls_.take(connection);
    if (!taken)
      return refuse(
          {Code::kResourceExhausted,
           fmt::format("{}: this connection has {} calls under way, its limit; wait for "
                       "one to end, or use another connection",
                       short_name(right.service, right.method), ConnectionCalls::kMaxCalls)});
    place = std::move(*taken);
  }
  if (const std::string kind = data_kind_ ? data_kind_() : ""; !kind.empty())
    context.AddInitialMetadata(api::kDataKindHeader, kind);
  audit::Act act = act_of(peer, right.service, right.method, request);
  // Streams of requests end otherwise: agents' by the fleet; calls of gRPC's own outlive contexts.
  auth::PeerBook::Call under_way =
      request == nullptr ? auth::PeerBook::Call() : peers_.begin(context, peer);
  return std::make_shared<Call>(*this, right, std::move(peer), std::move(act), std::move(place),
                                std::move(under_way));
}

// The log has a line for each row of the trail, and no more.
void Gate::note_refused(const audit::Act& act, const Error& error) {
  if (log_.refused(act, error))
    spdlog::warn("call refused: {}: {}", act.rpc, audit::clean_text(error.message));
}

namespace {

// Stays with a call of gRPC's own services until it ends.
class ForeignCall final : public grpc::experimental::Interceptor {
 public:
  ForeignCall(Gate& gate, Right right, grpc::ServerContextBase& context)
      : gate_(gate), right_(right), context_(context) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) admit();
    methods->Proceed();
  }

 private:
  // The handler runs all the same, but its answer reaches nobody: the caller has this status.
  void admit() {
    Result<std::shared_ptr<Call>> admitted = gate_.admit(context_, right_, nullptr);
    if (admitted) {
      call_ = std::move(*admitted);
      return;
    }
    grpc_call_cancel_with_status(context_.c_call(),
                                 static_cast<grpc_status_code>(admitted.error().code),
                                 admitted.error().message.c_str(), nullptr);
  }

  Gate& gate_;
  const Right right_;
  grpc::ServerContextBase& context_;
  std::shared_ptr<Call> call_;
};

class ForeignCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ForeignCalls(Gate& gate) : gate_(gate) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    // "/grpc.health.v1.Health/Check"
    const std::string_view path(info->method());
    const std::size_t slash = path.rfind('/');
    if (path.size() < 2 || slash == std::string_view::npos || slash == 0) return nullptr;
    const std::string_view service = path.substr(1, slash - 1);
    if (service.starts_with(kOwnServices)) return nullptr;
    const std::string_view method = path.substr(slash + 1);
    const Right* listed = find_right(service, method);
    // A method that no row names is for operators alone.
    const Right right = listed != nullptr ? *listed : Right{service, method, Access::kOperator};
    return new ForeignCall(gate_, right, *info->server_context());
  }

 private:
  Gate& gate_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
Gate::interceptors() {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> all;
  all.push_back(std::make_unique<ForeignCalls>(*this));
  return all;
}

}  // namespace railgauge::rpc
