// The fake's structures behind the handles; each begins with rdma-core's structure.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/fakes/verbs/fake_table.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge::fake {

inline constexpr std::uint32_t kVendorId = 0xfa4e00;
inline constexpr std::uint32_t kHardwareVendorId = 0xfa4e01;
inline constexpr int kGidCount = 4;
inline constexpr std::size_t kMaxQueueDepth = 16384;
inline constexpr std::uint32_t kMtuBytes = 4096;
inline constexpr std::uint32_t kGrhBytes = 40;
inline constexpr std::uint8_t kMaxOutstandingReads = 16;

// An open device. Its descriptor is readable while it has events.
struct FakeContext {
  verbs_context extended{};
  std::deque<ibv_async_event> events;  // under the lock of fake_events.cc
};
// An open device reports events between these calls.
void begin_events(FakeContext& context);
void end_events(FakeContext& context);

struct FakeCompletionQueue;
struct FakeQueuePair;
struct FakeDomain;

struct Completion {
  ibv_wc wc{};
  FakeQueuePair* queue_pair = nullptr;
  std::uint32_t retires = 0;  // posts whose places in the send queue become free
};

// Its descriptor ticks; a request for an event looks for queues with completions.
struct FakeChannel {
  ibv_comp_channel channel{};
  std::vector<FakeCompletionQueue*> queues;
};

struct FakeCompletionQueue {
  ibv_cq cq{};
  std::mutex mutex;
  std::deque<Completion> entries;
  std::vector<FakeQueuePair*> senders;  // queue pairs whose posts complete here
  std::vector<std::uint32_t> inboxes;   // with arrivals here; a shared one once for each sharer
  bool overrun = false;
  std::atomic<bool> armed{false};
  std::atomic<std::uint32_t> waiting{0};  // posts that wait for the other side's receives
};

// Types of a provider's own queue pairs, beside those of ibv_qp_type: initiator and target of DC,
// and SRD.
inline constexpr std::uint32_t kDcInitiator = 0x1000;
inline constexpr std::uint32_t kDcTarget = 0x1001;
inline constexpr std::uint32_t kSrd = 0x1002;

// mlx5dv_qp_ex, as far as initiators have it.
struct FakeDcExtension {
  std::uint64_t mask = 0;
  void (*set_dc_address)(FakeDcExtension* extension, ibv_ah* address, std::uint32_t target,
                         std::uint64_t key) = nullptr;
  FakeQueuePair* queue_pair = nullptr;
};

// Where a post of DC or SRD goes.
struct Aim {
  std::uint32_t number = 0;
  std::uint64_t key = 0;
};

// A post that waits for a receive on the other side, or is a part of an extended chain.
struct Pending {
  ibv_send_wr wr{};
  Aim aim;
  ibv_sge sge{};
  std::vector<std::uint8_t> inline_bytes;
};

// A payload and where it went; kept while a fault is set.
struct Delivered {
  pid_t pid = 0;
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
};

struct FakeQueuePair {
  // The second one begins with the first, as rdma-core has them.
  union {
    ibv_qp_ex extended{};
    ibv_qp qp;
  };
  std::vector<Pending> chain;  // of extended requests, until they are complete
  FakeDcExtension dc;
  std::uint32_t kind = 0;    // an ibv_qp_type, or a type of a provider's own
  std::uint32_t number = 0;  // qp_num, which a target of DC shows once it can receive
  ibv_qp_cap cap{};
  std::uint32_t destination = 0;
  std::uint32_t outstanding = 0;  // posts whose completion was not polled yet
  std::uint32_t unsignalled = 0;  // since the last completion
  std::uint32_t inbox = 0;
  std::shared_ptr<Table> peer;
  std::deque<Pending> pending;
  Delivered before;
  bool signal_all = false;
  FakeDomain* domain = nullptr;  // of one that receives by XRC
};

struct FakeDomain {
  ibv_xrcd xrcd{};
  std::uint32_t users = 0;  // receive queues and queue pairs
};

