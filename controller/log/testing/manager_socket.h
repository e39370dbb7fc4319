// The socket of a service manager, for tests.
#pragma once

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "kernels/core/base/fd.h"

namespace railgauge {

// In a folder of its own, which it removes.
class ManagerSocket {
 public:
  ManagerSocket() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_notify_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(in_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~ManagerSocket() { std::filesystem::remove_all(folder_); }
  ManagerSocket(const ManagerSocket&) = delete;
  ManagerSocket& operator=(const ManagerSocket&) = delete;

  [[nodiscard]] std::string path() const { return folder_ / "notify"; }
  // The next datagram; "" where there is none.
  [[nodiscard]] std::string next() const {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::recv(in_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : "";
  }

 private:
  std::filesystem::path folder_;
  Fd in_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

}  // namespace railgauge
