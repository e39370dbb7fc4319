#include "controller/http/channel.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "kernels/core/base/clock.h"

namespace railgauge::http {
namespace {

using NameCall = int (*)(int, sockaddr*, socklen_t*);

std::pair<std::string, int> numbers_of(int fd, NameCall call) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (call(fd, raw, &size) != 0 || ::getnameinfo(raw, size, host.data(), host.size(), port.data(),
                                                 port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {"", 0};
  return {host.data(), std::atoi(port.data())};
}

}  // namespace

std::string source_of(int fd) { return numbers_of(fd, ::getpeername).first; }

bool Channel::wait(short events) const {
  while (true) {
    const double left_ms = (deadline_ns_ - monotonic_now_ns()) / 1e6;
    if (left_ms <= 0) return false;
    pollfd one{.fd = fd_, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::ceil(left_ms)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool Channel::may_retry(int result) const {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT);
    default:
      return false;
  }
}

bool Channel::shake_hands(SSL_CTX* context) {
  ssl_ = Ssl(SSL_new(context));
  if (ssl_.get() == nullptr || SSL_set_fd(ssl_.get(), fd_) != 1) return false;
  while (true) {
    ERR_clear_error();  // an older error would decide over this call
    const int result = SSL_accept(ssl_.get());
    if (result == 1) return true;
    if (!may_retry(result)) return false;
  }
}

std::string Channel::verified_certificate() const {
  // Without a certificate, and where any is taken, the result says so or there is none to read.
  if (ssl_.get() == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return "";
  const Handle<ReleasedBy<X509*, X509_free>> certificate(SSL_get1_peer_certificate(ssl_.get()));
  const Handle<ReleasedBy<BIO*, BIO_free_all>> text(BIO_new(BIO_s_mem()));
  if (!certificate || !text || PEM_write_bio_X509(text.get(), certificate.get()) != 1) return "";
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

bool Channel::wait_for_request() {
  if (begin_ < end_ || (ssl_.get() != nullptr && SSL_pending(ssl_.get()) > 0)) return true;
  return wait(POLLIN);
}

bool Channel::is_gone() const {
  pollfd one{.fd = fd_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

ssize_t Channel::receive() {
  while (true) {
    if (ssl_.get() != nullptr) {
      ERR_clear_error();
      const int count = SSL_read(ssl_.get(), buffer_.data(), static_cast<int>(buffer_.size()));
      if (count > 0) return count;
      if (SSL_get_error(ssl_.get(), count) == SSL_ERROR_ZERO_RETURN) return 0;
      if (!may_retry(count)) return -1;
      continue;
    }
    const ssize_t count = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR && (errno != EAGAIN || !wait(POLLIN))) return -1;
  }
}

ssize_t Channel::read(char* to, std::size_t size) {
  size = std::min(size, bytes_left_);
  if (size == 0 || monotonic_now_ns() > deadline_ns_) return -1;
  if (begin_ == end_) {
    const ssize_t count = receive();
    if (count <= 0) return count;
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
  }
  const std::size_t taken = std::min(size, end_ - begin_);
  std::copy_n(buffer_.data() + begin_, taken, to);
  begin_ += taken;
  bytes_left_ -= taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Channel::write(const char* from, std::size_t size) {
  constexpr std::size_t kMostAtOnce = 1U << 20U;
  size = std::min(size, kMostAtOnce);
  while (monotonic_now_ns() <= deadline_ns_) {
    if (ssl_.get() != nullptr) {
      ERR_clear_error();
      const int count = SSL_write(ssl_.get(), from, static_cast<int>(size));
      if (count > 0) return count;
      if (!may_retry(count)) return -1;
      continue;
    }
    const ssize_t count = ::send(fd_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR && (errno != EAGAIN || !wait(POLLOUT))) return -1;
  }
  return -1;
}

// Bytes that were never read would make the kernel reset the connection, and the peer lose the
// answer. They are read for a moment.
void Channel::finish() {
  constexpr double kMomentNs = 0.2e9;
  constexpr int kMostReads = 16;
  if (ssl_.get() != nullptr) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::shutdown(fd_, SHUT_WR);
  deadline_ns_ = std::min(deadline_ns_, monotonic_now_ns() + kMomentNs);
  for (int i = 0; i < kMostReads && wait(POLLIN); ++i)
    if (::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) <= 0) return;
}

void Channel::get_remote_ip_and_port(std::string& ip, int& port) const {
  std::tie(ip, port) = numbers_of(fd_, ::getpeername);
}

void Channel::get_local_ip_and_port(std::string& ip, int& port) const {
  std::tie(ip, port) = numbers_of(fd_, ::getsockname);
}

}  // namespace railgauge::http
