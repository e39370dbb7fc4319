#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

// Replaced by tests, before anything runs.
const Sockets* g_sockets = &kSystemSockets;

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
                             .poll = ::poll};

const Sockets& sockets() { return *g_sockets; }
void set_sockets(const Sockets& table) { g_sockets = &table; }

}  // namespace railgauge::net
