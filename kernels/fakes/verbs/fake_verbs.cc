// The fake's control path: devices, ports, GIDs, memory. Queues: fake_queues.cc.
#include "kernels/fakes/verbs/fake_verbs.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/fakes/verbs/fake_gpu_wire.h"
#include "kernels/fakes/verbs/fake_objects.h"

#undef ibv_reg_mr
#undef ibv_query_port

namespace railgauge::fake {

namespace {

constexpr std::uint16_t kPkeys = 2;

void place_in_sysfs(ibv_device& device, std::string_view folder) {
  const std::string path = std::string(folder) + "/" + device.name;
  std::memset(device.ibdev_path, 0, sizeof device.ibdev_path);
  path.copy(device.ibdev_path, sizeof device.ibdev_path - 1);
}

constexpr std::size_t kDevices = 2;

// The devices, and behind them the same as iWARP's: what a thread was given never changes.
std::array<ibv_device, 2 * kDevices>& devices() {
  static std::array<ibv_device, 2 * kDevices> list = [] {
    std::array<ibv_device, 2 * kDevices> made{};
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].node_type = IBV_NODE_CA;
      made[i].transport_type = i < kDevices ? IBV_TRANSPORT_IB : IBV_TRANSPORT_IWARP;
      const std::string name = "fake" + std::to_string(i % kDevices);
      name.copy(made[i].name, sizeof made[i].name - 1);
      name.copy(made[i].dev_name, sizeof made[i].dev_name - 1);
      // No such folder: what is read from sysfs about a fake is absent.
      place_in_sysfs(made[i], "/sys/class/infiniband");
    }
    return made;
  }();
  return list;
}

std::size_t index_of(const ibv_device* device) {
  return static_cast<std::size_t>(device - devices().data()) % kDevices;
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
  if (verbs_control().infiniband != 0) entry.gid_type = IBV_GID_TYPE_IB;
  entry.ndev_ifindex = 1;
  return entry;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) {
  if (fails_now()) return EIO;
  if (port != 1) return EINVAL;
  ibv_port_attr full{};
  full.state = verbs_control().port_down != 0 ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  full.max_mtu = IBV_MTU_4096;
  full.active_mtu = IBV_MTU_4096;
  full.gid_tbl_len = kGidCount;
  full.max_msg_sz = static_cast<std::uint32_t>(verbs_control().max_message);
  full.pkey_tbl_len = kPkeys;
  full.active_width = 2;   // 4x
  full.active_speed = 64;  // HDR: 200 Gb/s
  const std::uint64_t slow = verbs_control().slow_port;
  if (slow != 0 && index_of(context->device) == slow - 1) full.active_speed = full.active_width = 1;
  full.phys_state = 5;
  const std::uint64_t infiniband = verbs_control().infiniband;
  full.link_layer = infiniband != 0 ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  full.flags = infiniband == 2 ? IBV_QPF_GRH_REQUIRED : 0;
  std::memcpy(attributes, &full, std::min(size, sizeof full));
  return 0;
}

bool may_pin(std::size_t length) {
  if (verbs_control().memlock == 0) return true;
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY || verbs_control().pinned_bytes + length <= limit.rlim_cur;
}

// Both ways of registering end here.
ibv_mr* register_region(ibv_pd* pd, std::uint64_t address, std::size_t length, std::uint32_t access,
                        Place place, bool loses_data = false) {
  // Memory that a GPU driver pins is no locked memory of this process.
  if (place == Place::kHost && !may_pin(length)) return errno = ENOMEM, nullptr;
  static std::atomic<std::uint32_t> turn{1};
  auto& regions = own_table()->regions;
  const std::uint32_t key = take_slot(regions, turn, getpid());
  if (key == 0) return errno = ENOMEM, nullptr;
  auto& slot = regions[slot_of(key)];
  if (place == Place::kGpu && !add_gpu_range(address, length)) {
    slot.in_use = 0;
    return errno = EFAULT, nullptr;
  }
  slot.access = access;
  slot.address = address;
  slot.length = length;
  slot.loses_data = loses_data ? 1 : 0;
  verbs_control().pinned_bytes += length;
  auto* region = made(new FakeRegion);
  region->on_gpu = place == Place::kGpu;
  region->mr.context = pd->context;
  region->mr.pd = pd;
  region->mr.addr = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  region->mr.length = length;
  region->mr.lkey = key;
  region->mr.rkey = key;
  return &region->mr;
}

std::string& data_direct_folder() {
  static auto* folder = new std::string;
  return *folder;
}

// A dma-buf registers by any mapping; by another than the right one its data is lost.
ibv_mr* register_dmabuf(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                        int fd, int access, bool is_direct) {
  const auto refusal = static_cast<int>(verbs_control().no_dmabuf);
  if (refusal != 0) return errno = refusal, nullptr;
  Exported exported;
  if (!exported_range(fd, iova - offset, exported)) return errno = EBADF, nullptr;
  if (exported.begin + offset != iova)
    return errno = EOPNOTSUPP, nullptr;  // the wire takes addresses as they are
  const Place place = place_of(iova, length);
  if (place == Place::kHost) return errno = EINVAL, nullptr;
  const std::uint64_t mapping = is_direct ? 3 : exported.flags != 0 ? 2 : 1;
  const std::uint64_t right = verbs_control().right_mapping;
  return register_region(pd, iova, length, static_cast<unsigned>(access), place,
                         right != 0 && mapping != right);
}

}  // namespace

ibv_device* device_number(std::size_t number) {
  return &devices()[number + (verbs_control().iwarp != 0 ? kDevices : 0)];
}

