#include "controller/tcp_port.h"

#include <utility>

#include "controller/fleet/event_loop.h"
#include "controller/listen/host_port.h"
#include "kernels/core/group/framing.h"

namespace railgauge {
namespace {

constexpr int kMaxMessageBytes = kMaxFrameBytes;
constexpr int kKeepaliveMilliseconds = 10'000;
constexpr int kLeastPingMilliseconds = 5'000;
// TLS and the first HTTP/2 settings. A peer that takes longer holds the handshake up.
constexpr int kHandshakeMilliseconds = 10'000;
// Calls at a time on one connection. An agent has one, a tool a few; each costs some 17 KiB.
constexpr int kMostStreamsOfAConnection = 32;
// Without a call for this long a connection is closed; a client opens another with its next call.
constexpr int kIdleMilliseconds = 60'000;
constexpr int kMostMetadataBytes = 8 * 1'024;
// Near this, gRPC frees the read buffers of idle connections first: after a Hello each of thousands
// of agents would keep 0.1 MB. Beyond it, gRPC ends streams. The size is reckoned, not tested:
// 10,000 agents with a message of 64 KB each under way, which is HTTP/2's window, are below it.
constexpr std::size_t kQuotaBytes = 1024UL * 1024 * 1024;
constexpr int kMostSyncThreads = 32;

}  // namespace

void bound_grpc(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kLeastPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreamsOfAConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  // A probe is a ping after a message, and its answer, to find a window larger than 64 KB.
  // Thousands of agents whose heartbeats are all that they send would double the frames, and the
  // memory that their messages may have under way at once would have no bound.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Only reflection and health use the synchronous interface.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  // A stream of reflection has a thread while it is open; beyond these, it is refused.
  grpc::ResourceQuota quota("railgauge");
  quota.SetMaxThreads(kMostSyncThreads);
  quota.Resize(kQuotaBytes);
  builder.SetResourceQuota(quota);
}

// The relay ends TLS, so gRPC has none.
Result<std::unique_ptr<TcpPort>> TcpPort::open(const TcpOptions& options, const TlsKeeper* tls,
                                               auth::PeerBook& peers,
                                               grpc::ServerBuilder& builder) {
  using enum grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const HostPort address = RG_TRY(parse_host_port("listen", options.listen));
  std::unique_ptr<TcpPort> port(new TcpPort(tls, peers));
  port->listener_ = RG_TRY(TcpListener::open(
      "listen", address,
      tls == nullptr ? TcpListener::Protocol::kPlain : TcpListener::Protocol::kTls));
  port->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      FROM_FD, grpc::InsecureServerCredentials());
  peers.on_call([raw = port.get()](const auth::Peer& peer) {
    if (peer.certificate.serial.empty()) raw->listener_->note_call(peer.connection);
  });
  return port;
}

// The listener ends first: it hands connections to the relay.
TcpPort::~TcpPort() {
  stop();
  finish();
}

// From the port through the relay to gRPC.
Status TcpPort::start() {
  relay::Relay::Options options;
  if (tls_ != nullptr) options.tls = [this] { return tls_->server(); };
  options.make_pair = [this](std::uint64_t id, const std::string& certificate) {
    return listener_->make_pair(id, certificate);
  };
  options.introduce = [this](const std::string& name, relay::Visitor visitor, Fd theirs) {
    peers_.enter(name, visitor.certificate
                           ? auth::holder_of(*visitor.certificate, std::move(visitor.address),
                                             visitor.connection)
                           : auth::anybody(std::move(visitor.address), visitor.connection));
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = theirs.release();
    acceptor_->HandleNewConnection(&connection);
  };
  options.leave = [this](const std::string& name) {
    peers_.leave(name, fleet::monotonic_seconds());
  };
  relay_ = RG_TRY(relay::Relay::start(std::move(options)));
  listener_->start([this](Fd connection, std::uint64_t id, const sockaddr_storage& peer) {
    relay_->take(std::move(connection), id, peer);
  });
  return {};
}

// A port that could not be opened has no listener.
void TcpPort::stop() {
  if (listener_) listener_->stop();
  if (relay_) relay_->close();
}

void TcpPort::finish() {
  if (relay_) relay_->stop();
}

void TcpPort::end_invalid(double now, double now_unix) {
  for (const std::uint64_t connection : peers_.invalid_connections(now, now_unix))
    listener_->end(connection);
}

}  // namespace railgauge
