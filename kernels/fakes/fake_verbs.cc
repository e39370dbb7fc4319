// The fake's control path: devices, ports, GIDs, and making and changing objects.
#include "kernels/fakes/fake_verbs.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "kernels/fakes/fake_objects.h"

#undef ibv_reg_mr
#undef ibv_query_port

namespace railgauge::fake {

namespace {

struct FakeContext {
  verbs_context extended{};
};

std::array<ibv_device, 2>& devices() {
  static std::array<ibv_device, 2> list = [] {
    std::array<ibv_device, 2> made{};
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].node_type = IBV_NODE_CA;
      made[i].transport_type = IBV_TRANSPORT_IB;
      const std::string name = "fake" + std::to_string(i);
      name.copy(made[i].name, sizeof made[i].name - 1);
      name.copy(made[i].dev_name, sizeof made[i].dev_name - 1);
      // No such folder: what is read from sysfs about a fake is absent.
      const std::string path = "/sys/class/infiniband/" + name;
      path.copy(made[i].ibdev_path, sizeof made[i].ibdev_path - 1);
    }
    return made;
  }();
  return list;
}

std::size_t index_of(const ibv_device* device) {
  return static_cast<std::size_t>(device - devices().data());
}

// As a RoCE port with an IPv4 address has it: link-local and IPv4-mapped, each as v1 and v2.
ibv_gid_entry gid_entry(const ibv_device* device, std::uint32_t index) {
  ibv_gid_entry entry{};
  const auto host = static_cast<std::uint8_t>(index_of(device) + 1);
  const char* text = index < 2 ? "fe80::5054:ff:fe00:0" : "::ffff:192.0.2.0";
  inet_pton(AF_INET6, text, entry.gid.raw);
  entry.gid.raw[15] = host;
  entry.gid_index = index;
  entry.port_num = 1;
  entry.gid_type = index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
  entry.ndev_ifindex = 1;
  return entry;
}

int query_port(ibv_context*, std::uint8_t port, ibv_port_attr* attributes, std::size_t size) {
  if (fails_now()) return EIO;
  if (port != 1) return EINVAL;
  ibv_port_attr full{};
  full.state = verbs_control().port_down != 0 ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  full.max_mtu = IBV_MTU_4096;
  full.active_mtu = IBV_MTU_4096;
  full.gid_tbl_len = kGidCount;
  full.max_msg_sz = 1U << 31U;
  full.active_width = 2;   // 4x
  full.active_speed = 64;  // HDR: 200 Gb/s
  full.phys_state = 5;
  full.link_layer = IBV_LINK_LAYER_ETHERNET;
  std::memcpy(attributes, &full, std::min(size, sizeof full));
  return 0;
}

bool may_pin(std::size_t length) {
  if (verbs_control().memlock == 0) return true;
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY || verbs_control().pinned_bytes + length <= limit.rlim_cur;
}

template <class Object>
Object* made(Object* object) {
  ++verbs_control().live_handles;
  return object;
}
void released() { --verbs_control().live_handles; }
// The object is gone here in any case, so that a test can see that nothing is left.
int released_with_answer() {
  released();
  return verbs_control().fail_destroy != 0 ? EIO : 0;
}

// The masks that an adapter's driver demands for each step (IBTA 11.2.5.2, as the kernel checks).
int required_mask(ibv_qp_state from, ibv_qp_state to) {
  if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
    return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
    return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
    return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC;
  return to == IBV_QPS_ERR ? IBV_QP_STATE : -1;
}

}  // namespace
}  // namespace railgauge::fake

using railgauge::fake::fails_now;
using railgauge::fake::FakeCompletionQueue;
using railgauge::fake::FakeContext;
using railgauge::fake::FakeQueuePair;
using railgauge::fake::FakeRegion;
namespace fake = railgauge::fake;

