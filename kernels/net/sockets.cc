#include "kernels/net/sockets.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "kernels/core/base/fd.h"

namespace railgauge::net {
namespace {

// Replaced by tests, before anything runs.
const Sockets* g_sockets = &kSystemSockets;

int system_uring_setup(unsigned entries, io_uring_params* params) {
  return static_cast<int>(::syscall(SYS_io_uring_setup, entries, params));
}
int system_uring_enter(int ring, unsigned submit, unsigned least, unsigned flags, void* argument,
                       std::size_t bytes) {
  return static_cast<int>(
      ::syscall(SYS_io_uring_enter, ring, submit, least, flags, argument, bytes));
}
int system_uring_register(int ring, unsigned operation, void* argument, unsigned count) {
  return static_cast<int>(::syscall(SYS_io_uring_register, ring, operation, argument, count));
}

}  // namespace

const Sockets kSystemSockets{.socket = ::socket,
                             .bind = ::bind,
                             .listen = ::listen,
                             .accept4 = ::accept4,
                             .connect = ::connect,
                             .setsockopt = ::setsockopt,
                             .getsockopt = ::getsockopt,
                             .send = ::send,
                             .recv = ::recv,
                             .poll = ::poll,
                             .recvmsg = ::recvmsg,
                             .uring_setup = system_uring_setup,
                             .uring_enter = system_uring_enter,
                             .uring_register = system_uring_register};

const Sockets& sockets() { return *g_sockets; }
void set_sockets(const Sockets& table) { g_sockets = &table; }

// No token is given back: the length is wrong on purpose.
bool kernel_has_devmem() {
  constexpr int kDevmemDontneed = 80;  // SO_DEVMEM_DONTNEED, since Linux 6.12
  const Fd fd(sockets().socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int token = 0;  // of 8 bytes in the kernel's structure
  return fd.get() >= 0 &&
         sockets().setsockopt(fd.get(), SOL_SOCKET, kDevmemDontneed, &token, sizeof token) != 0 &&
         errno == EINVAL;
}

}  // namespace railgauge::net
