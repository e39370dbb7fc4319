// A real gRPC server behind the accept loop: how it names a peer, and how a handshake is known to
// have ended.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/listen/tcp_listener.h"
#include "controller/testing/tcp_client.h"

namespace railgauge {
namespace {

// Notes each call's peer and refuses the call.
class NotingService : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    {
      const std::lock_guard lock(mutex_);
      peers_.push_back(context->peer());
    }
    return grpc::CallbackGenericService::CreateReactor(context);
  }
  std::vector<std::string> peers() {
    const std::lock_guard lock(mutex_);
    return peers_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> peers_;
};

class ExternalAcceptorTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened =
        TcpListener::open("listen", {.host = GetParam(), .port = 0}, TcpListener::Protocol::kPlain);
    if (!opened) GTEST_SKIP() << opened.error().message;
    listener_ = std::move(*opened);
    using enum grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        FROM_FD, grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(server_);
    listener_->start([this](int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = fd;
      acceptor_->HandleNewConnection(&connection);
    });
  }
  void TearDown() override {
    if (listener_) listener_->stop();
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }
  grpc::Status call() {
    const std::string host = std::string(GetParam()).find(':') == std::string::npos
                                 ? std::string(GetParam())
                                 : fmt::format("[{}]", GetParam());
    grpc::GenericStub stub(grpc::CreateChannel(fmt::format("{}:{}", host, listener_->port()),
                                               grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const grpc::Slice nothing("");
    grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer answer;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<grpc::Status> status;
    stub.UnaryCall(&context, "/any/Call", {}, &request, &answer, [&](grpc::Status ended) {
      const std::lock_guard lock(mutex);
      status = std::move(ended);
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return status.has_value(); });
    return *status;
  }

  NotingService service_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_P(ExternalAcceptorTest, GrpcNamesThePeerAsTheListenerDoesSoItsFirstCallProvesIt) {
  EXPECT_EQ(call().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  ASSERT_EQ(service_.peers().size(), 1U);
  EXPECT_EQ(listener_->counts().unproven, 1U);
  listener_->note_call(service_.peers()[0], "");
  EXPECT_EQ(listener_->counts().unproven, 0U) << service_.peers()[0];
}

INSTANTIATE_TEST_SUITE_P(Addresses, ExternalAcceptorTest,
                         testing::Values("127.0.0.1", "::1", "localhost"));

}  // namespace
}  // namespace railgauge
