// Delays what passes between a client and the server of a cluster, as a far database does.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace railgauge::mirror {

class SlowProxy {
 public:
  // Clients use `folder` as the host; each piece takes `delay` in each direction.
  SlowProxy(std::string folder, std::string server_folder, std::chrono::milliseconds delay)
      : server_(socket_file(server_folder)), delay_(delay) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = address_of(socket_file(folder));
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    accepter_ = std::thread([this] { accept_all(); });
  }
  ~SlowProxy() {
    ending_ = true;
    accepter_.join();
    for (std::thread& relay : relays_) relay.join();
    ::close(listener_);
  }
  SlowProxy(const SlowProxy&) = delete;
  SlowProxy& operator=(const SlowProxy&) = delete;

 private:
  static std::string socket_file(const std::string& folder) { return folder + "/.s.PGSQL.5432"; }
  static sockaddr_un address_of(const std::string& file) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, file.c_str(), sizeof(address.sun_path) - 1);
    return address;
  }
  void accept_all() {
    while (!ending_) {
      pollfd wanted{.fd = listener_, .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, 20) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      relays_.emplace_back([this, client] { relay(client); });
    }
  }
  void relay(int client) {
    const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = address_of(server_);
    bool open =
        ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    while (open && !ending_) {
      std::array<pollfd, 2> wanted{pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = server, .events = POLLIN, .revents = 0}};
      if (::poll(wanted.data(), wanted.size(), 20) <= 0) continue;
      if (wanted[0].revents != 0) open = carry(client, server);
      if (open && wanted[1].revents != 0) open = carry(server, client);
    }
    ::close(client);
    ::close(server);
  }
  bool carry(int from, int to) {
    std::array<char, 65'536> piece{};
    const ssize_t size = ::recv(from, piece.data(), piece.size(), 0);
    if (size <= 0) return false;
    std::this_thread::sleep_for(delay_);
    return ::send(to, piece.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
  }

  std::string server_;
  std::chrono::milliseconds delay_;
  int listener_ = -1;
  std::atomic<bool> ending_ = false;
  std::thread accepter_;
  std::vector<std::thread> relays_;
};

}  // namespace railgauge::mirror
