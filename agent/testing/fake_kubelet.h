// A real gRPC server on a unix socket in the kubelet's place. It answers any method of any service
// with the bytes, the status or the silence that a test chose. It has no schema, so a test states
// the bytes of the kubelet's published API itself.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace railgauge::agent {

class FakeKubelet final : public grpc::CallbackGenericService {
 public:
  struct Answer {
    std::string bytes{};
    grpc::Status status{};
    bool hangs = false;  // until the caller goes away
  };
  FakeKubelet(const std::string& socket, Answer answer) : answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  FakeKubelet(const std::string& socket, std::string bytes)
      : FakeKubelet(socket, Answer{.bytes = std::move(bytes)}) {}
  ~FakeKubelet() override { server_->Shutdown(std::chrono::system_clock::now()); }
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;

  // Returns the method of the last call, "/v1.PodResourcesLister/List".
  std::string method() const {
    const std::lock_guard lock(mutex_);
    return method_;
  }
  void set(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }

 private:
  class Reactor final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(Answer answer) : answer_(std::move(answer)), slice_(answer_.bytes) {
      StartRead(&asked_);
    }
    void OnReadDone(bool) override {
      if (answer_.hangs) return;
      bytes_ = grpc::ByteBuffer(&slice_, 1);
      if (!answer_.status.ok()) return Finish(answer_.status);
      StartWriteAndFinish(&bytes_, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnCancel() override {
      if (answer_.hangs) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    Answer answer_;
    grpc::Slice slice_;
    grpc::ByteBuffer bytes_;
    grpc::ByteBuffer asked_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const std::lock_guard lock(mutex_);
    method_ = context->method();
    return new Reactor(answer_);
  }

  mutable std::mutex mutex_;  // guards both below
  Answer answer_;
  std::string method_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace railgauge::agent
