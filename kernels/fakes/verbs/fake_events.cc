// Events that the fake's devices report beside completions.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/fakes/verbs/fake_objects.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge::fake {
namespace {

// The open devices of this process. A lock of its own: posts, which hold that of the objects, may
// make a device report one.
struct Opened {
  std::mutex mutex;
  std::vector<FakeContext*> contexts;
};

Opened& opened() {
  static auto* all = new Opened;
  return *all;
}

}  // namespace

void begin_events(FakeContext& context) {
  context.extended.context.async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  const std::lock_guard lock(opened().mutex);
  opened().contexts.push_back(&context);
}

void end_events(FakeContext& context) {
  const std::lock_guard lock(opened().mutex);
  std::erase(opened().contexts, &context);
  close(context.extended.context.async_fd);
}

void tell_async_event(int type, std::string_view device) {
  const std::lock_guard lock(opened().mutex);
  for (FakeContext* context : opened().contexts) {
    const ibv_context& told = context->extended.context;
    if (!device.empty() && device != told.device->name) continue;
    ibv_async_event event{};
    event.event_type = static_cast<ibv_event_type>(type);
    const bool is_of_port = type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE;
    if (is_of_port) event.element.port_num = 1;
    context->events.push_back(event);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(told.async_fd, &one, sizeof one);
  }
}

}  // namespace railgauge::fake

using railgauge::fake::FakeContext;

extern "C" {

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  auto* from = reinterpret_cast<FakeContext*>(verbs_get_ctx(context));
  const std::lock_guard lock(railgauge::fake::opened().mutex);
  std::uint64_t one = 0;
  if (from->events.empty() || read(context->async_fd, &one, sizeof one) < 0) {
    errno = EAGAIN;
    return -1;
  }
  *event = from->events.front();
  from->events.pop_front();
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) {}

}  // extern "C"
