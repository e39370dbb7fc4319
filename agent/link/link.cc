#include "agent/link/link.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>

#include "controller/api/agent.grpc.pb.h"
#include "controller/api/contract.h"
#include "controller/api/controller_list.h"

namespace railgauge::agent {
namespace {
using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int kMaxReconnectMs = 1000;  // gRPC's own retries within one dial
constexpr int kMaxMessageBytes = 16 << 20;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr double kMostWaitOfSeveralSeconds = 5;

bool is_unix(const std::string& target) { return target.starts_with("unix:"); }

// The paths, where TLS is used.
trust::PemFiles files_of(const LinkOptions& options, const std::vector<std::string>& controllers) {
  if (std::ranges::all_of(controllers, is_unix)) return {};
  return {.certificate = options.tls_cert, .key = options.tls_key, .authority = options.tls_ca};
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const LinkOptions& options,
                                                                 const std::string& controller,
                                                                 ClientTls& tls) {
  if (is_unix(controller) || options.tls_cert.empty()) return grpc::InsecureChannelCredentials();
  trust::Material material = RG_TRY(tls.newest());
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = std::move(material.authority);
  ssl.pem_private_key = std::move(material.key);
  ssl.pem_cert_chain = std::move(material.certificate);
  return grpc::SslCredentials(ssl);
}

// Returns a new channel for each dial, without a shared subchannel whose backoff would add to ours.
Result<std::shared_ptr<grpc::Channel>> channel_to(const LinkOptions& options,
                                                  const std::string& controller, ClientTls& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(options.welcome_seconds * 1000));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(options.keepalive_seconds * 1000));
  arguments.SetInt(
      GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
      std::min(kKeepaliveTimeoutMs, static_cast<int>(options.keepalive_seconds * 1000)));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a node's proxy is for other traffic
  return grpc::CreateCustomChannel(controller, RG_TRY(credentials_of(options, controller, tls)),
                                   arguments);
}

double unit_random() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

std::string words(const api::ContractVersion& version) {
  return fmt::format("{}.{}", version.major(), version.minor());
}

std::string reason_of(const grpc::Status& status) {
  if (status.ok()) return "the controller closed the stream";
  return status.error_message().empty()
             ? fmt::format("gRPC status {}", static_cast<int>(status.error_code()))
             : status.error_message();
}
}  // namespace

Status check_link_options(const LinkOptions& options) {
  if (options.controller.empty())
    return fail(Code::kInvalidArgument, "no controller is given; use --controller HOST:PORT");
  const int files = static_cast<int>(!options.tls_cert.empty()) +
                    static_cast<int>(!options.tls_key.empty()) +
                    static_cast<int>(!options.tls_ca.empty());
  if (files != 0 && files != 3)
    return fail(Code::kInvalidArgument, "--tls-cert, --tls-key and --tls-ca go together");
  const std::vector<std::string> controllers = api::controllers_of(options.controller);
  if (controllers.empty())
    return fail(Code::kInvalidArgument, "--controller has no address; use HOST:PORT,HOST:PORT");
  if (files == 0 && !options.insecure && !std::ranges::all_of(controllers, is_unix))
    return fail(Code::kInvalidArgument,
                fmt::format("controller {}: TCP needs --tls-cert, --tls-key and --tls-ca, or "
                            "--insecure where nobody else can reach it",
                            options.controller));
  return {};
}

namespace {

// Several controllers: each wait is short, since another one may be there.
LinkOptions for_several(LinkOptions options) {
  options.welcome_seconds = std::min(options.welcome_seconds, options.welcome_of_several_seconds);
  options.keepalive_seconds =
      std::min(options.keepalive_seconds, options.keepalive_of_several_seconds);
  options.backoff.most_seconds = std::min(options.backoff.most_seconds, kMostWaitOfSeveralSeconds);
  return options;
}

}  // namespace