struct FakeSharedReceives {
  ibv_srq srq{};
  std::uint32_t inbox = 0;
  std::uint32_t depth = 0;
  FakeCompletionQueue* completions = nullptr;  // of XRC alone, as the next
  FakeDomain* domain = nullptr;
};

struct FakeAddressHandle {
  ibv_ah ah{};
};

struct FakeRegion {
  ibv_mr mr{};
  std::uint32_t access = 0;
  bool on_gpu = false;  // of a real driver
};

// One lock for all objects of this process: control calls and posts of sends. Polls use the queue's
// own lock, posts of receives another one.
std::mutex& objects_mutex();

// Posts a chain whose requests are `aimed`, one after another.
int post_aimed(FakeQueuePair& mine, std::vector<Pending>& chain);

// The operations that rdma-core's header calls through the context.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int limit_rate(ibv_qp* qp, ibv_qp_rate_limit_attr* wanted);
ibv_qp* create_extended(ibv_context* context, ibv_qp_init_attr_ex* wanted);
ibv_xrcd* open_domain(ibv_context* context, ibv_xrcd_init_attr* wanted);
int close_domain(ibv_xrcd* xrcd);
ibv_srq* create_domain_receives(ibv_context* context, ibv_srq_init_attr_ex* wanted);
int number_of_receives(ibv_srq* srq, std::uint32_t* number);

// Makes a queue pair of any type of `init`; `pd` is nullptr where XRC receives, `kind` is that of
// IBV_QPT_DRIVER. nullptr with errno.
ibv_qp* create_queue_pair(ibv_context* context, ibv_pd* pd, ibv_qp_init_attr* init,
                          std::uint32_t kind = 0);
// Makes one by the checked settings of the extended call, and gives it the functions for the
// operations that were asked for.
ibv_qp* create_with_operations(ibv_context* context, ibv_qp_init_attr_ex* wanted,
                               std::uint32_t kind);
inline bool is_reliable(std::uint32_t kind) {
  return kind == IBV_QPT_RC || kind == IBV_QPT_XRC_SEND || kind == kDcInitiator || kind == kSrd;
}
// The masks of the steps of a provider's own types: what a step needs, and what it may have beside.
struct StepMasks {
  int required = -1;
  int optional = 0;
};
StepMasks provider_masks(std::uint32_t kind, ibv_qp_state from, ibv_qp_state to);
int req_notify_cq(ibv_cq* cq, int solicited_only);

// Continues posts that wait for the other side's receives, as far as possible now.
void continue_all(FakeCompletionQueue& queue);

// Reports whether a poll would find a completion.
bool has_completion(FakeCompletionQueue& queue);

// Returns a fresh inbox's key, or 0 when all are taken.
std::uint32_t take_inbox();
void release_inbox(std::uint32_t key);

// Reports whether fail_from is reached: every call from now on fails.
bool is_gone();
// Reports whether a post is taken and then forgotten, and a poll finds nothing.
bool is_quiet();

// Count live handles: one call at creation, one at release.
template <class Object>
Object* made(Object* object) {
  ++verbs_control().live_handles;
  return object;
}
inline void released() { --verbs_control().live_handles; }
// Counts the release even when it returns an error, so that a test can check that nothing is left.
inline int released_with_answer() {
  released();
  return verbs_control().fail_destroy != 0 || is_gone() ? EIO : 0;
}

// Returns the device by its number in the list.
ibv_device* device_number(std::size_t number);

// Brings both to RTS, as an iWARP driver does once its connection manager has connected them.
void connect_queue_pairs(std::uint32_t one, std::uint32_t other);

// Counts the call; returns true, with errno EIO, when this call must fail. `call` is the caller's
// own name, which VerbsControl::failed_call then has.
bool fails_now(const char* call = __builtin_FUNCTION());
bool transfer_fails_now(const char* call = __builtin_FUNCTION());  // of a post or a poll

}  // namespace railgauge::fake
