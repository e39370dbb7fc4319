// One accepted connection as httplib's Stream: plain or TLS, every read and write before a
// deadline, every request within a bound of bytes. Used by one thread.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <string>

#include "kernels/core/base/handle.h"

namespace railgauge::http {

using Ssl = Handle<ReleasedBy<SSL*, SSL_free>>;

class Channel final : public httplib::Stream {
 public:
  // Request line, headers and a body that nobody wants, in all.
  static constexpr std::size_t kMaxRequestBytes = 16'384;

  // Does not own `fd`, which is non-blocking.
  explicit Channel(int fd) : fd_(fd) {}

  // Later reads and writes fail at this time (CLOCK_MONOTONIC).
  void set_deadline(double ns) { deadline_ns_ = ns; }
  // Makes the server's side of a TLS handshake; false: it failed or took too long.
  bool shake_hands(SSL_CTX* context);
  // The client's certificate as PEM, which the authorities of the handshake's context vouch for; ""
  // for none.
  [[nodiscard]] std::string verified_certificate() const;
  // Waits until a request begins; false: none came before the deadline, or the peer is gone.
  bool wait_for_request();
  // Whether the peer has closed its end, or the connection was shut.
  [[nodiscard]] bool is_gone() const;
  // Gives the next request its bytes.
  void begin_request() { bytes_left_ = kMaxRequestBytes; }
  // Ends TLS and the sending half, so that the peer sees the whole answer and then the end.
  void finish();

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override { return true; }
  // Bytes read, 0 at the end, -1: failed, too late, or the request is too long.
  ssize_t read(char* to, std::size_t size) override;
  // Bytes written; -1: failed or too late.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  // Not the descriptor: httplib refuses those beyond select()'s 1,024, and only looks at it.
  [[nodiscard]] socket_t socket() const override { return 0; }

 private:
  // Waits for POLLIN or POLLOUT; false at the deadline.
  [[nodiscard]] bool wait(short events) const;
  // Whether a call of OpenSSL that returned `result` may be made again.
  [[nodiscard]] bool may_retry(int result) const;
  ssize_t receive();

  const int fd_;
  Ssl ssl_;
  double deadline_ns_ = 0;
  std::size_t bytes_left_ = kMaxRequestBytes;
  std::array<char, 4096> buffer_{};  // httplib reads byte by byte
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// The numeric address of the peer; "" for none.
std::string source_of(int fd);

}  // namespace railgauge::http
