// A connection manager without a network, part of the fake libibverbs: any id of this process
// reaches any listener of this process by its port. Events come at once. Like the library, it does
// not change the caller's own queue pairs, except on iWARP, where the driver moves them. Destroying
// an id with unacknowledged events ends the program, where the library would wait for ever.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "kernels/fakes/verbs/fake_objects.h"

namespace railgauge::fake {
namespace {

struct FakeCmEvent;

struct FakeCmChannel {
  rdma_event_channel channel{};
  std::deque<FakeCmEvent*> events;
};

struct FakeCmId {
  rdma_cm_id id{};
  FakeCmId* remote = nullptr;
  std::uint32_t queue_pair = 0;
  std::uint16_t port = 0;  // where it listens
  int unacknowledged = 0;
};

struct FakeCmEvent {
  rdma_cm_event event{};
  std::array<std::uint8_t, 56> private_data{};
  FakeCmId* counted = nullptr;  // whose destruction waits for it
};

// One lock for all: nothing here is timed.
std::mutex& cm_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::map<std::uint16_t, FakeCmId*>& listeners() {
  static std::map<std::uint16_t, FakeCmId*> all;
  return all;
}

FakeCmId* fake_id(rdma_cm_id* id) { return reinterpret_cast<FakeCmId*>(id); }

FakeCmEvent* push(FakeCmId* id, rdma_cm_event_type type) {
  auto* channel = reinterpret_cast<FakeCmChannel*>(id->id.channel);
  auto* event = new FakeCmEvent;
  event->event.id = &id->id;
  event->event.event = type;
  event->counted = id;
  channel->events.push_back(event);
  const std::uint64_t one = 1;
  static_cast<void>(!write(channel->channel.fd, &one, sizeof one));
  return event;
}

int fails(const char* call = __builtin_FUNCTION()) { return fails_now(call) ? -1 : 0; }

// The address's last byte is the device's, as in its GIDs.
void take_device(FakeCmId* id, const sockaddr* address) {
  // Shared by both ranks' threads: written once.
  static std::array<ibv_context, 2> contexts = [] {
    std::array<ibv_context, 2> made{};
    for (std::size_t i = 0; i < made.size(); ++i) made[i].device = device_number(i);
    return made;
  }();
  const auto last = reinterpret_cast<const std::uint8_t*>(
      &reinterpret_cast<const sockaddr_in*>(address)->sin_addr)[3];
  const std::size_t number = std::min<std::size_t>(last == 0 ? 0 : last - 1U, 1);
  id->id.verbs = &contexts[number];
  id->id.port_num = 1;
}

// The last reference of an id: its other end is informed.
void forget(FakeCmId* id) {
  if (id->remote != nullptr) {
    id->remote->remote = nullptr;
    push(id->remote, RDMA_CM_EVENT_DISCONNECTED);
  }
  delete id;
  released();
}

}  // namespace
}  // namespace railgauge::fake

using railgauge::fake::cm_mutex;
using railgauge::fake::fake_id;
using railgauge::fake::FakeCmChannel;
using railgauge::fake::FakeCmEvent;
using railgauge::fake::FakeCmId;
namespace fake = railgauge::fake;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  if (fake::fails_now()) return nullptr;
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  if (fd < 0) return nullptr;
  auto* made = fake::made(new FakeCmChannel);
  made->channel.fd = fd;
  return &made->channel;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  const std::lock_guard lock(cm_mutex());
  auto* mine = reinterpret_cast<FakeCmChannel*>(channel);
  for (FakeCmEvent* event : mine->events) delete event;
  close(channel->fd);
  delete mine;
  fake::released();
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) {
  if (fake::fails_now()) return -1;
  auto* made = fake::made(new FakeCmId);
  made->id.channel = channel;
  made->id.context = context;
  made->id.ps = space;
  *id = &made->id;
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  const std::lock_guard lock(cm_mutex());
  FakeCmId* mine = fake_id(id);
  auto* channel = reinterpret_cast<FakeCmChannel*>(id->channel);
  for (FakeCmEvent*& event : channel->events) {
    if (event->event.id != id && event->event.listen_id != id) continue;
    // A request that nobody saw: its id was never anybody's.
    if (event->event.listen_id == id) fake::forget(fake_id(event->event.id));
    delete event;
    event = nullptr;
  }
  std::erase(channel->events, nullptr);
  if (mine->unacknowledged != 0) {
    std::fprintf(stderr, "fake rdma_cm: an id is destroyed before its events are acknowledged\n");
    std::abort();
  }
  if (mine->port != 0) fake::listeners().erase(mine->port);
  fake::forget(mine);
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  if (fake::fails_now()) return -1;
  fake::take_device(fake_id(id), address);
  return 0;
}

