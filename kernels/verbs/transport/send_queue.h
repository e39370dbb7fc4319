// The hot side of sending: posts on queue pairs, retires completions, polls memory. Calls of a
// timed loop are inline here; they neither allocate nor make system calls when the TSC is the clock
// and completions are polled. Not thread safe.
#pragma once

#include <infiniband/verbs.h>
#include <string>

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/mlx5.h"
#include "kernels/dl/verbs.h"
#include "kernels/verbs/transport/device_events.h"

namespace railgauge::verbs {

// A completion queue, and the channel that announces completions; without a channel the queue is
// polled without pause. Not owned.
struct Completions {
  ibv_cq* queue = nullptr;
  ibv_comp_channel* channel = nullptr;
  // An event is requested and has not arrived yet.
  bool is_armed = false;
};

// The limits of every wait of a link, and the first failure that ended one. One a link, on the
// link's thread.
class Waiting {
 public:
  // The failed action; failure() describes it.
  enum class Failure {
    kNone,
    kPost,
    kPoll,
    kEvent,
    kCompletion,
    kStalled,
    kDeadline,
    kAborted,
    kLost  // the device, its port or a queue pair, by an event of the device
  };

  // `who` opens every message: "fake0:1: write to rank 1 (fake1:1)". The message names the state of
  // `queue_pair` when no other queue pair is known to have failed.
  void set_who(std::string who, ibv_qp* queue_pair) {
    who_ = std::move(who);
    queue_pair_ = queue_pair;
  }
  // Ends waits at these limits from now until the next call.
  void set_limits(const TickClock& clock, double deadline_monotonic_ns, double stall_ns);
  // Ends waits, and the next batch, when an event says that the device is lost. Looked at between
  // polls that found nothing and between batches, every kLookMs at most. Optional.
  void watch_device(ibv_context* context, std::string device, std::uint8_t port) {
    events_.watch(context, std::move(device), port);
  }
  // Ends waits at once when the peer writes `value` to this byte, which means that it gives up.
  // Optional.
  // Any of `count` bytes, `stride` bytes apart, where it may come into several places.
  void watch_abort(const std::uint8_t* flag, std::uint8_t value, std::size_t count = 1,
                   std::size_t stride = 0) {
    abort_flag_ = flag;
    abort_value_ = value;
    abort_flags_ = count;
    abort_stride_ = stride;
  }

  // Call between polls that found nothing; `since` is 0 at a wait's beginning. False ends the wait.
  [[nodiscard]] bool may_continue(std::uint64_t& since);
  // Does the same; with a channel it sleeps until an event, for a moment at most.
  [[nodiscard]] bool may_continue(std::uint64_t& since, Completions& completions);
  // Returns false, with a failure, once the task's deadline has passed, or the device is lost. For
  // use between two batches: with a fast peer no wait ever reads the clock.
  [[nodiscard]] bool before_deadline();

  // Records the failure and returns false. The message names the state of `queue_pair`.
  bool fail_with(Failure failure, int detail, ibv_qp* queue_pair);
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }
  // Describes the failure that a call reported: one line, with the status in words, the queue
  // pair's state and the side to look at.
  [[nodiscard]] Error failure() const;

 private:
  [[nodiscard]] bool is_aborted() const;
  // Whether the device is lost; looks at its events where the last look is long enough ago.
  bool is_lost(std::uint64_t now);
  // Sleeps at most kSleepMs on the channel. False when the channel failed.
  bool sleep_until_event(Completions& completions);

  const TickClock* clock_ = nullptr;
  // The byte that the peer writes; nullptr: no abort.
  const std::uint8_t* abort_flag_ = nullptr;
  std::uint8_t abort_value_ = 1;
  std::size_t abort_flags_ = 1;
  std::size_t abort_stride_ = 0;
  std::uint64_t deadline_ticks_ = 0;
  std::uint64_t stall_ticks_ = 0;
  DeviceEvents events_;
  std::uint64_t look_ticks_ = 0;  // between two looks at the events
  std::uint64_t next_look_ = 0;
  Failure failure_ = Failure::kNone;
  // errno, or the status of the completion.
  int detail_ = 0;
  ibv_qp* queue_pair_ = nullptr;
  // Beginning of every message.
  std::string who_;
};

