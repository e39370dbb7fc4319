// A receiver of webhooks on loopback, which checks signatures and drops repeats as a good one does.
// For tests only.
#pragma once

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "controller/trust/digest.h"

namespace railgauge::deliver {

struct ReceivedPost {
  int status = 0;  // that it was answered with
  std::string id{};
  std::string digest{};
  std::string signature{};
  std::string body{};
};

class Receiver {
 public:
  // `secret` "": any signature is taken. `port` 0: a free one.
  explicit Receiver(std::string secret, int port = 0, const std::string& certificate = "",
                    const std::string& key = "")
      : secret_(std::move(secret)),
        server_(certificate.empty()
                    ? std::make_unique<httplib::Server>()
                    : std::make_unique<httplib::SSLServer>(certificate.c_str(), key.c_str())) {
    server_->Post("/hook", [this](const httplib::Request& request, httplib::Response& answer) {
      answer.status = take(request);
    });
    if (port == 0)
      port_ = server_->bind_to_any_port("127.0.0.1");
    else if (server_->bind_to_port("127.0.0.1", port))
      port_ = port;
    serving_ = std::thread([this] { server_->listen_after_bind(); });
    for (int look = 0; look < 1'000 && !server_->is_running(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~Receiver() { stop(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void stop() {
    server_->stop();
    if (serving_.joinable()) serving_.join();
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}/hook", port_); }
  // The statuses of the next posts that are right in all else.
  void answer_next(std::vector<int> statuses) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(statuses);
  }
  // All posts, once there are so many or 30 s have passed.
  std::vector<ReceivedPost> posts(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return posts_.size() >= count; });
    return posts_;
  }
  // Ids that it keeps: a repeat of one with the same digest is answered like the first.
  [[nodiscard]] std::size_t kept() {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }

 private:
  int take(const httplib::Request& request) {
    const std::lock_guard lock(mutex_);
    ReceivedPost post{.id = request.get_header_value("X-Railgauge-Delivery"),
                      .digest = request.get_header_value("X-Railgauge-Digest"),
                      .signature = request.get_header_value("X-Railgauge-Signature"),
                      .body = request.body};
    const std::string signed_text =
        request.get_header_value("X-Railgauge-Timestamp") + "." + request.body;
    const bool is_right =
        (secret_.empty() ||
         post.signature == "sha256=" + trust::hmac_sha256_hex(secret_, signed_text)) &&
        post.digest == "sha256:" + trust::sha256_hex(request.body);
    post.status = is_right ? 200 : 401;
    if (is_right && !next_.empty()) {
      post.status = next_.front();
      next_.erase(next_.begin());
    }
    if (post.status == 200) kept_.insert(post.id + post.digest);
    posts_.push_back(post);
    changed_.notify_all();
    return post.status;
  }

  const std::string secret_;
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread serving_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<int> next_;
  std::vector<ReceivedPost> posts_;
  std::set<std::string> kept_;
};

}  // namespace railgauge::deliver
