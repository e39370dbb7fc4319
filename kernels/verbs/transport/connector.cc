#include "kernels/verbs/transport/connector.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

constexpr double kStepNs = 4e9;  // at most: shorter than a failed rank waits (kTellSeconds)
// Time for one address or route, which the kernel asks of ARP or the subnet manager.
constexpr int kResolveMs = 2000;
// Requests that may wait; rank 0 sends one at a time.
constexpr int kBacklog = 64;
// 7 repeats without end (InfiniBand's RNR retry); the stall limit bounds the wait.
constexpr std::uint8_t kRnrForEver = 7;

// The content of a connection's request.
struct Greeting {
  std::uint64_t token = 0;
  std::uint64_t lane = 0;
};

// The address that the manager listens on: the GID's own where that is an IP address, as RoCE's is.
Result<std::string> own_address(const Device& device, const Addressing& addressing,
                                const std::string& given) {
  if (!given.empty()) return given;
  const bool is_ip = addressing.gid.type != IBV_GID_TYPE_IB && !device.is_iwarp();
  if (is_ip) {
    std::string text = gid_words(addressing.gid.gid);
    constexpr std::string_view kMapped = "::ffff:";
    if (text.starts_with(kMapped) && text.find('.') != text.npos) text.erase(0, kMapped.size());
    return text;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("{}: parameter cm_address: the port's GID is no IP address; name that of "
                          "its network interface",
                          device.endpoint()));
}

// A numeric address; a link-local one takes the interface `netdev` as its scope.
Status to_socket_address(const std::string& text, std::uint16_t port, std::uint32_t netdev,
                         sockaddr_storage& storage) {
  storage = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return {};
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter cm_address: {} is no numeric IP address", text));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) v6.sin6_scope_id = netdev;
  return {};
}

// Absent support waives, a lack of permission is reported as such, the rest is a failure.
Code code_of_errno(int error) {
  switch (error) {
    case ENODEV:
    case EADDRNOTAVAIL:
    case EADDRINUSE:
    case ENOSYS:
      return Code::kFailedPrecondition;
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    default:
      return Code::kInternal;
  }
}

// The negotiated limits for a queue pair's reads and atomics.
rdma_conn_param terms(const Introduction& with, const ibv_qp* queue_pair) {
  rdma_conn_param param{};
  param.responder_resources = static_cast<std::uint8_t>(outstanding_reads(with.peer, with.mine));
  param.initiator_depth = static_cast<std::uint8_t>(outstanding_reads(with.mine, with.peer));
  param.retry_count = static_cast<std::uint8_t>(with.params.integer("retry_count"));
  param.rnr_retry_count = kRnrForEver;
  param.qp_num = queue_pair->qp_num;
  return param;
}

}  // namespace

// Needs no connection, so the partition's choice can ask before one is made.
bool Connector::is_asked_for(const Device& device, const Params& params) {
  const std::string& way = params.text("connection");
  return way == "rdma_cm" || (way == "auto" && device.is_iwarp());
}

Result<bool> Connector::is_wanted(const Device& device, const Params& params, Transport transport) {
  if (params.text("connection") == "exchange" && device.is_iwarp())
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: parameter connection: exchange is not for iWARP, whose connections "
                    "only the connection manager makes; take rdma_cm",
                    device.endpoint()));
  const bool wanted = is_asked_for(device, params);
  if (wanted && transport != Transport::kRc)
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: parameter transport: {} is not connected by rdma_cm here; take RC{}",
                    device.endpoint(), transport_words(transport),
                    device.is_iwarp() ? "" : ", or connection exchange"));
  if (wanted && params.integer("pkey_index") != 0)
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: parameter pkey_index: the connection manager chooses the partition; "
                    "leave it at 0, or take connection exchange",
                    device.endpoint()));
  return wanted;
}

// rdma_cm calls return -1 and set errno.
Status Connector::check(int returned, std::string_view act) const {
  if (returned == 0) return {};
  const int error = errno;
  return fail(code_of_errno(error),
              fmt::format("{}: rdma_cm: {}: {}", endpoint_, act, errno_words(error)));
}

