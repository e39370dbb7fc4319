// The receives of a connection: posted before messages come, polled, posted again. They use the
// slots of the receive area in turn, as the initiator's messages use the slots of its own area. The
// calls of a timed loop are inline and allocate nothing. Not thread safe.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/verbs/memory/slots.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

// Every call returns false or a negative number on failure; the link's `Waiting` has the reason.
class ReceiveQueue {
 public:
  ReceiveQueue() = default;
  // With `shared` one ring serves all queue pairs, else each has its own. All arguments outlive
  // this object.
  ReceiveQueue(Waiting& waiting, const Completions& completions,
               std::span<ibv_qp* const> queue_pairs, ibv_srq* shared)
      : waiting_(&waiting),
        completions_(completions),
        polls_between_looks_(completions.channel == nullptr ? SendQueue::kPollsBetweenLooks : 1),
        queue_pairs_(queue_pairs.begin(), queue_pairs.end()),
        shared_(shared) {}

  // Posts `depth` receives a ring into `slots` at `area`, without a buffer when `slots.bytes` is 0.
  // A receive that is posted again stays in its slot; those of a cold ring move on through all of
  // it. The rings are empty before the call.
  [[nodiscard]] bool fill(const Slots& slots, std::span<std::byte> area, std::uint32_t key,
                          std::uint32_t depth);