int rdma_listen(rdma_cm_id* id, int) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  static std::uint16_t next = 20000;
  fake_id(id)->port = ++next;
  fake::listeners()[next] = fake_id(id);
  return 0;
}

__be16 rdma_get_src_port(rdma_cm_id* id) { return htons(fake_id(id)->port); }

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  fake::take_device(fake_id(id), from);
  std::memcpy(&id->route.addr.dst_sin, to, sizeof(sockaddr_in));
  fake::push(fake_id(id), RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int rdma_resolve_route(rdma_cm_id* id, int) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  fake::push(fake_id(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  FakeCmId* mine = fake_id(id);
  const ibv_qp_state state = attributes->qp_state;
  if (state == IBV_QPS_INIT) {
    attributes->port_num = 1;
    *mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    return 0;
  }
  if (mine->remote == nullptr) return errno = ENOTCONN, -1;
  attributes->dest_qp_num = mine->remote->queue_pair;
  attributes->rq_psn = mine->remote->queue_pair & 0xffffffU;
  attributes->sq_psn = mine->queue_pair & 0xffffffU;
  attributes->path_mtu = IBV_MTU_1024;
  attributes->ah_attr.port_num = 1;
  attributes->ah_attr.is_global = 1;
  attributes->ah_attr.grh.sgid_index = 3;
  *mask = IBV_QP_STATE | (1 << 22);  // and a bit that no header names, as some kernels set
  return 0;
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  FakeCmId* mine = fake_id(id);
  mine->queue_pair = param->qp_num;
  const auto found = fake::listeners().find(ntohs(id->route.addr.dst_sin.sin_port));
  if (found == fake::listeners().end()) {
    fake::push(mine, RDMA_CM_EVENT_REJECTED)->event.status = -ECONNREFUSED;
    return 0;
  }
  FakeCmId* listener = found->second;
  auto* theirs = fake::made(new FakeCmId);
  theirs->id.channel = listener->id.channel;
  theirs->id.verbs = listener->id.verbs;
  theirs->id.ps = listener->id.ps;
  theirs->remote = mine;
  mine->remote = theirs;
  FakeCmEvent* request = fake::push(theirs, RDMA_CM_EVENT_CONNECT_REQUEST);
  request->counted = listener;
  request->event.listen_id = &listener->id;
  request->event.param.conn = *param;
  std::memcpy(request->private_data.data(), param->private_data, param->private_data_len);
  request->event.param.conn.private_data = request->private_data.data();
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  FakeCmId* mine = fake_id(id);
  if (mine->remote == nullptr) return errno = ECONNRESET, -1;
  mine->queue_pair = param->qp_num;
  if (fake::verbs_control().iwarp == 0) {
    fake::push(mine->remote, RDMA_CM_EVENT_CONNECT_RESPONSE);
    return 0;
  }
  fake::connect_queue_pairs(mine->queue_pair, mine->remote->queue_pair);
  fake::push(mine->remote, RDMA_CM_EVENT_ESTABLISHED);
  fake::push(mine, RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}

int rdma_reject(rdma_cm_id* id, const void*, std::uint8_t) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  FakeCmId* mine = fake_id(id);
  if (mine->remote != nullptr) {
    mine->remote->remote = nullptr;
    fake::push(mine->remote, RDMA_CM_EVENT_REJECTED);
    mine->remote = nullptr;
  }
  return 0;
}

int rdma_establish(rdma_cm_id* id) {
  if (fake::fails_now()) return -1;
  const std::lock_guard lock(cm_mutex());
  FakeCmId* mine = fake_id(id);
  if (mine->remote == nullptr) return errno = ENOTCONN, -1;
  fake::push(mine->remote, RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  const std::lock_guard lock(cm_mutex());
  auto* mine = reinterpret_cast<FakeCmChannel*>(channel);
  std::uint64_t one = 0;
  if (mine->events.empty()) {
    static_cast<void>(!read(channel->fd, &one, sizeof one));  // of one that was destroyed
    return errno = EAGAIN, -1;
  }
  if (fake::fails()) return -1;
  static_cast<void>(!read(channel->fd, &one, sizeof one));
  FakeCmEvent* first = mine->events.front();
  mine->events.pop_front();
  ++first->counted->unacknowledged;
  *event = &first->event;
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  const std::lock_guard lock(cm_mutex());
  auto* mine = reinterpret_cast<FakeCmEvent*>(event);
  --mine->counted->unacknowledged;
  delete mine;
  return 0;
}

const char* rdma_event_str(rdma_cm_event_type event) {
  switch (event) {
    case RDMA_CM_EVENT_REJECTED:
      return "RDMA_CM_EVENT_REJECTED";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "RDMA_CM_EVENT_DISCONNECTED";
    default:
      return "another event";
  }
}

}  // extern "C"
