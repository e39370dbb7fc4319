// A table of this family's system calls, so that a test can make each of them fail.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>

struct io_uring_params;

namespace railgauge::net {

// Signatures as in the C library.
struct Sockets {
  int (*socket)(int domain, int type, int protocol);
  int (*bind)(int fd, const sockaddr* address, socklen_t length);
  int (*listen)(int fd, int backlog);
  int (*accept4)(int fd, sockaddr* address, socklen_t* length, int flags);
  int (*connect)(int fd, const sockaddr* address, socklen_t length);
  int (*setsockopt)(int fd, int level, int name, const void* value, socklen_t length);
  int (*getsockopt)(int fd, int level, int name, void* value, socklen_t* length);
  ssize_t (*send)(int fd, const void* bytes, std::size_t count, int flags);
  ssize_t (*recv)(int fd, void* bytes, std::size_t count, int flags);
  int (*poll)(pollfd* wanted, nfds_t count, int timeout_ms);
  ssize_t (*recvmsg)(int fd, msghdr* message, int flags);
  // The system calls of io_uring, for which the C library has no functions.
  int (*uring_setup)(unsigned entries, io_uring_params* params);
  int (*uring_enter)(int ring, unsigned submit, unsigned least, unsigned flags, void* argument,
                     std::size_t bytes);
  int (*uring_register)(int ring, unsigned operation, void* argument, unsigned count);
};

// The C library's functions.
extern const Sockets kSystemSockets;

// Returns the system calls of the family.
const Sockets& sockets();
// Replaces the table, for tests, while no call runs; the table outlives its use.
void set_sockets(const Sockets& table);

// Whether this kernel has devmem TCP, by an option of its sockets: a kernel that has it refuses the
// length, one without the name.
bool kernel_has_devmem();

}  // namespace railgauge::net