// The token separates this task's requests from those of others on a port that was reused.
Result<std::unique_ptr<Connector>> Connector::open(const Device& device,
                                                   const Addressing& addressing,
                                                   const Params& params,
                                                   const std::string& address) {
  const Rdmacm& rdmacm = *RG_TRY(load_rdmacm());
  std::unique_ptr<Connector> made(new Connector);
  made->endpoint_ = device.endpoint();
  made->is_iwarp_ = device.is_iwarp();
  made->step_ns_ = std::min(kStepNs, params.duration_ns("stall_timeout"));
  made->own_text_ = RG_TRY(own_address(device, addressing, address));
  RG_TRY_OK(to_socket_address(made->own_text_, 0, addressing.gid.netdev, made->own_));
  if (getrandom(&made->token_, sizeof made->token_, 0) != sizeof made->token_)
    made->token_ = static_cast<std::uint64_t>(monotonic_now_ns());
  errno = 0;
  made->channel_ = EventChannelHandle(rdmacm.create_event_channel());
  if (!made->channel_)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: rdma_cm: make an event channel: {}; load the module rdma_ucm",
                            made->endpoint_, errno_words(errno)));
  const int fd = made->channel_.get()->fd;
  RG_TRY_OK(made->check(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK),
                        "make the event channel not block"));
  rdma_cm_id* id = nullptr;
  RG_TRY_OK(made->check(rdmacm.create_id(made->channel_.get(), &id, nullptr, RDMA_PS_TCP),
                        "make the listening id"));
  made->listener_ = CmIdHandle(id);
  RG_TRY_OK(made->check(rdmacm.bind_addr(id, reinterpret_cast<sockaddr*>(&made->own_)),
                        fmt::format("bind to {}", made->own_text_)));
  RG_TRY_OK(made->check(rdmacm.listen(id, kBacklog), fmt::format("listen on {}", made->own_text_)));
  made->port_ = ntohs(rdmacm.get_src_port(id));
  return made;
}

void Connector::describe(PeerAddress& mine) const {
  mine.set_cm_address(own_text_);
  mine.set_cm_port(port_);
  mine.set_cm_token(token_);
}

void Connector::report_facts(Reporter& reporter) const {
  reporter.fact("cm_address", own_text_);
  reporter.fact("rdmacm_path", loaded_rdmacm().path);
  reporter.fact("rdmacm_version", loaded_rdmacm().version);
}

// Polls the channel's descriptor, which does not block, until `until_ns`.
Result<CmEventHandle> Connector::next_event(double until_ns, std::string_view act) {
  const Rdmacm& rdmacm = loaded_rdmacm();
  for (;;) {
    rdma_cm_event* event = nullptr;
    if (rdmacm.get_cm_event(channel_.get(), &event) == 0) return CmEventHandle(event);
    if (errno != EAGAIN && errno != EINTR) return tl::unexpected(check(-1, act).error());
    const double left_ns = until_ns - monotonic_now_ns();
    if (left_ns <= 0)
      return fail(until_ns >= deadline_ns_ ? Code::kDeadlineExceeded : Code::kUnavailable,
                  fmt::format("{}: rdma_cm: {}: nothing from the other side within {:.3g} s",
                              endpoint_, act, step_ns_ / 1e9));
    pollfd wanted{channel_.get()->fd, POLLIN, 0};
    static_cast<void>(::poll(&wanted, 1, static_cast<int>(std::ceil(left_ns / 1e6))));
  }
}

// A request's event belongs to the listening id; all others to their own.
Result<CmEventHandle> Connector::wait(rdma_cm_id* id,
                                      std::initializer_list<rdma_cm_event_type> wanted,
                                      std::string_view act) {
  const double until_ns = std::min(deadline_ns_, monotonic_now_ns() + step_ns_);
  for (;;) {
    CmEventHandle event = RG_TRY(next_event(until_ns, act));
    const rdma_cm_event& seen = *event.get();
    const bool is_request = seen.event == RDMA_CM_EVENT_CONNECT_REQUEST;
    const rdma_cm_id* whose = is_request ? seen.listen_id : seen.id;
    if (whose != id) {
      // An earlier connection's end, or an unexpected request, whose id would leak.
      const CmIdHandle stray(is_request ? seen.id : nullptr);
      event.reset();
      continue;
    }
    if (std::ranges::find(wanted, seen.event) != wanted.end()) return event;
    const bool is_unreachable =
        seen.event == RDMA_CM_EVENT_UNREACHABLE || seen.event == RDMA_CM_EVENT_REJECTED ||
        seen.event == RDMA_CM_EVENT_ADDR_ERROR || seen.event == RDMA_CM_EVENT_ROUTE_ERROR ||
        seen.event == RDMA_CM_EVENT_CONNECT_ERROR || seen.event == RDMA_CM_EVENT_DISCONNECTED;
    return fail(is_unreachable ? Code::kUnavailable : Code::kInternal,
                fmt::format("{}: rdma_cm: {}: {}, status {}", endpoint_, act,
                            loaded_rdmacm().event_str(seen.event), seen.status));
  }
}

// The manager knows partition and port; the access is ours.
Status Connector::init(const Introduction& with, rdma_cm_id* id, ibv_qp* queue_pair) {
  ibv_qp_attr agreed{};
  int mask = 0;
  agreed.qp_state = IBV_QPS_INIT;
  RG_TRY_OK(check(loaded_rdmacm().init_qp_attr(id, &agreed, &mask), "ask for the INIT state"));
  return to_init(with, queue_pair, &agreed, mask);
}

// INIT to RTR to RTS with the negotiated values, over which the parameters are imposed.
Status Connector::to_ready(const Introduction& with, rdma_cm_id* id, ibv_qp* queue_pair,
                           std::size_t lane) {
  if (is_iwarp_) return {};  // the driver moves the queue pair itself
  ibv_qp_attr agreed{};
  int mask = 0;
  agreed.qp_state = IBV_QPS_RTR;
  RG_TRY_OK(check(loaded_rdmacm().init_qp_attr(id, &agreed, &mask), "ask for the RTR state"));
  RG_TRY_OK(to_receive(with, queue_pair, lane, agreed));
  agreed = {};
  agreed.qp_state = IBV_QPS_RTS;
  RG_TRY_OK(check(loaded_rdmacm().init_qp_attr(id, &agreed, &mask), "ask for the RTS state"));
  return to_send(with, queue_pair, agreed.sq_psn);
}