extern "C" {

void railgauge_synthetic_verbs() {}

ibv_device** ibv_get_device_list(int* count) {
  if (fails_now()) return nullptr;
  auto& devices = fake::devices();
  auto** list = new ibv_device*[devices.size() + 1];
  for (std::size_t i = 0; i < devices.size(); ++i) list[i] = &devices[i];
  list[devices.size()] = nullptr;
  if (count != nullptr) *count = static_cast<int>(devices.size());
  return fake::made(list);
}

void ibv_free_device_list(ibv_device** list) {
  delete[] list;
  fake::released();
}

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  if (fails_now() || fake::own_table() == nullptr) return nullptr;
  auto* made = fake::made(new FakeContext);
  made->extended.sz = sizeof made->extended;
  made->extended.query_port = fake::query_port;
  ibv_context& context = made->extended.context;
  context.device = device;
  context.ops.post_send = fake::post_send;
  context.ops.poll_cq = fake::poll_cq;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  return &context;
}

int ibv_close_device(ibv_context* context) {
  delete reinterpret_cast<FakeContext*>(verbs_get_ctx(context));
  return fake::released_with_answer();
}

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  if (fails_now()) return EIO;
  *attributes = {};
  std::strcpy(attributes->fw_ver, "0.0.0-fake");
  attributes->vendor_id = fake::kVendorId;
  attributes->max_qp = fake::kSlots;
  attributes->max_qp_wr = fake::kMaxQueueDepth;
  attributes->max_cqe = fake::kMaxQueueDepth;
  attributes->max_mr_size = UINT64_MAX;
  attributes->max_sge = 1;
  attributes->phys_port_cnt = 1;
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return fake::query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                          offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (fails_now()) return -1;
  if (port != 1 || index < 0 || index >= fake::kGidCount) return errno = EINVAL, -1;
  *gid = fake::gid_entry(context->device, static_cast<std::uint32_t>(index)).gid;
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries,
                             std::uint32_t, size_t entry_size) {
  if (fails_now()) return -EIO;
  constexpr size_t kMaxIoctlBytes = 65535;  // as the kernel's
  if (entry_size != sizeof(ibv_gid_entry) || max_entries < fake::kGidCount ||
      max_entries * entry_size > kMaxIoctlBytes)
    return -EINVAL;
  for (std::uint32_t i = 0; i < fake::kGidCount; ++i)
    entries[i] = fake::gid_entry(context->device, i);
  return fake::kGidCount;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (fails_now()) return nullptr;
  auto* pd = fake::made(new ibv_pd{});
  pd->context = context;
  return pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  delete pd;
  return fake::released_with_answer();
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, std::uint64_t iova,
                         unsigned int access) {
  if (fails_now()) return nullptr;
  const std::lock_guard lock(fake::objects_mutex());
  if (iova != reinterpret_cast<std::uint64_t>(address)) return errno = EOPNOTSUPP, nullptr;
  if (!fake::may_pin(length)) return errno = ENOMEM, nullptr;
  static std::atomic<std::uint32_t> turn{1};
  auto& regions = fake::own_table()->regions;
  const std::uint32_t key = fake::take_slot(regions, turn, getpid());
  if (key == 0) return errno = ENOMEM, nullptr;
  auto& slot = regions[fake::slot_of(key)];
  slot.access = access;
  slot.address = iova;
  slot.length = length;
  fake::verbs_control().pinned_bytes += length;
  auto* region = fake::made(new FakeRegion);
  region->mr.context = pd->context;
  region->mr.pd = pd;
  region->mr.addr = address;
  region->mr.length = length;
  region->mr.lkey = key;
  region->mr.rkey = key;
  return &region->mr;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                          static_cast<unsigned int>(access));
}

int ibv_dereg_mr(ibv_mr* mr) {
  const std::lock_guard lock(fake::objects_mutex());
  fake::own_table()->regions[fake::slot_of(mr->rkey)].in_use = 0;
  fake::verbs_control().pinned_bytes -= mr->length;
  delete reinterpret_cast<FakeRegion*>(mr);
  return fake::released_with_answer();
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel*, int) {
  if (fails_now()) return nullptr;
  if (entries < 1 || static_cast<std::size_t>(entries) > fake::kMaxQueueDepth)
    return errno = EINVAL, nullptr;
  auto* queue = fake::made(new FakeCompletionQueue);
  queue->cq.context = context;
  queue->cq.cq_context = cq_context;
  queue->cq.cqe = entries;
  return &queue->cq;
}

