// The fake's data path: posting, doing the operation, completing.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/fakes/verbs/fake_objects.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge::fake {
namespace {

constexpr std::size_t kControlWordBytes = 8;  // left whole, so that a test fails where it should
constexpr std::uint64_t kRetries = 1U << 1U;  // of efadv_query_device

void wait_delay() {
  const std::uint64_t delay_ns = verbs_control().delay_ns;
  if (delay_ns == 0) return;
  const auto now_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
  };
  const std::uint64_t end = now_ns() + delay_ns;
  while (now_ns() < end) {
  }
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): verbs carry addresses as numbers
std::uint8_t* at(std::uint64_t address) { return reinterpret_cast<std::uint8_t*>(address); }

bool region_covers(const Table& table, std::uint32_t key, std::uint64_t address,
                   std::uint64_t length, std::uint32_t access) {
  const RegionSlot& region = table.regions[slot_of(key)];
  return region.in_use != 0 && (region.access & access) == access && address >= region.address &&
         address + length <= region.address + region.length;
}

// Whether the region was registered by a mapping that the adapter cannot use.
bool loses_data(const Table& table, std::uint32_t key) {
  return table.regions[slot_of(key)].loses_data != 0;
}

std::uint32_t length_of(const ibv_send_wr& wr) { return wr.num_sge == 0 ? 0 : wr.sg_list->length; }

// Whether the bytes of a request are its own, or lie in local memory under a key that covers them.
bool is_readable(const ibv_send_wr& wr) {
  if (wr.num_sge == 0 || (wr.send_flags & IBV_SEND_INLINE) != 0) return true;
  const ibv_sge& sge = *wr.sg_list;
  return region_covers(*own_table(), sge.lkey, sge.addr, sge.length, 0);
}

bool gather(const ibv_send_wr& wr, std::vector<std::uint8_t>& bytes) {
  bytes.clear();
  if (wr.num_sge == 0) return true;
  const ibv_sge& sge = *wr.sg_list;
  ++verbs_control().gathers;
  bytes.resize(sge.length);
  if ((wr.send_flags & IBV_SEND_INLINE) == 0 && loses_data(*own_table(), sge.lkey)) return true;
  return copy_from(getpid(), sge.addr, bytes.data(), bytes.size()) == Copied::kDone;
}

// Decides on this operation. Control words are left as they are.
struct Fate {
  bool flips = false;
  bool is_data = false;
  WireFault fault = WireFault::kNone;
};
Fate fate_of(std::size_t bytes, bool is_atomic) {
  VerbsControl& control = verbs_control();
  if (bytes <= kControlWordBytes && !is_atomic) return {};
  const std::uint64_t number = ++control.data_writes;
  if (control.on_data_write) control.on_data_write(number);
  Fate fate{.flips = number == control.flip_write || control.flip_byte != 0, .is_data = true};
  const std::uint64_t every = control.fault_every;
  if (every != 0 && number % every == 0) fate.fault = static_cast<WireFault>(control.fault.load());
  if (fate.fault == WireFault::kCorrupt) fate.flips = true;
  return fate;
}

// Does what a fault does to the payloads of two neighbours. `bytes` is about to be written at
// `address`; the message before is where it was delivered.
void change_payload(FakeQueuePair& mine, const Fate& fate, pid_t pid, std::uint64_t address,
                    std::vector<std::uint8_t>& bytes) {
  if (!fate.is_data || verbs_control().fault == 0) return;
  Delivered& before = mine.before;
  if (before.bytes.size() != bytes.size()) before = {pid, address, bytes};
  if (fate.fault == WireFault::kSwap)
    static_cast<void>(copy_to(before.pid, before.address, bytes.data(), bytes.size()));
  const bool takes_other = fate.fault == WireFault::kRepeat || fate.fault == WireFault::kSwap;
  if (takes_other) bytes.swap(before.bytes);
  // The payload that was sent, whatever is delivered.
  if (!takes_other) before.bytes = bytes;
  before.pid = pid;
  before.address = address;
}

bool is_lost(const FakeQueuePair& mine, std::size_t bytes) {
  if (is_reliable(mine.kind)) return false;
  if (bytes == 0) return ++verbs_control().empties == verbs_control().lose_empty;
  if (bytes <= kControlWordBytes) return false;
  return ++verbs_control().datagrams == verbs_control().lose_datagram;
}