// Resolve, route, connect. The route may lead through another device than the chosen port: that is
// refused, because the figure would be another device's.
Status Connector::connect(const Introduction& with, ibv_qp* queue_pair, std::size_t lane) {
  const Rdmacm& rdmacm = loaded_rdmacm();
  rdma_cm_id* id = nullptr;
  RG_TRY_OK(check(rdmacm.create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "make an id"));
  CmIdHandle connection(id);
  sockaddr_storage there{};
  RG_TRY_OK(to_socket_address(with.peer.cm_address(),
                              static_cast<std::uint16_t>(with.peer.cm_port()),
                              with.addressing.gid.netdev, there));
  const std::string where = fmt::format("{} port {}", with.peer.cm_address(), with.peer.cm_port());
  const std::string resolving = "resolve " + where;
  RG_TRY_OK(check(rdmacm.resolve_addr(id, reinterpret_cast<sockaddr*>(&own_),
                                      reinterpret_cast<sockaddr*>(&there), kResolveMs),
                  resolving));
  RG_TRY_OK(wait(id, {RDMA_CM_EVENT_ADDR_RESOLVED}, resolving));
  // rdma_resolve_addr binds the id to the device that the routing table selects.
  const std::string taken = loaded_verbs().get_device_name(id->verbs->device);
  if (taken != with.device.name())
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{}: rdma_cm: {} leads through {}; name an address of the port's own by "
                    "parameter cm_address",
                    endpoint_, own_text_, taken));
  const std::string routing = "find the route to " + where;
  RG_TRY_OK(check(rdmacm.resolve_route(id, kResolveMs), routing));
  RG_TRY_OK(wait(id, {RDMA_CM_EVENT_ROUTE_RESOLVED}, routing));
  RG_TRY_OK(init(with, id, queue_pair));
  // The private data of the request: 16 of the 56 bytes that rdma_cm carries.
  const Greeting greeting{with.peer.cm_token(), lane};
  rdma_conn_param param = terms(with, queue_pair);
  param.private_data = &greeting;
  param.private_data_len = sizeof greeting;
  const std::string connecting = fmt::format("connect queue pair {} to {}", lane, where);
  RG_TRY_OK(check(rdmacm.connect(id, &param), connecting));
  const CmEventHandle answer =
      RG_TRY(wait(id, {RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_ESTABLISHED}, connecting));
  connections_.push_back(std::move(connection));
  if (answer.get()->event == RDMA_CM_EVENT_ESTABLISHED) return {};
  RG_TRY_OK(to_ready(with, id, queue_pair, lane));
  return check(rdmacm.establish(id),
               "report that queue pair " + std::to_string(lane) + " is ready");
}

// Waits for the request with this task's token and this lane. Others are rejected and the wait
// continues.
Status Connector::accept(const Introduction& with, ibv_qp* queue_pair, std::size_t lane) {
  const Rdmacm& rdmacm = loaded_rdmacm();
  const std::string accepting =
      fmt::format("accept queue pair {} from {}", lane, with.peer.cm_address());
  for (;;) {
    CmEventHandle request =
        RG_TRY(wait(listener_.get(), {RDMA_CM_EVENT_CONNECT_REQUEST}, accepting));
    CmIdHandle connection(request.get()->id);
    rdma_cm_id* const id = connection.get();
    const rdma_conn_param& asked = request.get()->param.conn;
    // A request with less private data is not the peer's.
    Greeting greeting;
    if (asked.private_data != nullptr && asked.private_data_len >= sizeof greeting)
      std::memcpy(&greeting, asked.private_data, sizeof greeting);
    request.reset();  // before the id that it came with
    if (greeting.token != token_ || greeting.lane != lane) {
      static_cast<void>(rdmacm.reject(id, nullptr, 0));  // a stranger's
      continue;
    }
    RG_TRY_OK(init(with, id, queue_pair));
    RG_TRY_OK(to_ready(with, id, queue_pair, lane));
    rdma_conn_param param = terms(with, queue_pair);
    RG_TRY_OK(check(rdmacm.accept(id, &param), accepting));
    RG_TRY_OK(wait(id, {RDMA_CM_EVENT_ESTABLISHED}, accepting));
    connections_.push_back(std::move(connection));
    return {};
  }
}

// A failure drops all connections of this rank, so that the other side's wait ends at once.
Status Connector::bring_up(const Introduction& with, ibv_qp* queue_pair, std::size_t lane) {
  Status done = rank_ == 0 ? connect(with, queue_pair, lane) : accept(with, queue_pair, lane);
  if (!done) connections_.clear();  // the other side sees its connections end
  return done;
}

}  // namespace railgauge::verbs
