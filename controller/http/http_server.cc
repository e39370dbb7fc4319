#include "controller/http/http_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "controller/http/channel.h"
#include "controller/http/connections.h"
#include "controller/http/local_host.h"
#include "controller/http/web_config.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/exhaustion.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::http {
namespace {

constexpr int kBacklog = 128;

// The request under way on this thread: httplib's handlers get the request alone.
struct Serving {
  Connections::Connection* connection = nullptr;
  Channel* channel = nullptr;
  WebConfigFile* file = nullptr;
  std::shared_ptr<WebConfig> config{};  // of the request, which is newer than that of the handshake
  bool is_last = false;                 // the connection ends with this answer
  std::string certificate{};            // of the client, verified; PEM
};
thread_local Serving serving;

using Addresses = Handle<ReleasedBy<addrinfo*, ::freeaddrinfo>>;

// A socket that listens. An empty host is every address.
Result<Fd> listen_on(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int failed = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                   std::to_string(port).c_str(), &hints, &raw);
  if (failed != 0)
    return fail(Code::kAlreadyExists, fmt::format("{}:{}: {}", host, port, ::gai_strerror(failed)));
  const Addresses addresses(raw);
  int error = 0;
  for (const addrinfo* one = raw; one != nullptr; one = one->ai_next) {
    Fd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    // Never SO_REUSEPORT, which would let two controllers share the port.
    if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (socket && ::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(socket.get(), kBacklog) == 0)
      return socket;
    error = errno;
  }
  return fail(
      Code::kAlreadyExists,
      fmt::format("{}:{}: bind failed: the port is taken or the address is not this host's: "
                  "{}",
                  host, port, errno_words(error)));
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// An IPv4 peer of a socket for both has an address such as ::ffff:192.0.2.1.
std::string address_of(std::string_view host, int port) {
  constexpr std::string_view kMapped = "::ffff:";
  if (host.starts_with(kMapped) && host.find('.') != std::string_view::npos)
    host.remove_prefix(kMapped.size());
  return host.find(':') == std::string_view::npos ? fmt::format("ipv4:{}:{}", host, port)
                                                  : fmt::format("ipv6:%5B{}%5D:{}", host, port);
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// A browser takes Brotli, of which httplib knows the best alone: 60 ms for 8 kB, seconds for a tile
// of a matrix. It gets gzip, and on this host no packing at all.
void settle_packing(httplib::Request& request) {
  const std::string wanted = request.get_header_value("Accept-Encoding");
  if (wanted.find("br") == std::string::npos) return;
  request.headers.erase("Accept-Encoding");
  if (wanted.find("gzip") != std::string::npos && !is_loopback(request.remote_addr))
    request.headers.emplace("Accept-Encoding", "gzip");
}

// httplib parses requests and writes answers; sockets, threads and time are ours.
class Protocol final : public httplib::Server {
 public:
  Protocol(Connections& connections, railgauge::http::Server::Pages pages)
      : connections_(connections), pages_(std::move(pages)) {
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             const std::exception_ptr&) { refuse(response, 500, "no page\n"); });
    set_expect_100_continue_handler([](const httplib::Request&, httplib::Response&) {
      return 417;  // no body is wanted
    });
  }

  // One request and its answer; false: the connection has to end.
  bool serve(Channel& channel, bool is_last) {
    bool is_closed = false;
    bool is_complete = false;  // httplib counts a request that is faulty or too late as served
    serving.is_last = is_last;
    const bool served =
        process_request(channel, is_last, is_closed, [&](httplib::Request& request) {
          is_complete = true;
          connections_.set_answering(serving.connection, true);
          channel.set_deadline(monotonic_now_ns() + railgauge::http::Server::kAnswerSeconds * 1e9);
          request.ranges.clear();  // a thousand ranges would be a thousand pages
          settle_packing(request);
          // A body stays unread, and its bytes would be taken for a request.
          serving.is_last = serving.is_last || request.has_header("Content-Length") ||
                            request.has_header("Transfer-Encoding");
        });
    connections_.set_answering(serving.connection, false);
    return served && is_complete && !is_closed && !serving.is_last;
  }