Link::Link(LinkOptions options, std::function<void()> wake)
    : options_(api::controllers_of(options.controller).size() > 1 ? for_several(std::move(options))
                                                                  : std::move(options)),
      controllers_(api::controllers_of(options_.controller)),
      wake_(std::move(wake)),
      tls_(files_of(options_, controllers_)),
      controller_(options_.controller) {}

Link::~Link() { stop(); }

void Link::set_hello(api::Hello hello) {
  *hello.mutable_contract() = api::to_message(api::kContract);
  const std::lock_guard lock(mutex_);
  hello_ = std::move(hello);
}

void Link::start() {
  dialler_ = std::thread([this] { dial_for_ever(); });
}

void Link::redial() {
  const std::lock_guard lock(mutex_);
  redial_ = true;
  if (context_ != nullptr) context_->TryCancel();
  changed_.notify_all();
}

bool Link::send(api::AgentMessage message) {
  const std::lock_guard lock(mutex_);
  if (!attached_ || !owner_knows_) return true;
  if (!outbox_.push(std::move(message))) return false;
  changed_.notify_all();
  return true;
}

std::vector<LinkEvent> Link::take() {
  const std::lock_guard lock(mutex_);
  std::vector<LinkEvent> taken(std::make_move_iterator(events_.begin()),
                               std::make_move_iterator(events_.end()));
  events_.clear();
  // A stream's kLost is posted before the next one attaches, so the newest of both counts.
  for (const LinkEvent& event : taken)
    if (event.kind != LinkEvent::Kind::kMessage)
      owner_knows_ = event.kind == LinkEvent::Kind::kAttached;
  changed_.notify_all();
  return taken;
}

// Between two streams it is the one of the last dial.
std::string Link::controller() {
  const std::lock_guard lock(mutex_);
  return controller_;
}

bool Link::idle() {
  const std::lock_guard lock(mutex_);
  return outbox_.empty();
}

void Link::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.notify_all();
  }
  if (dialler_.joinable()) dialler_.join();
}

void Link::post(LinkEvent event) {
  {
    std::unique_lock lock(mutex_);
    // The reader stops reading while the owner is behind, so that gRPC's flow control holds the
    // controller back.
    changed_.wait(lock, [this] { return stopping_ || events_.size() < kMaxEvents; });
    events_.push_back(std::move(event));
  }
  wake_();
}

bool Link::wait_before_dial(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, duration<double>(seconds), [this] { return stopping_ || redial_; });
  redial_ = false;
  return !stopping_;
}

// The pause is between rounds over all controllers, so that a dead one costs no pause.
void Link::dial_for_ever() {
  Backoff backoff(options_.backoff);
  double wait_seconds = 0;
  while (wait_before_dial(wait_seconds)) {
    const auto dialled = steady_clock::now();
    const Ended ended = run_round();
    if (duration<double>(steady_clock::now() - dialled).count() >= options_.stable_seconds)
      backoff.reset();
    wait_seconds = ended.why.permanent ? backoff.refused_seconds(unit_random())
                                       : backoff.next_seconds(unit_random());
  }
}

// One event for a round: a standby's refusal is no news while another controller is tried.
Link::Ended Link::run_round() {
  Ended round{.was_attached = false, .why = {.reason = "", .permanent = true}};
  for (std::size_t i = 0; i < controllers_.size() && !round.was_attached; ++i) {
    const std::size_t place = (preferred_ + i) % controllers_.size();
    Ended ended = run_stream(controllers_[place]);
    round.was_attached = ended.was_attached;
    round.why.permanent =
        ended.was_attached ? ended.why.permanent : round.why.permanent && ended.why.permanent;
    if (ended.was_attached || controllers_.size() == 1)
      round.why.reason = std::move(ended.why.reason);
    else
      round.why.reason +=
          fmt::format("{}{}: {}", i == 0 ? "" : "; ", controllers_[place], ended.why.reason);
    if (!ended.was_attached) continue;
    preferred_ = place;
  }
  post({LinkEvent::Kind::kLost, {}, round.why.reason, round.why.permanent});
  return round;
}