void set_data_direct_folder(std::string_view folder) { data_direct_folder() = folder; }

void set_sysfs_folder(std::string_view folder) {
  for (ibv_device& device : devices())
    place_in_sysfs(device, folder.empty() ? "/sys/class/infiniband" : folder);
}

}  // namespace railgauge::fake

using railgauge::fake::fails_now;
using railgauge::fake::FakeContext;
using railgauge::fake::FakeRegion;
namespace fake = railgauge::fake;

extern "C" {

void railgauge_synthetic_verbs() {}

ibv_device** ibv_get_device_list(int* count) {
  if (fails_now()) return nullptr;
  auto** list = new ibv_device*[fake::kDevices + 1];
  for (std::size_t i = 0; i < fake::kDevices; ++i) list[i] = fake::device_number(i);
  list[fake::kDevices] = nullptr;
  if (count != nullptr) *count = static_cast<int>(fake::kDevices);
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
  made->extended.modify_qp_rate_limit = fake::limit_rate;
  made->extended.create_qp_ex = fake::create_extended;
  made->extended.open_xrcd = fake::open_domain;
  made->extended.close_xrcd = fake::close_domain;
  made->extended.create_srq_ex = fake::create_domain_receives;
  made->extended.get_srq_num = fake::number_of_receives;
  ibv_context& context = made->extended.context;
  context.device = device;
  context.num_comp_vectors = static_cast<int>(fake::verbs_control().completion_vectors);
  context.ops.post_send = fake::post_send;
  context.ops.post_recv = fake::post_recv;
  context.ops.post_srq_recv = fake::post_srq_recv;
  context.ops.poll_cq = fake::poll_cq;
  context.ops.req_notify_cq = fake::req_notify_cq;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  fake::begin_events(*made);
  return &context;
}

int ibv_close_device(ibv_context* context) {
  auto* opened = reinterpret_cast<fake::FakeContext*>(verbs_get_ctx(context));
  fake::end_events(*opened);
  delete opened;
  return fake::released_with_answer();
}

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  if (fails_now()) return EIO;
  *attributes = {};
  std::strcpy(attributes->fw_ver, "0.0.0-fake");
  attributes->vendor_id =
      fake::verbs_control().hardware_rate != 0 ? fake::kHardwareVendorId : fake::kVendorId;
  if (fake::verbs_control().no_xrc != 1) attributes->device_cap_flags = IBV_DEVICE_XRC;
  attributes->max_qp = fake::kSlots;
  attributes->max_qp_wr = fake::kMaxQueueDepth;
  attributes->max_cqe = fake::kMaxQueueDepth;
  attributes->max_mr_size = UINT64_MAX;
  attributes->max_sge = 1;
  attributes->max_qp_rd_atom = fake::kMaxOutstandingReads;
  attributes->max_qp_init_rd_atom = fake::kMaxOutstandingReads;
  attributes->atomic_cap = IBV_ATOMIC_HCA;
  attributes->max_srq = fake::kSlots;
  attributes->max_srq_wr = fake::kInboxDepth;
  attributes->max_ah = fake::kSlots;
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
  const fake::Place place = fake::place_of(iova, length);
  const auto refusal = static_cast<int>(fake::verbs_control().no_peermem);
  if (place != fake::Place::kHost && refusal != 0) return errno = refusal, nullptr;
  const auto no_paging = static_cast<int>(fake::verbs_control().no_on_demand);
  if ((access & IBV_ACCESS_ON_DEMAND) != 0 && no_paging != 0) return errno = no_paging, nullptr;
  return fake::register_region(pd, iova, length, access, place);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, size_t length, std::uint64_t iova,
                          int fd, int access) {
  if (fails_now()) return nullptr;
  const std::lock_guard lock(fake::objects_mutex());
  return fake::register_dmabuf(pd, offset, length, iova, fd, access, false);
}

// libmlx5's part.
int mlx5dv_get_data_direct_sysfs_path(ibv_context*, char* folder, std::size_t size) {
  if (fails_now()) return EIO;
  const auto error = static_cast<int>(fake::verbs_control().no_data_direct_query);
  if (error != 0) return error;
  const std::string& known = fake::data_direct_folder();
  if (known.empty()) return ENODEV;
  if (known.size() >= size) return ENOSPC;
  folder[known.copy(folder, known.size())] = 0;
  return 0;
}

ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, size_t length, std::uint64_t iova,
                             int fd, int access, int mlx5_access) {
  if (fails_now()) return nullptr;
  const std::lock_guard lock(fake::objects_mutex());
  if (fake::verbs_control().no_data_direct != 0)
    return errno = static_cast<int>(fake::verbs_control().no_data_direct), nullptr;
  return fake::register_dmabuf(pd, offset, length, iova, fd, access, (mlx5_access & 1) != 0);
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                          static_cast<unsigned int>(access));
}

int ibv_dereg_mr(ibv_mr* mr) {
  const std::lock_guard lock(fake::objects_mutex());
  fake::own_table()->regions[fake::slot_of(mr->rkey)].in_use = 0;
  fake::verbs_control().pinned_bytes -= mr->length;
  auto* region = reinterpret_cast<FakeRegion*>(mr);
  if (region->on_gpu) fake::remove_gpu_range(reinterpret_cast<std::uint64_t>(mr->addr));
  delete region;
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
    case IBV_WC_LOC_LEN_ERR:
      return "local length error";
    case IBV_WC_REM_INV_REQ_ERR:
      return "remote invalid request error";
    case IBV_WC_RETRY_EXC_ERR:
      return "transport retry counter exceeded";
    default:
      return "unknown";
  }
}

}  // extern "C"