 private:
  static void refuse(httplib::Response& response, int status, const char* text) {
    response.status = status;
    response.set_content(text, "text/plain; charset=utf-8");
  }

  // An answer with "close" ends the connection.
  static void end_after(httplib::Response& response) {
    serving.is_last = true;
    response.set_header("Connection", "close");
  }

  // A request without a password is how a browser begins, and no refusal.
  void note_refused(const httplib::Request& request, const std::string& header, Error reason) {
    if (header.empty() || !pages_.refused) return;
    pages_.refused({.user = serving.config->auth.user_of(header),
                    .address = address_of(request.remote_addr, request.remote_port),
                    .path = request.path,
                    .reason = std::move(reason),
                    .method = request.method});
  }

  // As exporters of Prometheus do it, every path asks for the password.
  bool may_read(const httplib::Request& request, httplib::Response& response) {
    BasicAuth& auth = serving.config->auth;
    if (!auth.has_users()) return true;
    const std::string header = request.get_header_value("Authorization");
    switch (auth.check(header, serving.connection->source)) {
      case BasicAuth::Answer::kRight:
        return true;
      case BasicAuth::Answer::kWrong:
        note_refused(request, header, {Code::kUnauthenticated, "wrong user or password"});
        response.set_header("WWW-Authenticate", "Basic");
        refuse(response, 401, "Unauthorized\n");
        return false;
      case BasicAuth::Answer::kBusy:
        note_refused(request, header,
                     {Code::kResourceExhausted, "too many passwords wait to be checked"});
        response.set_header("Retry-After", "5");
        refuse(response, 429, "too many passwords wait to be checked\n");
        end_after(response);
        return false;
    }
    return false;
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    response.set_header("X-Content-Type-Options", "nosniff");
    if (serving.config && !may_read(request, response)) return;
    if (pages_.other && request.path != "/healthz") {
      answer_other(request, response);
    } else if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      refuse(response, 405, "only GET\n");
      end_after(response);
    } else if (request.path == "/metrics") {
      answer_page(pages_.metrics, "text/plain; version=0.0.4; charset=utf-8", response);
    } else if (request.path == "/sd" && pages_.targets) {
      answer_page(pages_.targets, "application/json", response);
    } else if (request.path == "/healthz") {
      const std::string trouble = !pages_.healthy() ? "stopping"
                                  : pages_.trouble  ? pages_.trouble()
                                                    : "";
      response.status = trouble.empty() ? 200 : 503;
      const std::string remarks = pages_.remarks ? pages_.remarks() : "";
      response.set_content((trouble.empty() ? "ok" : trouble) + "\n" + remarks, "text/plain");
    } else {
      refuse(response, 404,
             pages_.targets ? "only /metrics, /sd and /healthz\n" : "only /metrics and /healthz\n");
    }
  }

  // An empty page is one that is not known yet.
  void answer_page(const std::function<std::string()>& page, const char* type,
                   httplib::Response& response) {
    if (!connections_.take_page(serving.connection)) {
      response.set_header("Retry-After", "5");
      return refuse(response, 503, "too many pages are being read\n");
    }
    std::string text = page();
    connections_.page_made(serving.connection);
    if (text.empty()) {
      response.set_header("Retry-After", "5");
      return refuse(response, 503, "not known yet\n");
    }
    response.status = 200;
    response.set_content(text, type);
  }

  // httplib reads none for a handler of all paths, so that the stream is read here.
  // Reads the body of a POST, empty without a length; false: it is too long, has none though it is
  // sent in pieces, or did not come in time.
  [[nodiscard]] bool read_body(const httplib::Request& from, std::string& body) const {
    if (from.method != "POST" || pages_.most_body_bytes == 0) return true;
    const std::string given = from.get_header_value("Content-Length");
    const auto length = parse_integer(given.empty() ? "0" : given);
    if (!length || *length < 0 || from.has_header("Transfer-Encoding") ||
        static_cast<std::size_t>(*length) > pages_.most_body_bytes)
      return false;
    body.resize(static_cast<std::size_t>(*length));
    Channel& channel = *serving.channel;
    channel.set_deadline(monotonic_now_ns() + railgauge::http::Server::kBodySeconds * 1e9);
    for (std::size_t at = 0; at < body.size();) {
      const ssize_t got = channel.read(body.data() + at, body.size() - at);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    channel.set_deadline(monotonic_now_ns() + railgauge::http::Server::kAnswerSeconds * 1e9);
    return true;
  }

  void refuse_body(const httplib::Request& from, httplib::Response& response) {
    constexpr const char* kWhy = "the body is too long, has no length, or came too late";
    if (pages_.refused)
      pages_.refused({.address = address_of(from.remote_addr, from.remote_port),
                      .path = from.path,
                      .reason = {Code::kOutOfRange, kWhy},
                      .method = from.method});
    end_after(response);
    refuse(response, 413, (std::string(kWhy) + "\n").c_str());
  }

  // An answer without an end. Head and parts go to the channel past httplib, whose own answer then
  // finds no time left. It gives the page's place back, and its connection leaves first when
  // others need room.
  void send_parts(const Answer& answer) {
    Channel& channel = *serving.channel;
    connections_.page_sent(serving.connection);
    std::string text =
        fmt::format("HTTP/1.1 {} OK\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\n",
                    answer.status, answer.type);
    for (const auto& [name, value] : answer.headers) text += fmt::format("{}: {}\r\n", name, value);
    text += "Connection: close\r\n\r\n";
    for (std::optional<std::string> part = std::move(text); part; part = answer.parts()) {
      channel.set_deadline(monotonic_now_ns() + railgauge::http::Server::kPartSeconds * 1e9);
      std::size_t sent = 0;
      while (sent < part->size()) {
        const ssize_t count = channel.write(part->data() + sent, part->size() - sent);
        if (count <= 0) break;
        sent += static_cast<std::size_t>(count);
      }
      if (sent < part->size() || channel.is_gone()) break;
    }
    channel.set_deadline(0);
  }

  void answer_other(const httplib::Request& from, httplib::Response& response) {
    std::string body;
    if (!read_body(from, body)) return refuse_body(from, response);
    const bool acts = from.method == "POST" && pages_.most_body_bytes > 0;
    using Place = Connections::Place;
    if (!connections_.take_page(serving.connection, acts ? Place::kAct : Place::kRead)) {
      response.set_header("Retry-After", "5");
      return refuse(response, 503, "too many pages are being read\n");
    }
    Request request{.method = from.method,
                    .path = from.path,
                    .certificate = serving.certificate,
                    .address = address_of(from.remote_addr, from.remote_port),
                    .body = std::move(body),
                    .is_gone = [&channel = *serving.channel] { return channel.is_gone(); }};
    request.query.insert(from.params.begin(), from.params.end());
    for (const auto& [name, value] : from.headers)
      request.headers.try_emplace(lower_case(name), value);
    if (serving.config && serving.config->auth.has_users()) {
      const std::string header = from.get_header_value("Authorization");
      request.user = serving.config->auth.user_of(header);
      // A turn to check it that is not free yet says nothing of it.
      request.is_known = [header, file = serving.file, source = serving.connection->source] {
        return file->current()->auth.check(header, source) != BasicAuth::Answer::kWrong;
      };
    }
    const Answer answer = pages_.other(request);
    if (answer.parts) {
      end_after(response);
      return send_parts(answer);
    }
    connections_.page_made(serving.connection);
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) response.set_header(name, value);
    response.set_content(answer.body, answer.type);
  }

  Connections& connections_;
  const railgauge::http::Server::Pages pages_;
};

}  // namespace