Link::Ended Link::run_stream(const std::string& controller) {
  auto channel = channel_to(options_, controller, tls_);
  if (!channel) return end_stream(channel.error().message);
  const auto stub = api::AgentLink::NewStub(*channel);
  grpc::ClientContext context;
  api::AgentMessage hello;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return {.was_attached = true};
    context_ = &context;
    stream_over_ = false;
    controller_ = controller;
    *hello.mutable_hello() = hello_;
  }
  if (options_.generations != nullptr)
    hello.mutable_hello()->set_generation(options_.generations->seen());
  hello.mutable_hello()->set_unix_time_seconds(
      duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  const auto stream = stub->Attach(&context);
  std::thread writer([&] { write_loop(*stream, context); });
  api::ControllerMessage message;
  bool welcomed =
      stream->Write(hello) && stream->Read(&message) && welcomed_by(message, controller);
  while (welcomed && stream->Read(&message))
    post({LinkEvent::Kind::kMessage, std::move(message), {}, false});
  {
    const std::lock_guard lock(mutex_);
    stream_over_ = true;
    // Without a refusal a cancel would lose the status with which the controller ended the stream.
    if (!refusal_.reason.empty()) context.TryCancel();
    changed_.notify_all();
  }
  writer.join();
  return end_stream(reason_of(stream->Finish()));
}

bool Link::welcomed_by(const api::ControllerMessage& first, const std::string& controller) {
  const api::ContractVersion& theirs = first.welcome().contract();
  Refusal refusal;
  if (first.has_refused())
    refusal = {"refused: " + first.refused().reason(), first.refused().permanent()};
  else if (!first.has_welcome())
    refusal = {"its first message is neither Welcome nor Refused", true};
  else if (!api::contracts_match(theirs))
    refusal = {fmt::format("it speaks contract {}, this agent {}; upgrade the older", words(theirs),
                           words(api::to_message(api::kContract))),
               true};
  else if (options_.generations != nullptr) {
    const Status taken = options_.generations->take(first.welcome().generation(), controller);
    if (!taken) refusal = {taken.error().message, false};
  }
  const bool welcomed = refusal.reason.empty();
  {
    const std::lock_guard lock(mutex_);
    attached_ = welcomed;
    owner_knows_ = false;
    refusal_ = std::move(refusal);
    changed_.notify_all();
  }
  if (welcomed) post({LinkEvent::Kind::kAttached, first, {}, false});
  return welcomed;
}

template <class Stream>
void Link::write_loop(Stream& stream, grpc::ClientContext& context) {
  std::unique_lock lock(mutex_);
  const bool answered = changed_.wait_for(lock, duration<double>(options_.welcome_seconds), [this] {
    return attached_ || stream_over_ || stopping_;
  });
  if (!answered) {
    refusal_.reason = fmt::format("no answer within {} s", options_.welcome_seconds);
    context.TryCancel();
    return;
  }
  while (!stream_over_ && !stopping_) {
    if (outbox_.empty()) {
      changed_.wait(lock, [this] { return !outbox_.empty() || stream_over_ || stopping_; });
      continue;
    }
    const api::AgentMessage& message = outbox_.front();  // a deque's front stays where it is
    lock.unlock();
    const bool written = stream.Write(message);
    lock.lock();
    if (!written) return;  // the reader gets the reason
    outbox_.written();
  }
}

// The reason is the refusal, where there was one: gRPC's own words would hide it.
Link::Ended Link::end_stream(std::string reason) {
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
  Ended ended{.was_attached = attached_};
  attached_ = false;
  outbox_.clear();
  if (!refusal_.reason.empty()) reason = std::move(refusal_.reason);
  ended.why = {.reason = std::move(reason), .permanent = refusal_.permanent};
  refusal_ = {};
  return ended;
}

}  // namespace railgauge::agent