// One work request, built once and posted many times.
struct Request {
  // Local address, length and key.
  ibv_sge sge{};
  // Operation, remote address and key; its sg_list is set at the post.
  ibv_send_wr wr{};
  unsigned flags = 0;  // besides IBV_SEND_SIGNALED

  // Makes a write of `bytes` from this process's memory at `from`, in the region `local`, to the
  // peer's address `to`.
  static Request write(const std::byte* from, std::size_t bytes, const ibv_mr* local,
                       std::uint64_t to, std::uint32_t remote_key) {
    Request request;
    request.sge.addr = reinterpret_cast<std::uint64_t>(from);
    request.sge.length = static_cast<std::uint32_t>(bytes);
    request.sge.lkey = local->lkey;
    request.wr.num_sge = 1;
    request.wr.opcode = IBV_WR_RDMA_WRITE;
    request.wr.wr.rdma.remote_addr = to;
    request.wr.wr.rdma.rkey = remote_key;
    return request;
  }
};

// Where a lane sends whose queue pair has no peer of its own.
struct Remote {
  ibv_ah* address = nullptr;
  std::uint32_t number = 0;
  std::uint64_t key = 0;                // the queue key, or the access key of DC
  Mlx5ExtendedQueuePair* dc = nullptr;  // the lane's own queue pair, of DC
};

// All posts of a link. A completion retires every earlier post of its lane, because queue pairs
// complete in order; those of SRD do not, so each of their posts asks for its own completion.
class SendQueue {
 public:
  // The queue pair of one lane and its outstanding posts.
  struct Lane {
    ibv_qp* queue_pair = nullptr;
    // The same where requests are built by ibv_wr_*.
    ibv_qp_ex* extended = nullptr;
    // Set where the lane is aimed here and not by its connection or its requests.
    Remote to;
    // Posts that no completion has retired yet.
    std::uint64_t in_flight = 0;
    // Posts since the last one that requested a completion.
    std::uint64_t unsignalled = 0;
    // The lane's number, shifted as in each post's id.
    std::uint64_t tag = 0;
  };

  SendQueue() = default;
  // All arguments outlive this object.
  SendQueue(Waiting& waiting, const Completions& completions, std::span<ibv_qp* const> queue_pairs,
            bool extended = false)
      : waiting_(&waiting),
        completions_(completions),
        polls_between_looks_(completions.channel == nullptr ? kPollsBetweenLooks : 1) {
    for (ibv_qp* queue_pair : queue_pairs)
      lanes_.push_back({.queue_pair = queue_pair,
                        .extended = extended ? loaded_verbs().qp_to_qp_ex(queue_pair) : nullptr,
                        .tag = lanes_.size() << kLaneShift});
  }

  // Aims all requests of a lane whose queue pair has no peer of its own, before the first post.
  void aim(std::size_t lane, const Remote& to) { lanes_[lane].to = to; }

