#include "controller/http/http_server.h"

#include <httplib.h>

#include <atomic>
#include <thread>

#include <fmt/format.h>

namespace railgauge::http {

struct Server::Impl {
  httplib::Server server;
  std::thread thread;
  std::atomic<bool> ended = false;  // listening is over, perhaps because it could not begin
  int port = 0;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// Joins the thread, so that no page function runs after this returns.
Server::~Server() {
  // stop() before the thread has begun to listen would be forgotten.
  while (!impl_->ended && !impl_->server.is_running()) std::this_thread::yield();
  impl_->server.stop();
  impl_->thread.join();
}

int Server::port() const { return impl_->port; }

// Binds before the thread starts, so that a taken port is an error of the caller and not a log
// line.
Result<std::unique_ptr<Server>> Server::start(const std::string& host, int port, Pages pages) {
  auto impl = std::make_unique<Impl>();
  httplib::Server& server = impl->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // Without httplib's SO_REUSEPORT, which would let two controllers share the port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  constexpr time_t kTimeoutSeconds = 5;
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_keep_alive_timeout(kTimeoutSeconds);
  server.set_payload_max_length(0);
  server.Get("/metrics",
             [metrics = pages.metrics](const httplib::Request&, httplib::Response& response) {
               response.set_content(metrics(), "text/plain; version=0.0.4; charset=utf-8");
             });
  server.Get("/healthz", [pages](const httplib::Request&, httplib::Response& response) {
    const std::string trouble = !pages.healthy() ? "stopping"
                                : pages.trouble  ? pages.trouble()
                                                 : "";
    if (!trouble.empty()) response.status = 503;
    response.set_content((trouble.empty() ? "ok" : trouble) + "\n", "text/plain");
  });
  impl->port = port == 0                         ? server.bind_to_any_port(host)
               : server.bind_to_port(host, port) ? port
                                                 : -1;
  if (impl->port < 0)
    return fail(
        Code::kAlreadyExists,
        fmt::format("{}:{}: bind failed: the port is taken or the address is not this host's", host,
                    port));
  impl->thread = std::thread([&one = *impl] {
    one.server.listen_after_bind();
    one.ended = true;
  });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace railgauge::http