// Shared with the threads of the connections.
struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  Impl(Fd listening, Pages pages, std::unique_ptr<WebConfigFile> file)
      : socket(std::move(listening)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        config(std::move(file)),
        protocol(connections, std::move(pages)) {}

  // Accepts until `wake` is readable. Nothing that a peer or a full table of files does ends it.
  void accept_all() {
    constexpr std::chrono::milliseconds kPause(50);
    while (true) {
      pollfd both[2] = {{.fd = socket.get(), .events = POLLIN, .revents = 0},
                        {.fd = wake.get(), .events = POLLIN, .revents = 0}};
      if (::poll(both, 2, -1) < 0) continue;
      if (both[1].revents != 0) return;
      const int fd = ::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0)
        begin(fd);
      else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        std::this_thread::sleep_for(kPause);  // no descriptor or memory is free
    }
  }

  // A connection for which there is no room or no thread ends at once.
  void begin(int fd) {
    Connections::Connection* connection = connections.admit(fd, source_of(fd));
    if (connection == nullptr) {
      ::close(fd);
      return;
    }
    // httplib writes head and body apart: the body would wait 40 ms for the peer's late answer.
    constexpr int kOn = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
    try {
      const MayFail may_fail;
      std::thread([self = shared_from_this(), connection] {
        self->serve(connection);
        self->connections.release(connection);
      }).detach();
    } catch (const std::system_error&) {
      connections.release(connection);
    }
  }

  void serve(Connections::Connection* connection) {
    try {
      const MayFail may_fail;
      Channel channel(connection->fd);
      channel.set_deadline(monotonic_now_ns() + kHeaderSeconds * 1e9);
      const std::shared_ptr<WebConfig> present = config ? config->current() : nullptr;
      if (present && present->tls && !channel.shake_hands(present->tls.get())) return;
      serving = {.connection = connection,
                 .channel = &channel,
                 .file = config.get(),
                 .certificate = channel.verified_certificate()};
      for (int request = 1; channel.wait_for_request(); ++request) {
        // The headers of a later request have their own time.
        if (request > 1) channel.set_deadline(monotonic_now_ns() + kHeaderSeconds * 1e9);
        channel.begin_request();
        // A password that was removed lets nobody in, also on a connection of before. Its TLS is
        // that of before, so that the connection ends.
        serving.config = config ? config->current() : nullptr;
        const bool is_last = request == kMostRequests || serving.config != present;
        if (!protocol.serve(channel, is_last)) break;
        channel.set_deadline(monotonic_now_ns() + kIdleSeconds * 1e9);
      }
      channel.finish();
    } catch (const std::exception&) {
      // No memory: the connection ends, and the peer asks again.
    }
    serving = {};
  }

  Connections connections;
  const Fd socket;
  const Fd wake;
  const std::unique_ptr<WebConfigFile> config;  // nullptr: plain, for anybody
  Protocol protocol;
  std::thread acceptor;
};

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Waits for all threads, so that no page function runs after this returns.
Server::~Server() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(impl_->wake.get(), &one, sizeof(one)) < 0);
  impl_->acceptor.join();
  impl_->connections.end_all();
  while (impl_.use_count() > 1) std::this_thread::yield();  // the last words of those threads
}