  // Takes the arrived messages and returns their number; negative on failure. With `again`, posts
  // each one's receive again.
  [[nodiscard]] std::int64_t take(bool again) {
    const int count = ibv_poll_cq(completions_.queue, SendQueue::kPollBatch, completion_.data());
    if (count < 0) [[unlikely]] {
      waiting_->fail_with(Waiting::Failure::kPoll, 0, queue_pairs_.front());
      return -1;
    }
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = completion_[static_cast<std::size_t>(i)];
      if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        fail_completion(wc);
        return -1;
      }
      if (again && !give_out(wc.wr_id)) return -1;
    }
    arrived_ += static_cast<std::uint64_t>(count);
    return count;
  }

  // Takes messages, posts each one's receive again, and appends their slots in the order in which
  // they came. Adds those whose completion shows other immediate data than `immediate` (in network
  // order) to `without`. Outside timed regions.
  [[nodiscard]] std::int64_t take_into(std::vector<std::size_t>& slots, __be32 immediate,
                                       std::uint64_t& without) {
    const std::int64_t count = take(true);
    for (std::int64_t i = 0; i < count; ++i) {
      const ibv_wc& wc = completion_[static_cast<std::size_t>(i)];
      slots.push_back(wc.wr_id & kSlotMask);
      if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || wc.imm_data != immediate) ++without;
    }
    return count;
  }

  // Waits for the next message; give_back() posts its receive again. A failure of `sends` ends the
  // wait.
  [[nodiscard]] bool wait_one(SendQueue& sends) {
    for (std::uint64_t since = 0;;) {
      for (unsigned i = 0; i < polls_between_looks_; ++i) {
        if (ready_ < polled_) {
          const ibv_wc& wc = completion_[static_cast<std::size_t>(ready_++)];
          owed_ = wc.wr_id;
          is_owed_ = true;
          ++arrived_;
          return wc.status == IBV_WC_SUCCESS || fail_completion(wc);
        }
        ready_ = 0;
        polled_ = ibv_poll_cq(completions_.queue, SendQueue::kPollBatch, completion_.data());
        if (polled_ < 0) [[unlikely]]
          return waiting_->fail_with(Waiting::Failure::kPoll, 0, queue_pairs_.front());
      }
      if (sends.poll() < 0 || !waiting_->may_continue(since, completions_)) return false;
    }
  }
  // Posts the last message's receive again.
  [[nodiscard]] bool give_back() {
    if (!is_owed_) return true;
    is_owed_ = false;
    return give_out(owed_);
  }

  // Returns the slot of the last message that wait_one() took.
  [[nodiscard]] std::size_t last_slot() const { return owed_ & kSlotMask; }

  // Takes as take() does, but waits until a message comes.
  [[nodiscard]] std::int64_t take_or_wait(bool again);
  // Checks the limits between two takes that found nothing; `since` as in Waiting.
  [[nodiscard]] bool may_continue(std::uint64_t& since) {
    return waiting_->may_continue(since, completions_);
  }

  // Returns 1 when the queue sleeps on events, so that every empty poll may sleep.
  [[nodiscard]] unsigned polls_between_looks() const { return polls_between_looks_; }

  // Returns the number of messages since count_from_zero().
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  void count_from_zero() { arrived_ = 0; }

 private:
  // A receive's id: the ring above these bits, the slot below.
  static constexpr unsigned kLaneShift = 32;
  static constexpr std::uint64_t kSlotMask = (1ULL << kLaneShift) - 1;

  // A receive of one slot, posted again and again; in a cold ring, the next one of a queue pair.
  struct Receive {
    ibv_sge sge{};
    ibv_recv_wr wr{};
  };

  // Fails with the queue pair that the completion names: rings may be shared, so the id does not
  // suffice.
  bool fail_completion(const ibv_wc& wc) {
    ibv_qp* failed = queue_pairs_[wc.wr_id >> kLaneShift];
    for (ibv_qp* queue_pair : queue_pairs_)
      if (queue_pair->qp_num == wc.qp_num) failed = queue_pair;
    return waiting_->fail_with(Waiting::Failure::kCompletion, static_cast<int>(wc.status), failed);
  }

  // Posts the receive `id` again into the ring that it came from.
  [[nodiscard]] bool give_out(std::uint64_t id) {
    const std::size_t lane = id >> kLaneShift;
    if (moves_) return give_out_next(lane);
    ibv_recv_wr& wr = receives_[id & kSlotMask].wr;
    wr.wr_id = id;
    return post(wr, lane);
  }
  // Posts a receive of a cold ring into its next slot.
  [[nodiscard]] bool give_out_next(std::size_t lane) {
    Receive& receive = receives_[lane];
    receive.wr.wr_id = lane << kLaneShift | receive.wr.wr_id;
    receive.sge.addr = first_ + (receive.wr.wr_id & kSlotMask) * stride_;
    const std::uint64_t next = (receive.wr.wr_id & kSlotMask) + 1;
    const bool posted = post(receive.wr, lane);
    receive.wr.wr_id = next == slots_ ? 0 : next;
    return posted;
  }
  // Posts a chain into one ring.
  [[nodiscard]] bool post(ibv_recv_wr& first, std::size_t lane) {
    ibv_recv_wr* bad = nullptr;
    const int error = shared_ != nullptr ? ibv_post_srq_recv(shared_, &first, &bad)
                                         : ibv_post_recv(queue_pairs_[lane], &first, &bad);
    if (error == 0) [[likely]]
      return true;
    return waiting_->fail_with(Waiting::Failure::kPost, error, queue_pairs_[lane]);
  }

  Waiting* waiting_ = nullptr;
  Completions completions_;
  unsigned polls_between_looks_ = SendQueue::kPollsBetweenLooks;
  std::vector<ibv_qp*> queue_pairs_;
  ibv_srq* shared_ = nullptr;
  std::vector<Receive> receives_;  // one a slot, or one a ring that moves
  // A cold ring: its receives move on. Address of the first slot, distance and number of slots.
  bool moves_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t stride_ = 0;
  std::uint64_t slots_ = 0;
  std::uint64_t arrived_ = 0;
  std::array<ibv_wc, SendQueue::kPollBatch> completion_{};
  int polled_ = 0;  // of completion_, for wait_one
  int ready_ = 0;
  // Id of the receive that give_back() posts; valid where is_owed_.
  std::uint64_t owed_ = 0;
  bool is_owed_ = false;
};

}  // namespace railgauge::verbs
