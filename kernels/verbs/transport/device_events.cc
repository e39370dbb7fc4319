#include "kernels/verbs/transport/device_events.h"

#include <poll.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/dl/verbs.h"

namespace railgauge::verbs {
namespace {

// Events of one look; further ones are read at the next.
constexpr int kMostEventsOfALook = 64;

}  // namespace

void DeviceEvents::watch(ibv_context* context, std::string device, std::uint8_t port) {
  context_ = context;
  device_ = std::move(device);
  port_ = port;
}

// A descriptor that only reports an error belongs to a device that the kernel took away.
bool DeviceEvents::is_lost(int wait_ms) {
  if (context_ == nullptr || !words_.empty()) return !words_.empty();
  pollfd ready{context_->async_fd, POLLIN, 0};
  for (int i = 0; i < kMostEventsOfALook && words_.empty(); ++i) {
    if (::poll(&ready, 1, i == 0 ? wait_ms : 0) <= 0) return false;
    if ((ready.revents & POLLIN) == 0)
      words_ = fmt::format("{}: device removed, its events have ended", device_);
    else if (!take())
      return false;
  }
  return !words_.empty();
}

// The library waits for the acknowledgement before it destroys what an event is about.
bool DeviceEvents::take() {
  ibv_async_event event{};
  errno = 0;
  if (loaded_verbs().get_async_event(context_, &event) != 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    words_ = fmt::format("{}: device removed, its events cannot be read: {}", device_,
                         errno_words(errno));
    return true;
  }
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      words_ =
          fmt::format("{}: device removed or in a fatal state (IBV_EVENT_DEVICE_FATAL)", device_);
      break;
    case IBV_EVENT_PORT_ERR:
      if (event.element.port_num == port_)
        words_ = fmt::format("{}:{}: port went down (IBV_EVENT_PORT_ERR)", device_, port_);
      break;
    case IBV_EVENT_QP_FATAL:
      words_ = fmt::format("{}:{}: queue pair broke (IBV_EVENT_QP_FATAL)", device_, port_);
      break;
    default:
      break;
  }
  loaded_verbs().ack_async_event(&event);
  return true;
}

}  // namespace railgauge::verbs
