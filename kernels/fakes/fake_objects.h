// The fake's own structures behind the handles, each with rdma-core's structure first.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/fakes/fake_table.h"

namespace railgauge::fake {

inline constexpr std::uint32_t kVendorId = 0xfa4e00;
inline constexpr int kGidCount = 4;
inline constexpr std::size_t kMaxQueueDepth = 16384;

struct FakeQueuePair;

struct Completion {
  ibv_wc wc{};
  FakeQueuePair* queue_pair = nullptr;
  std::uint32_t retires = 0;  // posts whose places in the send queue it frees
};

struct FakeCompletionQueue {
  ibv_cq cq{};
  std::mutex mutex;
  std::deque<Completion> entries;
  bool overrun = false;
};

struct FakeQueuePair {
  ibv_qp qp{};
  ibv_qp_cap cap{};
  std::uint32_t destination = 0;
  std::uint32_t outstanding = 0;  // posts whose completion was not polled
  std::uint32_t unsignalled = 0;  // since the last completion
  std::shared_ptr<Table> peer;
  bool signal_all = false;
};

struct FakeRegion {
  ibv_mr mr{};
  std::uint32_t access = 0;
};

// One lock for all objects of this process: control calls and posts. Polls have the queue's own.
std::mutex& objects_mutex();

// The operations that rdma-core's header calls through the context.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);

// Counts the call; true when it is the one that shall fail (errno is set to EIO).
bool fails_now();

}  // namespace railgauge::fake