int Server::port() const { return port_of(impl_->socket.get()); }

// Binds before the thread starts, so that a taken port is an error of the caller and not a log
// line.
Result<std::unique_ptr<Server>> Server::begin(const std::string& host, int port, Pages pages,
                                              std::unique_ptr<WebConfigFile> config) {
  Fd socket = RG_TRY(listen_on(host, port));
  const auto impl = std::make_shared<Impl>(std::move(socket), std::move(pages), std::move(config));
  impl->acceptor = std::thread([one = impl.get()] {
    // A write of OpenSSL to a closed connection is an error here, not a signal; the threads of the
    // connections inherit this.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    one->accept_all();
  });
  return std::unique_ptr<Server>(new Server(impl));
}

Result<std::unique_ptr<Server>> Server::start(const std::string& host, int port, Pages pages,
                                              const std::string& web_config) {
  std::unique_ptr<WebConfigFile> config;
  if (!web_config.empty()) config = RG_TRY(WebConfigFile::open(web_config));
  return begin(host, port, std::move(pages), std::move(config));
}

Result<std::unique_ptr<Server>> Server::start(const std::string& host, int port, Pages pages,
                                              const TlsFiles& tls) {
  return begin(host, port, std::move(pages), RG_TRY(WebConfigFile::open(tls)));
}

}  // namespace railgauge::http