  // Makes `request`, whose sg_list is set, the lane's next post; ring() then posts it and the rest
  // of its chain.
  void prepare(Request& request, bool signalled, Lane& lane) {
    // The id has the number of posts that the completion retires, and their lane.
    request.wr.wr_id = lane.tag | ++lane.unsignalled;
    ++lane.in_flight;
    if (!signalled) {
      request.wr.send_flags = request.flags;
      return;
    }
    request.wr.send_flags = request.flags | IBV_SEND_SIGNALED;
    awaited_ += lane.unsignalled;
    lane.unsignalled = 0;
  }
  // Makes `request` complete and retire the lane's last `posts` posts up to it, which the caller
  // has counted as unsignalled.
  void signal(Request& request, std::uint64_t posts, Lane& lane) {
    request.wr.wr_id = lane.tag | posts;
    request.wr.send_flags = request.flags | IBV_SEND_SIGNALED;
    awaited_ += posts;
    lane.unsignalled -= posts;
  }
  // Makes `request` a post without a completion. A failed one completes nevertheless; its id names
  // the lane.
  static void silence(Request& request, const Lane& lane) {
    request.wr.wr_id = lane.tag;
    request.wr.send_flags = request.flags;
  }
  // Posts one request `count` times without a completion; `aim` moves it before each post.
  template <class Aim>
  [[nodiscard]] bool post_silently(Request& request, std::uint64_t count, Lane& lane, Aim aim) {
    silence(request, lane);
    lane.in_flight += count;
    lane.unsignalled += count;
    for (; count > 0; --count) {
      aim();
      if (!ring(request, lane)) [[unlikely]]
        return false;
    }
    return true;
  }
  // Submits a chain to the adapter: one call, one doorbell.
  [[nodiscard]] bool ring(Request& first, const Lane& lane) {
    ibv_send_wr* bad = nullptr;
    const int error = lane.extended == nullptr ? ibv_post_send(lane.queue_pair, &first.wr, &bad)
                                               : post_extended(lane, &first.wr);
    if (error == 0) [[likely]]
      return true;
    return waiting_->fail_with(Waiting::Failure::kPost, error, lane.queue_pair);
  }
  // Builds a chain by the queue pair's own functions, one call for all of it. 0 or an errno.
  static int post_extended(const Lane& lane, const ibv_send_wr* first) {
    ibv_qp_ex& to = *lane.extended;
    ibv_wr_start(&to);
    for (const ibv_send_wr* wr = first; wr != nullptr; wr = wr->next) {
      to.wr_id = wr->wr_id;
      to.wr_flags = wr->send_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
      const auto& rdma = wr->wr.rdma;
      const auto& atomic = wr->wr.atomic;
      switch (wr->opcode) {
        case IBV_WR_RDMA_WRITE:
          ibv_wr_rdma_write(&to, rdma.rkey, rdma.remote_addr);
          break;
        case IBV_WR_RDMA_WRITE_WITH_IMM:
          ibv_wr_rdma_write_imm(&to, rdma.rkey, rdma.remote_addr, wr->imm_data);
          break;
        case IBV_WR_RDMA_READ:
          ibv_wr_rdma_read(&to, rdma.rkey, rdma.remote_addr);
          break;
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
          ibv_wr_atomic_fetch_add(&to, atomic.rkey, atomic.remote_addr, atomic.compare_add);
          break;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
          ibv_wr_atomic_cmp_swp(&to, atomic.rkey, atomic.remote_addr, atomic.compare_add,
                                atomic.swap);
          break;
        case IBV_WR_SEND_WITH_IMM:
          ibv_wr_send_imm(&to, wr->imm_data);
          break;
        default:
          ibv_wr_send(&to);
      }
      if (lane.to.dc != nullptr)
        lane.to.dc->set_dc_address(lane.to.dc, lane.to.address, lane.to.number, lane.to.key);
      else if (lane.to.address != nullptr)
        ibv_wr_set_ud_addr(&to, lane.to.address, lane.to.number,
                           static_cast<std::uint32_t>(lane.to.key));
      else if (to.qp_base.qp_type == IBV_QPT_UD)
        ibv_wr_set_ud_addr(&to, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
      else if (to.qp_base.qp_type == IBV_QPT_XRC_SEND)
        ibv_wr_set_xrc_srqn(&to, wr->qp_type.xrc.remote_srqn);
      const ibv_sge& from = *wr->sg_list;
      if ((wr->send_flags & IBV_SEND_INLINE) != 0)
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the interface has addresses as numbers
        ibv_wr_set_inline_data(&to, reinterpret_cast<void*>(from.addr), from.length);
      else
        ibv_wr_set_sge(&to, from.lkey, from.addr, from.length);
    }
    return ibv_wr_complete(&to);
  }
  // Posts one request on one lane.
  [[nodiscard]] bool post(Request& request, bool signalled, std::size_t lane_number = 0) {
    request.wr.sg_list = &request.sge;
    prepare(request, signalled, lanes_[lane_number]);
    return ring(request, lanes_[lane_number]);
  }

  // Returns the posts retired by available completions; negative on failure.
  [[nodiscard]] std::int64_t poll() {
    const int count = ibv_poll_cq(completions_.queue, kPollBatch, completion_.data());
    if (count <= 0) [[likely]] {
      if (count == 0) return 0;
      waiting_->fail_with(Waiting::Failure::kPoll, 0, lanes_.front().queue_pair);
      return -1;
    }
    std::uint64_t retired = 0;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = completion_[static_cast<std::size_t>(i)];
      Lane& lane = lanes_[wc.wr_id >> kLaneShift];
      if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        waiting_->fail_with(Waiting::Failure::kCompletion, static_cast<int>(wc.status),
                            lane.queue_pair);
        return -1;
      }
      const std::uint64_t posts = wc.wr_id & kPostsMask;
      lane.in_flight -= posts;
      retired += posts;
    }
    awaited_ -= retired;
    return static_cast<std::int64_t>(retired);
  }

  // Waits until completions retired everything up to each lane's last signalled post.
  [[nodiscard]] bool wait_retired() {
    while (awaited_ > 0)
      if (poll_or_wait() < 0) return false;
    return true;
  }

  // Polls as poll() does, but waits until posts were retired.
  [[nodiscard]] std::int64_t poll_or_wait() {
    for (std::uint64_t since = 0;;) {
      for (unsigned i = 0; i < polls_between_looks_; ++i)
        if (const std::int64_t retired = poll(); retired != 0) return retired;
      if (!waiting_->may_continue(since, completions_)) return -1;
    }
  }

  // Waits until the peer has written `value` to `byte`, the last byte of a message, which adapters
  // place last.
  [[nodiscard]] bool wait_for_byte(const std::uint8_t* byte, std::uint8_t value) {
    for (std::uint64_t since = 0;;) {
      for (unsigned i = 0; i < kPollsBetweenLooks; ++i)
        if (__atomic_load_n(byte, __ATOMIC_ACQUIRE) == value) return true;
      if (poll() < 0 || !waiting_->may_continue(since)) return false;
    }
  }

  // Checks the limits after polls_between_looks() polls that found nothing; `since` as in Waiting.
  [[nodiscard]] bool may_continue(std::uint64_t& since) {
    return waiting_->may_continue(since, completions_);
  }
  [[nodiscard]] unsigned polls_between_looks() const { return polls_between_looks_; }

  [[nodiscard]] Lane& lane(std::size_t number) { return lanes_[number]; }
  [[nodiscard]] std::uint64_t in_flight() const {
    std::uint64_t all = 0;
    for (const Lane& lane : lanes_) all += lane.in_flight;
    return all;
  }
  [[nodiscard]] std::uint64_t awaited() const { return awaited_; }  // will complete
  [[nodiscard]] Waiting& waiting() const { return *waiting_; }

  // Most completions of one poll.
  static constexpr int kPollBatch = 16;
  // Empty polls between two looks at clock and abort flag: the looks then cost little beside the
  // polls.
  static constexpr unsigned kPollsBetweenLooks = 1024;

 private:
  // A post's id: the lane above these bits, and below them the posts that its completion retires.
  static constexpr unsigned kLaneShift = 32;
  static constexpr std::uint64_t kPostsMask = (1ULL << kLaneShift) - 1;

  Waiting* waiting_ = nullptr;
  Completions completions_;
  unsigned polls_between_looks_ = kPollsBetweenLooks;
  std::vector<Lane> lanes_;
  // Posts that a completion will retire.
  std::uint64_t awaited_ = 0;
  std::array<ibv_wc, kPollBatch> completion_{};
};

}  // namespace railgauge::verbs