// One operation towards a peer, found once.
struct Target {
  std::shared_ptr<Table> table;
  pid_t pid = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t inbox = 0;
  [[nodiscard]] QueuePairSlot& slot() const { return table->queue_pairs[slot_of(queue_pair)]; }
};

// Whether the found queue pair takes this sender's messages.
bool fits(const FakeQueuePair& mine, const QueuePairSlot& theirs, const ibv_send_wr& wr,
          const Aim& aim) {
  if (mine.kind == kDcInitiator) return theirs.access_key == aim.key;
  if (mine.kind == kSrd) return theirs.qkey == aim.key;
  return mine.kind == IBV_QPT_UD ? theirs.qkey == wr.wr.ud.remote_qkey
                                 : theirs.destination == mine.qp.qp_num;
}

std::optional<Target> find_target(const FakeQueuePair& mine, const ibv_send_wr& wr,
                                  const Aim& aim) {
  const std::uint64_t limit = verbs_control().lose_after;
  if (limit != 0 && verbs_control().writes >= limit) return std::nullopt;
  const bool is_aimed = mine.kind == kDcInitiator || mine.kind == kSrd;
  const bool datagram = mine.kind == IBV_QPT_UD;
  Target target;
  target.queue_pair = is_aimed ? aim.number : datagram ? wr.wr.ud.remote_qpn : mine.destination;
  target.pid = pid_of(target.queue_pair);
  target.table = is_aimed || datagram ? table_of(target.pid) : mine.peer;
  if (target.table == nullptr) return std::nullopt;
  const QueuePairSlot& theirs = target.slot();
  const bool by_xrc = mine.kind == IBV_QPT_XRC_SEND;
  const std::uint32_t wanted = by_xrc                      ? std::uint32_t{IBV_QPT_XRC_RECV}
                               : mine.kind == kDcInitiator ? kDcTarget
                                                           : mine.kind;
  target.inbox = by_xrc ? wr.qp_type.xrc.remote_srqn : theirs.inbox.load();
  if (by_xrc && pid_of(target.inbox) != target.pid) return std::nullopt;
  const bool ready = theirs.in_use != 0 && theirs.type == wanted &&
                     (theirs.state == IBV_QPS_RTR || theirs.state == IBV_QPS_RTS);
  return ready && fits(mine, theirs, wr, aim) ? std::optional(target) : std::nullopt;
}

ibv_wc_status status_of(Copied copied) {
  switch (copied) {
    case Copied::kDone:
      return IBV_WC_SUCCESS;
    case Copied::kPeerGone:
      return IBV_WC_RETRY_EXC_ERR;
    case Copied::kFault:
      break;
  }
  return IBV_WC_REM_OP_ERR;
}

bool permits(const Target& target, std::uint32_t key, std::uint64_t address, std::size_t count,
             std::uint32_t access) {
  return pid_of(key) == target.pid && region_covers(*target.table, key, address, count, access);
}

ibv_wc_status write_there(const Target& target, FakeQueuePair& mine, const Fate& fate,
                          const ibv_send_wr& wr, std::vector<std::uint8_t>& bytes) {
  if (!permits(target, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, bytes.size(),
               IBV_ACCESS_REMOTE_WRITE))
    return IBV_WC_REM_ACCESS_ERR;
  if (loses_data(*target.table, wr.wr.rdma.rkey)) return IBV_WC_SUCCESS;
  change_payload(mine, fate, target.pid, wr.wr.rdma.remote_addr, bytes);
  return status_of(copy_to(target.pid, wr.wr.rdma.remote_addr, bytes.data(), bytes.size()));
}

