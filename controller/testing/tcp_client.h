// Raw TCP connections to loopback, for tests that send what no gRPC client sends.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "kernels/core/base/fd.h"

namespace railgauge::testing_listen {

constexpr int kPatienceMilliseconds = 20'000;

// One record with a ClientHello of the length's bytes: whole by its lengths, of no use to TLS.
inline std::string client_hello(std::size_t body = 200) {
  std::string hello{22, 3, 1};
  hello += {static_cast<char>((body + 4) >> 8U), static_cast<char>(body + 4)};
  hello += {1, 0, static_cast<char>(body >> 8U), static_cast<char>(body)};
  return hello + std::string(body, 'x');
}

// A connection from an address of the loopback network, which is its source.
inline Fd connect_from(int port, const char* from = "127.0.0.1") {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  ::inet_pton(AF_INET, from, &own.sin_addr);
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<std::uint16_t>(port));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&server), sizeof(server)), 0)
      << std::strerror(errno);
  return socket;
}

inline void send_text(const Fd& socket, std::string_view text) {
  EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// Reads bytes that have come, without waiting; -1 with EAGAIN while the connection is open.
inline ssize_t read_some(const Fd& socket, char* buffer, std::size_t size) {
  return ::recv(socket.get(), buffer, size, MSG_DONTWAIT);
}

// Reports whether the other side is still there; reads nothing.
inline bool is_open(const Fd& socket) {
  char byte = 0;
  const ssize_t size = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size > 0 || (size < 0 && errno == EAGAIN);
}

// Waits until the other side has closed the connection.
inline bool is_closed_soon(const Fd& socket) {
  std::string rest(4'096, '\0');
  while (true) {
    pollfd wait{socket.get(), POLLIN, 0};
    if (::poll(&wait, 1, kPatienceMilliseconds) <= 0) return false;
    if (::recv(socket.get(), rest.data(), rest.size(), 0) <= 0) return true;
  }
}

}  // namespace railgauge::testing_listen
