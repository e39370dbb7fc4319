// The fake's own structures behind the handles, each with rdma-core's structure first.
#pragma once

#include <infiniband/verbs.h>

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

struct FakeCompletionQueue;
struct FakeQueuePair;

struct Completion {
  ibv_wc wc{};
  FakeQueuePair* queue_pair = nullptr;
  std::uint32_t retires = 0;  // posts whose places in the send queue it frees
};

// Its descriptor ticks; which queue has something is seen when an event is asked for.
struct FakeChannel {
  ibv_comp_channel channel{};
  std::vector<FakeCompletionQueue*> queues;
};

struct FakeCompletionQueue {
  ibv_cq cq{};
  std::mutex mutex;
  std::deque<Completion> entries;
  std::vector<FakeQueuePair*> senders;  // whose posts complete here
  std::vector<std::uint32_t> inboxes;   // whose arrivals do; a shared one once for each sharer
  bool overrun = false;
  std::atomic<bool> armed{false};
  std::atomic<std::uint32_t> waiting{0};  // posts that wait for the other side's receives
};

// A post that waits for a receive on the other side.
struct Pending {
  ibv_send_wr wr{};
  ibv_sge sge{};
  std::vector<std::uint8_t> inline_bytes;
};

struct FakeQueuePair {
  ibv_qp qp{};
  ibv_qp_cap cap{};
  std::uint32_t destination = 0;
  std::uint32_t outstanding = 0;  // posts whose completion was not polled
  std::uint32_t unsignalled = 0;  // since the last completion
  std::uint32_t inbox = 0;
  std::shared_ptr<Table> peer;
  std::deque<Pending> pending;
  bool signal_all = false;
};

struct FakeSharedReceives {
  ibv_srq srq{};
  std::uint32_t inbox = 0;
  std::uint32_t depth = 0;
};

struct FakeAddressHandle {
  ibv_ah ah{};
};

struct FakeRegion {
  ibv_mr mr{};
  std::uint32_t access = 0;
  bool on_gpu = false;  // of a real driver
};

// One lock for all objects of this process: control calls and posts of sends. Polls have the
// queue's own, posts of receives one beside it.
std::mutex& objects_mutex();

// The operations that rdma-core's header calls through the context.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);

// Does what waits for the other side's receives, as far as it can be done now.
void continue_all(FakeCompletionQueue& queue);

// Whether a poll would find something.
bool has_completion(FakeCompletionQueue& queue);

// A fresh inbox's key, or 0 when all are taken.
std::uint32_t take_inbox();
void release_inbox(std::uint32_t key);

// The bookkeeping of live handles: made once, released once.
template <class Object>
Object* made(Object* object) {
  ++verbs_control().live_handles;
  return object;
}
inline void released() { --verbs_control().live_handles; }
// The object is gone here in any case, so that a test can see that nothing is left.
inline int released_with_answer() {
  released();
  return verbs_control().fail_destroy != 0 ? EIO : 0;
}

// The device itself, by its number in the list.
ibv_device* device_number(std::size_t number);

// As an iWARP driver does when its connection manager has connected them: both to RTS.
void connect_queue_pairs(std::uint32_t one, std::uint32_t other);

// Counts the call; true when it is the one that shall fail (errno is set to EIO).
// `call`: the caller's own name, which VerbsControl::failed_call then says.
bool fails_now(const char* call = __builtin_FUNCTION());
bool transfer_fails_now(const char* call = __builtin_FUNCTION());  // of a post or a poll

}  // namespace railgauge::fake