// Takes one of the target's receives and reports it. Returns nothing when it has none.
std::optional<ibv_wc_status> arrive(const Target& target, FakeQueuePair& mine, const Fate& fate,
                                    const ibv_send_wr& wr, std::vector<std::uint8_t>& bytes) {
  Inbox& inbox = target.table->inboxes[slot_of(target.inbox)];
  const std::uint32_t number = inbox.arrived;
  if (number == inbox.posted) return std::nullopt;
  const PostedReceive& receive = inbox.receives[number % kInboxDepth];
  const bool is_write = wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  const std::uint32_t grh = mine.kind == IBV_QPT_UD ? kGrhBytes : 0;
  Arrival arrival{.wr_id = receive.wr_id,
                  .bytes = static_cast<std::uint32_t>(bytes.size()) + grh,
                  .immediate = wr.imm_data,
                  .opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
                  .status = IBV_WC_SUCCESS,
                  .queue_pair = target.queue_pair};
  const bool has_immediate = is_write || wr.opcode == IBV_WR_SEND_WITH_IMM;
  if (has_immediate && verbs_control().no_immediate == 0) arrival.flags |= IBV_WC_WITH_IMM;
  if (grh != 0) arrival.flags |= IBV_WC_GRH;
  ibv_wc_status here = IBV_WC_SUCCESS;
  if (is_write) {
    here = write_there(target, mine, fate, wr, bytes);
    if (here != IBV_WC_SUCCESS) return here;
  } else if (receive.is_valid == 0) {
    arrival.status = IBV_WC_LOC_PROT_ERR;
    here = IBV_WC_REM_OP_ERR;
  } else if (arrival.bytes > receive.bytes) {
    arrival.status = IBV_WC_LOC_LEN_ERR;
    here = IBV_WC_REM_INV_REQ_ERR;
  } else if (receive.loses_data == 0) {
    change_payload(mine, fate, target.pid, receive.address + grh, bytes);
    here = status_of(copy_to(target.pid, receive.address + grh, bytes.data(), bytes.size()));
  }
  inbox.arrivals[number % kInboxDepth] = arrival;
  inbox.arrived.store(number + 1, std::memory_order_release);
  return here;
}

