// The stream to the controller: dials, sends Hello, keeps one AgentLink.Attach stream, and dials
// again after a loss, without limit. A thin edge with two threads: one dials and reads, one writes.
// The owner calls from a third thread and takes events when woken.
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
#include "agent/link/client_tls.h"
#include "agent/link/generation.h"
#include "agent/link/outbox.h"
#include "controller/api/agent.pb.h"
#include "kernels/core/base/result.h"

namespace grpc {
class ClientContext;
class Status;  // NOLINT(bugprone-forward-declaration-namespace): protobuf has another
}  // namespace grpc

namespace railgauge::agent {

struct LinkOptions {
  std::string controller;  // HOST:PORT or unix:/path; several by commas, the first one first
  bool insecure = false;   // plain TCP, by the operator's choice
  std::string tls_cert;    // PEM files, read again at every dial, see client_tls.h
  std::string tls_key;
  std::string tls_ca;
  Backoff::Options backoff;
  double welcome_seconds = 10;  // from the dial to the controller's first answer
  // With several controllers, a dead one must not hold up the dial to the next.
  double welcome_of_several_seconds = 4;
  double stable_seconds = 10;  // a stream of this length resets the backoff
  double keepalive_seconds = 20;
  double keepalive_of_several_seconds = 6;  // the controller takes no more than one in 5 s
  // Fences a controller that was deposed; it outlives the link. nullptr: nobody keeps generations.
  GenerationBook* generations = nullptr;
};
// kInvalidArgument: no controller is given, TCP has neither certificates nor --insecure, or only
// some of the TLS files are given. Reads no file.
Status check_link_options(const LinkOptions& options);

struct LinkEvent {
  enum class Kind { kAttached, kLost, kMessage };
  Kind kind = Kind::kMessage;
  api::ControllerMessage message;  // for kMessage; the Welcome for kAttached
  std::string reason;              // for kLost, one line
  bool permanent = false;          // for kLost: a retry fails until a person acts
};

class Link {
 public:
  // The link's threads call `wake` whenever take() has an event.
  Link(LinkOptions options, std::function<void()> wake);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Sets the Hello of the next dial; the link adds the contract's version.
  void set_hello(api::Hello hello);
  // Begins to dial. Call it after the first set_hello().
  void start();
  // Ends the current stream, if any, and dials again at once with the newest Hello.
  void redial();
  // Queues a message for the stream that the last take() reported as attached. Without such a
  // stream, or when the stream is lost since, the message is dropped and the result is true: after
  // kAttached the owner repeats the messages that matter. False: the queue is full.
  bool send(api::AgentMessage message);
  // Returns the events since the last call, in order.
  std::vector<LinkEvent> take();
  // Whether no message waits to be written.
  bool idle();
  // The controller of the stream, or of the last one; for messages.
  std::string controller();
  // The TLS files; any thread. Does nothing over a unix socket and with --insecure.
  ClientTls& tls() { return tls_; }
  // Cancels the stream and joins the threads. The destructor does the same.
  void stop();

 private:
  static constexpr std::size_t kMaxEvents = 256;

  struct Refusal {
    std::string reason;
    bool permanent = false;
  };
  // How a dial, or the stream that it made, ended.
  struct Ended {
    bool was_attached = false;
    Refusal why{};
  };
  void dial_for_ever();
  // Dials the controllers in turn, from the last one that worked, until a stream was attached and
  // has ended, or none is left. Returns how it ended.
  Ended run_round();
  Ended run_stream(const std::string& controller);
  bool welcomed_by(const api::ControllerMessage& first, const std::string& controller);
  template <class Stream>
  void write_loop(Stream& stream, grpc::ClientContext& context);
  void post(LinkEvent event);
  Ended end_stream(std::string reason);
  bool wait_before_dial(double seconds);

  const LinkOptions options_;
  const std::vector<std::string> controllers_;
  const std::function<void()> wake_;
  ClientTls tls_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool stopping_ = false;
  bool attached_ = false;
  bool owner_knows_ = false;  // take() has reported the attached stream
  bool stream_over_ = true;
  bool redial_ = false;
  grpc::ClientContext* context_ = nullptr;  // of the stream in progress
  api::Hello hello_;
  std::string controller_;
  Outbox outbox_;
  std::deque<LinkEvent> events_;
  Refusal refusal_;  // the reason to give the stream up; "": none yet

  std::size_t preferred_ = 0;  // place of the last controller that worked; on the dialler alone

  std::thread dialler_;
};

}  // namespace railgauge::agent
