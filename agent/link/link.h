// The stream to the controller: dials, says Hello, keeps one AgentLink.Attach stream and comes back
// after a loss. A thin edge with two threads of its own, one that dials and reads, one that writes;
// its owner lives in another and takes events when woken. It never gives up.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/link/backoff.h"
#include "agent/link/outbox.h"
#include "controller/api/agent.pb.h"
#include "kernels/core/base/result.h"

namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace railgauge::agent {

struct LinkOptions {
  std::string controller;  // HOST:PORT or unix:/path
  bool insecure = false;   // plain TCP, said so by the operator
  std::string tls_cert;    // PEM files, read again at every dial so that renewal needs no restart
  std::string tls_key;
  std::string tls_ca;
  Backoff::Options backoff;
  double welcome_seconds = 10;  // from the dial to the controller's first answer
  double stable_seconds = 10;   // a stream that lasted so long resets the backoff
  double keepalive_seconds = 20;
};
// kInvalidArgument when TCP has neither certificates nor --insecure, or only some of the files.
Status check_link_options(const LinkOptions& options);

struct LinkEvent {
  enum class Kind { kAttached, kLost, kMessage };
  Kind kind = Kind::kMessage;
  api::ControllerMessage message;  // of kMessage; of kAttached the Welcome
  std::string reason;              // of kLost, one line
  bool permanent = false;          // of kLost: retrying cannot help until somebody acts
};

class Link {
 public:
  // `wake` is called from the link's threads whenever take() has something.
  Link(LinkOptions options, std::function<void()> wake);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // The next dial's hello; the link adds the contract's version.
  void set_hello(api::Hello hello);
  // Begins to dial. Call after the first set_hello.
  void start();
  // Ends the stream if there is one; the link dials again at once, with the newest Hello.
  void redial();
  // Queues a message for the stream whose kAttached was the newest event that take() gave. Without
  // one, or when that stream is gone, it is dropped, as all is that a lost stream may not have
  // carried: kAttached is the time to say again what matters. False when the queue is full.
  bool send(api::AgentMessage message);
  // Events since the last call, in order.
  std::vector<LinkEvent> take();
  // Nothing waits to be written.
  bool idle();
  // Cancels the stream and joins the threads. The destructor does the same.
  void stop();

 private:
  static constexpr std::size_t kMaxEvents = 256;

  struct Refusal {
    std::string reason;
    bool permanent = false;
  };
  void dial_for_ever();
  void run_stream();
  bool welcomed_by(const api::ControllerMessage& first);
  template <class Stream>
  void write_loop(Stream& stream, grpc::ClientContext& context);
  void post(LinkEvent event);
  void end_stream(std::string reason);
  bool wait_before_dial(double seconds);

  const LinkOptions options_;
  const std::function<void()> wake_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool stopping_ = false;
  bool attached_ = false;
  bool owner_knows_ = false;  // of the stream that is attached
  bool stream_over_ = true;
  bool redial_ = false;
  grpc::ClientContext* context_ = nullptr;  // of the stream in progress
  api::Hello hello_;
  Outbox outbox_;
  std::deque<LinkEvent> events_;
  Refusal refusal_;  // why the stream in progress is being given up, "" while it is not
  bool refused_for_good_ = false;  // how the last stream ended

  std::thread dialler_;
};

}  // namespace railgauge::agent