ibv_wc_status read_from(const Target& target, FakeQueuePair& mine, const ibv_send_wr& wr) {
  const ibv_sge& sge = *wr.sg_list;
  if (!permits(target, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, sge.length, IBV_ACCESS_REMOTE_READ))
    return IBV_WC_REM_ACCESS_ERR;
  thread_local std::vector<std::uint8_t> bytes;
  bytes.resize(sge.length);
  std::ranges::fill(bytes, 0);
  Copied copied = Copied::kDone;
  if (!loses_data(*target.table, wr.wr.rdma.rkey))
    copied = copy_from(target.pid, wr.wr.rdma.remote_addr, bytes.data(), bytes.size());
  if (copied != Copied::kDone) return status_of(copied);
  const Fate fate = fate_of(sge.length, false);
  if (fate.flips) bytes[bytes.size() / 2] ^= 0x40U;
  if (fate.fault == WireFault::kDrop || loses_data(*own_table(), sge.lkey)) return IBV_WC_SUCCESS;
  change_payload(mine, fate, getpid(), sge.addr, bytes);
  copied = copy_to(getpid(), sge.addr, bytes.data(), bytes.size());
  return copied == Copied::kDone ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

// One process alone changes a word at a time here, under its lock: no lock between processes.
ibv_wc_status change_word(const Target& target, FakeQueuePair& mine, const ibv_send_wr& wr) {
  const auto& atomic = wr.wr.atomic;
  if (!permits(target, atomic.rkey, atomic.remote_addr, sizeof(std::uint64_t),
               IBV_ACCESS_REMOTE_ATOMIC) ||
      atomic.remote_addr % sizeof(std::uint64_t) != 0)
    return IBV_WC_REM_INV_REQ_ERR;
  std::uint64_t word = 0;
  if (const Copied read = copy_from(target.pid, atomic.remote_addr, &word, sizeof word);
      read != Copied::kDone)
    return status_of(read);
  const Fate fate = fate_of(sizeof word, true);
  if (fate.fault == WireFault::kDrop) return IBV_WC_SUCCESS;
  thread_local std::vector<std::uint8_t> fetched(sizeof word);
  std::memcpy(fetched.data(), &word, sizeof word);
  change_payload(mine, fate, getpid(), wr.sg_list->addr, fetched);
  if (copy_to(getpid(), wr.sg_list->addr, fetched.data(), sizeof word) != Copied::kDone)
    return IBV_WC_LOC_PROT_ERR;
  if (fate.flips && fate.fault == WireFault::kNone) return IBV_WC_SUCCESS;
  if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    word += atomic.compare_add;
  else if (word == atomic.compare_add)
    word = atomic.swap;
  if (fate.fault == WireFault::kCorrupt) word ^= 1ULL << 40U;
  return status_of(copy_to(target.pid, atomic.remote_addr, &word, sizeof word));
}

// Nothing: the other side has no receive for it yet.
std::optional<ibv_wc_status> carry_out(FakeQueuePair& mine, const ibv_send_wr& wr, const Aim& aim) {
  thread_local std::vector<std::uint8_t> bytes;
  const bool reliable = is_reliable(mine.kind);
  const bool fetches = wr.opcode == IBV_WR_RDMA_READ || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
                       wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  // As iWARP has it: what a read brings is written by the other side.
  std::uint32_t local_access = IBV_ACCESS_LOCAL_WRITE;
  if (wr.opcode == IBV_WR_RDMA_READ && verbs_control().iwarp != 0)
    local_access |= IBV_ACCESS_REMOTE_WRITE;
  if (fetches ? !region_covers(*own_table(), wr.sg_list->lkey, wr.sg_list->addr, length_of(wr),
                               local_access)
              : !is_readable(wr))
    return IBV_WC_LOC_PROT_ERR;
  const bool is_data = length_of(wr) > kControlWordBytes;
  if (is_data && verbs_control().data_writes + 1 == verbs_control().unregister_at)
    return IBV_WC_LOC_PROT_ERR;
  const auto target = find_target(mine, wr, aim);
  if (!target) return reliable ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
  std::optional<ibv_wc_status> done;
  if (fetches) {
    wait_delay();
    done = wr.opcode == IBV_WR_RDMA_READ ? read_from(*target, mine, wr)
                                         : change_word(*target, mine, wr);
  } else {
    const Inbox& inbox = target->table->inboxes[slot_of(target->inbox)];
    const bool takes_receive = wr.opcode != IBV_WR_RDMA_WRITE;
    // Looked at before a byte is read: every poll of the sender comes here while it waits, and from
    // a GPU each reading is a copy that the driver waits for.
    if (takes_receive && reliable && inbox.arrived == inbox.posted) {
      const bool retries = mine.kind != kSrd || (verbs_control().efa_capabilities & kRetries) != 0;
      return retries ? std::nullopt : std::optional(IBV_WC_RNR_RETRY_EXC_ERR);
    }
    if (!gather(wr, bytes)) return IBV_WC_LOC_PROT_ERR;
    wait_delay();
    if (is_lost(mine, bytes.size())) return IBV_WC_SUCCESS;
    const Fate fate = fate_of(bytes.size(), false);
    if (fate.flips) bytes[bytes.size() / 2] ^= 0x40U;
    if (fate.fault == WireFault::kDrop)
      done = IBV_WC_SUCCESS;
    else
      done = takes_receive ? arrive(*target, mine, fate, wr, bytes)
                           : write_there(*target, mine, fate, wr, bytes);
  }
  ++verbs_control().writes;
  return reliable ? done : IBV_WC_SUCCESS;  // an unreliable sender learns nothing
}

ibv_wc_opcode completed_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return IBV_WC_SEND;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    default:
      return IBV_WC_RDMA_WRITE;
  }
}

FakeCompletionQueue& send_queue_of(const FakeQueuePair& mine) {
  return *reinterpret_cast<FakeCompletionQueue*>(mine.qp.send_cq);
}

void complete(FakeQueuePair& mine, const ibv_send_wr& wr, ibv_wc_status status) {
  ++mine.unsignalled;
  if (status != IBV_WC_SUCCESS) {
    mine.qp.state = IBV_QPS_ERR;
    own_table()->queue_pairs[slot_of(mine.qp.qp_num)].state = IBV_QPS_ERR;
  } else if (!mine.signal_all && (wr.send_flags & IBV_SEND_SIGNALED) == 0) {
    return;
  }
  FakeCompletionQueue& queue = send_queue_of(mine);
  const std::lock_guard lock(queue.mutex);
  if (queue.entries.size() >= static_cast<std::size_t>(queue.cq.cqe)) {
    queue.overrun = true;
    return;
  }
  Completion completion;
  completion.wc.wr_id = wr.wr_id;
  completion.wc.status = status;
  completion.wc.opcode = completed_opcode(wr.opcode);
  completion.wc.qp_num = mine.qp.qp_num;
  completion.queue_pair = &mine;
  completion.retires = mine.unsignalled;
  mine.unsignalled = 0;
  queue.entries.push_back(completion);
}