int ibv_destroy_cq(ibv_cq* cq) {
  delete reinterpret_cast<FakeCompletionQueue*>(cq);
  return fake::released_with_answer();
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  if (fails_now()) return nullptr;
  const std::lock_guard lock(fake::objects_mutex());
  if (init->qp_type != IBV_QPT_RC) return errno = EOPNOTSUPP, nullptr;
  if (init->cap.max_inline_data > fake::verbs_control().max_inline ||
      init->cap.max_send_wr > fake::kMaxQueueDepth)
    return errno = EINVAL, nullptr;
  static std::atomic<std::uint32_t> turn{1};
  auto& slots = fake::own_table()->queue_pairs;
  const std::uint32_t number = fake::take_slot(slots, turn, getpid());
  if (number == 0) return errno = ENOMEM, nullptr;
  slots[fake::slot_of(number)].state = IBV_QPS_RESET;
  auto* made = fake::made(new FakeQueuePair);
  made->cap = init->cap;
  made->signal_all = init->sq_sig_all != 0;
  made->qp.context = pd->context;
  made->qp.pd = pd;
  made->qp.send_cq = init->send_cq;
  made->qp.recv_cq = init->recv_cq;
  made->qp.qp_type = init->qp_type;
  made->qp.qp_num = number;
  made->qp.state = IBV_QPS_RESET;
  return &made->qp;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (fails_now()) return EIO;
  const std::lock_guard lock(fake::objects_mutex());
  auto& mine = *reinterpret_cast<FakeQueuePair*>(qp);
  const ibv_qp_state to = attributes->qp_state;
  const int required = fake::required_mask(qp->state, to);
  if (required < 0 || (mask & required) != required) return EINVAL;
  if (to == IBV_QPS_INIT && attributes->port_num != 1) return EINVAL;
  auto& slot = fake::own_table()->queue_pairs[fake::slot_of(qp->qp_num)];
  if (to == IBV_QPS_RTR) {
    if (attributes->ah_attr.is_global == 0 ||
        attributes->ah_attr.grh.sgid_index >= fake::kGidCount ||
        attributes->path_mtu > IBV_MTU_4096)
      return EINVAL;
    mine.destination = attributes->dest_qp_num;
    mine.peer = fake::table_of(fake::pid_of(mine.destination));
    slot.destination = mine.destination;
  }
  qp->state = to;
  slot.state = to;
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  if (fails_now()) return EIO;
  *attributes = {};
  *init = {};
  attributes->qp_state = qp->state;
  attributes->cap = reinterpret_cast<FakeQueuePair*>(qp)->cap;
  return 0;
}

int ibv_destroy_qp(ibv_qp* qp) {
  const std::lock_guard lock(fake::objects_mutex());
  auto* mine = reinterpret_cast<FakeQueuePair*>(qp);
  auto& queue = *reinterpret_cast<FakeCompletionQueue*>(qp->send_cq);
  {
    const std::lock_guard queue_lock(queue.mutex);
    std::erase_if(queue.entries, [mine](const auto& entry) { return entry.queue_pair == mine; });
  }
  fake::own_table()->queue_pairs[fake::slot_of(qp->qp_num)].in_use = 0;
  delete mine;
  return fake::released_with_answer();
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "success";
    case IBV_WC_LOC_PROT_ERR:
      return "local protection error";
    case IBV_WC_WR_FLUSH_ERR:
      return "Work Request Flushed Error";
    case IBV_WC_REM_ACCESS_ERR:
      return "remote access error";
    case IBV_WC_REM_OP_ERR:
      return "remote operation error";
    case IBV_WC_RETRY_EXC_ERR:
      return "transport retry counter exceeded";
    default:
      return "unknown";
  }
}

}  // extern "C"
