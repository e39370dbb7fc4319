// A queue pair whose posts complete at once and move nothing, to measure and check the cost of our
// own loops. Can answer each post like a ping-pong's peer.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace railgauge::fake {

class NullQueue {
 public:
  NullQueue() {
    context_.ops.post_send = post_send;
    context_.ops.poll_cq = poll_cq;
    queue_pair_.context = &context_;
    queue_pair_.qp_context = this;
    completions_.context = &context_;
    completions_.cq_context = this;
  }
  NullQueue(const NullQueue&) = delete;
  NullQueue& operator=(const NullQueue&) = delete;

  // Makes each post add one to `byte`: the peer's answer.
  void answer_in(std::uint8_t* byte) { answer_ = byte; }

  [[nodiscard]] ibv_qp* queue_pair() { return &queue_pair_; }
  [[nodiscard]] ibv_cq* completions() { return &completions_; }
  [[nodiscard]] std::uint64_t posts() const { return posts_; }

 private:
  static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr**) {
    auto& self = *static_cast<NullQueue*>(qp->qp_context);
    for (; wr != nullptr; wr = wr->next) {
      ++self.posts_;
      if (self.answer_ != nullptr) ++*self.answer_;
      if ((wr->send_flags & IBV_SEND_SIGNALED) != 0)
        self.ready_[self.signalled_++ % kMaxSignalled] = wr->wr_id;
    }
    return 0;
  }
  static int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
    auto& self = *static_cast<NullQueue*>(cq->cq_context);
    int taken = 0;
    for (; taken < count && self.polled_ < self.signalled_; ++taken) {
      wc[taken] = {};
      wc[taken].wr_id = self.ready_[self.polled_++ % kMaxSignalled];
    }
    return taken;
  }

  static constexpr std::uint64_t kMaxSignalled = 1024;  // in flight
  ibv_context context_{};
  ibv_qp queue_pair_{};
  ibv_cq completions_{};
  std::uint64_t ready_[kMaxSignalled]{};
  std::uint64_t signalled_ = 0;
  std::uint64_t polled_ = 0;
  std::uint64_t posts_ = 0;
  std::uint8_t* answer_ = nullptr;
};

}  // namespace railgauge::fake