// Does what waits for receives, as far as it can be done now.
void go_on(FakeQueuePair& mine) {
  while (!mine.pending.empty()) {
    Pending& first = mine.pending.front();
    first.wr.sg_list = &first.sge;
    std::optional<ibv_wc_status> status = IBV_WC_WR_FLUSH_ERR;
    if (mine.qp.state == IBV_QPS_RTS) status = carry_out(mine, first.wr, first.aim);
    if (!status) return;
    complete(mine, first.wr, *status);
    mine.pending.pop_front();
    --send_queue_of(mine).waiting;
  }
}

void put_off(FakeQueuePair& mine, const ibv_send_wr& wr, const Aim& aim) {
  Pending& last = mine.pending.emplace_back();
  ++send_queue_of(mine).waiting;
  last.wr = wr;
  last.aim = aim;
  if (wr.num_sge == 0) return;
  last.sge = *wr.sg_list;
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) return;
  last.inline_bytes.assign(at(last.sge.addr), at(last.sge.addr) + last.sge.length);
  last.sge.addr = reinterpret_cast<std::uint64_t>(last.inline_bytes.data());
}

bool type_has(std::uint32_t type, ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return true;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return type != IBV_QPT_UD;
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return is_reliable(type);
    default:
      return false;
  }
}

// The device of SRD takes the later of two posts first, where the test wants it.
bool overtakes(FakeQueuePair& mine, const ibv_send_wr& wr, const Aim& aim) {
  if (mine.kind != kSrd || verbs_control().srd_overtakes == 0 || mine.qp.state != IBV_QPS_RTS)
    return false;
  const std::optional<ibv_wc_status> status =
      mine.pending.empty() ? std::nullopt : carry_out(mine, wr, aim);
  if (status)
    complete(mine, wr, *status);
  else
    put_off(mine, wr, aim);
  if (status) go_on(mine);
  return true;
}

int post_one(FakeQueuePair& mine, const ibv_send_wr& wr, const Aim& aim = {}) {
  if (is_quiet()) return 0;
  if (transfer_fails_now()) return EIO;
  if (mine.qp.state != IBV_QPS_RTS && mine.qp.state != IBV_QPS_ERR) return EINVAL;
  // libefa's rule.
  if (mine.kind == kSrd && !mine.signal_all && (wr.send_flags & IBV_SEND_SIGNALED) == 0)
    return EINVAL;
  if (!type_has(mine.kind, wr.opcode)) return EOPNOTSUPP;
  if (mine.outstanding >= mine.cap.max_send_wr) return ENOMEM;
  const std::uint32_t count = length_of(wr);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0 && count > mine.cap.max_inline_data) return EINVAL;
  if (mine.kind == IBV_QPT_UD && count > kMtuBytes) return EINVAL;
  ++mine.outstanding;
  if (overtakes(mine, wr, aim)) return 0;
  go_on(mine);
  std::optional<ibv_wc_status> status;
  if (mine.qp.state == IBV_QPS_ERR)
    status = IBV_WC_WR_FLUSH_ERR;
  else if (mine.pending.empty())
    status = carry_out(mine, wr, aim);
  if (status)
    complete(mine, wr, *status);
  else
    put_off(mine, wr, aim);
  return 0;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  const std::lock_guard lock(objects_mutex());
  auto& mine = *reinterpret_cast<FakeQueuePair*>(qp);
  for (; wr != nullptr; wr = wr->next) {
    if (const int error = post_one(mine, *wr); error != 0) {
      *bad_wr = wr;
      return error;
    }
  }
  return 0;
}

// The requests point at their own elements, which are not copied.
int post_aimed(FakeQueuePair& mine, std::vector<Pending>& chain) {
  const std::lock_guard lock(objects_mutex());
  for (Pending& one : chain) {
    one.wr.sg_list = &one.sge;
    if (const int error = post_one(mine, one.wr, one.aim); error != 0) return error;
  }
  return 0;
}

void continue_all(FakeCompletionQueue& queue) {
  if (queue.waiting == 0) return;
  const std::lock_guard lock(objects_mutex());
  for (FakeQueuePair* mine : queue.senders) go_on(*mine);
}

}  // namespace railgauge::fake
