// The fake enforces an adapter's rules, so that a kernel which breaks them fails here.
#include "kernels/fakes/verbs/fake_verbs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <vector>

#include "kernels/dl/verbs.h"

namespace railgauge {
namespace {

using fake::verbs_control;

class FakeVerbs : public ::testing::Test {
 protected:
  void SetUp() override {
    verbs_control().reset();
    table_ = *bind_verbs(RAILGAUGE_FAKE_LIBIBVERBS);
    ibv_device** list = table_.get_device_list(nullptr);
    context_ = table_.open_device(list[0]);
    table_.free_device_list(list);
    domain_ = table_.alloc_pd(context_);
    completions_ = table_.create_cq(context_, kCompletions, nullptr, nullptr, 0);
    memory_.resize(4096);
    region_ = table_.reg_mr(domain_, memory_.data(), memory_.size(),
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    for (ibv_qp*& qp : pair_) qp = make_queue_pair();
    connect(pair_[0], pair_[1]->qp_num);
    connect(pair_[1], pair_[0]->qp_num);
  }
  void TearDown() override {
    for (ibv_qp* qp : pair_) table_.destroy_qp(qp);
    table_.dereg_mr(region_);
    table_.destroy_cq(completions_);
    table_.dealloc_pd(domain_);
    table_.close_device(context_);
    EXPECT_EQ(verbs_control().live_handles, 0);
  }

  ibv_qp* make_queue_pair() {
    ibv_qp_init_attr init{};
    init.send_cq = completions_;
    init.recv_cq = completions_;
    init.qp_type = IBV_QPT_RC;
    init.cap.max_send_wr = kDepth;
    init.cap.max_recv_wr = kDepth;
    init.cap.max_send_sge = 1;
    return table_.create_qp(domain_, &init);
  }

  void connect(ibv_qp* qp, std::uint32_t destination) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    ASSERT_EQ(
        table_.modify_qp(qp, &attributes,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        0);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = destination;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    ASSERT_EQ(
        table_.modify_qp(qp, &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
        0);
    attributes.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(table_.modify_qp(qp, &attributes,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
              0);
  }

  struct Write {
    std::uint32_t bytes = 16;
    unsigned flags = IBV_SEND_SIGNALED;
    std::uint64_t to = 2048;
    std::uint32_t wrong_local = 0;
    std::uint32_t wrong_remote = 0;
  };
  int post(const Write& write) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()), write.bytes,
                region_->lkey + write.wrong_local};
    ibv_send_wr wr{};
    wr.wr_id = 7;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = write.flags;
    wr.wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(memory_.data()) + write.to;
    wr.wr.rdma.rkey = region_->rkey + write.wrong_remote;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pair_[0], &wr, &bad);
  }
  int poll(ibv_wc& wc) { return ibv_poll_cq(completions_, 1, &wc); }
  ibv_wc_status status_of(const Write& write) {
    EXPECT_EQ(post(write), 0);
    ibv_wc wc{};
    EXPECT_EQ(poll(wc), 1);
    return wc.status;
  }

  static constexpr std::uint32_t kDepth = 4;
  static constexpr int kCompletions = 2;
  Verbs table_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<std::uint8_t> memory_;
  std::array<ibv_qp*, 2> pair_{};
};

TEST_F(FakeVerbs, AWriteMovesTheBytesAndCompletesWithItsNumber) {
  for (std::size_t i = 0; i < 16; ++i) memory_[i] = static_cast<std::uint8_t>(i + 1);
  ASSERT_EQ(post({}), 0);
  ibv_wc wc{};
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.wr_id, 7U);
  EXPECT_TRUE(std::equal(memory_.begin(), memory_.begin() + 16, memory_.begin() + 2048));
  EXPECT_EQ(poll(wc), 0);
}

TEST_F(FakeVerbs, EachNthDataOperationHasTheFaultAndCompletesWithSuccess) {
  using fake::WireFault;
  const auto slot = [&](std::size_t k) { return memory_[2048 + 64 * k]; };
  // Four writes of 16 bytes with the contents 1 to 4, into slots of their own.
  const auto four = [&](WireFault fault) {
    verbs_control().reset();
    verbs_control().fault = static_cast<std::uint64_t>(fault);
    verbs_control().fault_every = 3;
    std::ranges::fill(memory_, 0);
    for (std::uint8_t k = 0; k < 4; ++k) {
      std::fill_n(memory_.begin(), 16, static_cast<std::uint8_t>(k + 1));
      EXPECT_EQ(status_of({.to = 2048 + 64ULL * k}), IBV_WC_SUCCESS);
      // Control words are not counted.
      EXPECT_EQ(status_of({.bytes = 8, .to = 3072}), IBV_WC_SUCCESS);
    }
    EXPECT_EQ(memory_[3072], 4) << "control words are left as they are";
    return std::array{slot(0), slot(1), slot(2), slot(3)};
  };
  using Slots = std::array<std::uint8_t, 4>;
  EXPECT_EQ(four(WireFault::kNone), (Slots{1, 2, 3, 4}));
  EXPECT_EQ(four(WireFault::kCorrupt), (Slots{1, 2, 3, 4}));
  EXPECT_EQ(memory_[2048 + 128 + 8], 3 ^ 0x40);
  EXPECT_EQ(four(WireFault::kDrop), (Slots{1, 2, 0, 4}));
  EXPECT_EQ(four(WireFault::kRepeat), (Slots{1, 2, 2, 4}));
  EXPECT_EQ(four(WireFault::kSwap), (Slots{1, 3, 2, 4}));
}

TEST_F(FakeVerbs, AnUnsignalledWriteCompletesInSilence) {
  memory_[0] = 9;
  ASSERT_EQ(post({.flags = 0}), 0);
  ibv_wc wc{};
  EXPECT_EQ(poll(wc), 0);
  EXPECT_EQ(memory_[2048], 9);
}

TEST_F(FakeVerbs, AQueueIsFullUntilASignalledCompletionIsPolled) {
  for (std::uint32_t i = 0; i + 1 < kDepth; ++i) ASSERT_EQ(post({.flags = 0}), 0);
  ASSERT_EQ(post({}), 0);
  EXPECT_EQ(post({}), ENOMEM);
  ibv_wc wc{};
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(post({}), 0);
}

TEST_F(FakeVerbs, ACompletionQueueThatNobodyPollsOverruns) {
  for (int i = 0; i <= kCompletions; ++i) ASSERT_EQ(post({}), 0);
  ibv_wc wc{};
  EXPECT_LT(poll(wc), 0);
}

TEST_F(FakeVerbs, AWrongLocalKeyIsALocalProtectionError) {
  EXPECT_EQ(status_of({.wrong_local = 1}), IBV_WC_LOC_PROT_ERR);
}

TEST_F(FakeVerbs, AWrongRemoteKeyIsARemoteAccessError) {
  EXPECT_EQ(status_of({.wrong_remote = 1}), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(FakeVerbs, AWritePastTheRegionIsARemoteAccessErrorAndChangesNothing) {
  memory_[4095] = 5;
  EXPECT_EQ(status_of({.to = 4096 - 8}), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(memory_[4095], 5);
}

TEST_F(FakeVerbs, AfterAnErrorEverythingIsFlushedEvenWhenUnsignalled) {
  EXPECT_EQ(status_of({.flags = 0, .wrong_remote = 1}), IBV_WC_REM_ACCESS_ERR);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(table_.query_qp(pair_[0], &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(status_of({.flags = 0}), IBV_WC_WR_FLUSH_ERR);
}

TEST_F(FakeVerbs, APeerThatIsGoneNeverAnswers) {
  table_.destroy_qp(pair_[1]);
  EXPECT_EQ(status_of({}), IBV_WC_RETRY_EXC_ERR);
  pair_[1] = make_queue_pair();
}

TEST_F(FakeVerbs, StatesAreReachedInOrderAndWithTheirAttributesOnly) {
  ibv_qp* fresh = make_queue_pair();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(table_.modify_qp(fresh, &attributes, IBV_QP_STATE), EINVAL);
  attributes.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(table_.modify_qp(fresh, &attributes, IBV_QP_STATE), EINVAL);
  table_.destroy_qp(fresh);
}

TEST_F(FakeVerbs, TheCallThatShallFailFailsOnce) {
  verbs_control().reset();
  verbs_control().fail_call = 2;
  EXPECT_EQ(post({}), 0);
  EXPECT_EQ(post({}), EIO);
  EXPECT_EQ(post({}), 0);
}

TEST_F(FakeVerbs, ASendTakesAReceiveAndWithoutOneWaitsForIt) {
  ibv_sge from{reinterpret_cast<std::uint64_t>(memory_.data()), 16, region_->lkey};
  ibv_send_wr send{};
  send.wr_id = 5;
  send.sg_list = &from;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad_send = nullptr;
  memory_[0] = 77;
  ASSERT_EQ(ibv_post_send(pair_[0], &send, &bad_send), 0);
  ibv_wc wc{};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(poll(wc), 0);
  EXPECT_EQ(verbs_control().gathers, 0U) << "of a GPU's memory each would be a copy";
  ibv_sge to{reinterpret_cast<std::uint64_t>(memory_.data()) + 2048, 16, region_->lkey};
  ibv_recv_wr receive{};
  receive.wr_id = 6;
  receive.sg_list = &to;
  receive.num_sge = 1;
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ibv_post_recv(pair_[1], &receive, &bad_receive), 0);
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(wc.wr_id, 5U);
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(wc.wr_id, 6U);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV);
  EXPECT_EQ(wc.byte_len, 16U);
  EXPECT_EQ(memory_[2048], 77);
}

// A sender that spins for receives would else keep the other side from posting them.
TEST_F(FakeVerbs, AReceiveIsPostedWhileTheWireIsAtWork) {
  ibv_sge to{reinterpret_cast<std::uint64_t>(memory_.data()) + 2048, 16, region_->lkey};
  ibv_recv_wr receive{};
  receive.sg_list = &to;
  receive.num_sge = 1;
  std::future<int> posted;
  bool came = false;
  verbs_control().on_data_write = [&](std::uint64_t) {
    posted = std::async(std::launch::async, [&] {
      ibv_recv_wr* bad = nullptr;
      return ibv_post_recv(pair_[1], &receive, &bad);
    });
    came = posted.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  };
  EXPECT_EQ(post({}), 0);
  verbs_control().on_data_write = nullptr;
  EXPECT_TRUE(came) << "the post of the receive waited for the wire";
  ASSERT_TRUE(posted.valid());
  EXPECT_EQ(posted.get(), 0);
  ibv_wc wc{};
  EXPECT_EQ(poll(wc), 1);
}

TEST_F(FakeVerbs, AReceiveThatIsTooSmallIsAnErrorOnBothSides) {
  ibv_sge small{reinterpret_cast<std::uint64_t>(memory_.data()) + 2048, 8, region_->lkey};
  ibv_recv_wr receive{};
  receive.sg_list = &small;
  receive.num_sge = 1;
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(ibv_post_recv(pair_[1], &receive, &bad_receive), 0);
  ibv_sge from{reinterpret_cast<std::uint64_t>(memory_.data()), 16, region_->lkey};
  ibv_send_wr send{};
  send.sg_list = &from;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  ibv_send_wr* bad_send = nullptr;
  ASSERT_EQ(ibv_post_send(pair_[0], &send, &bad_send), 0);
  ibv_wc wc{};
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(FakeVerbs, AReadAndAnAtomicNeedTheirOwnPermission) {
  ibv_sge to{reinterpret_cast<std::uint64_t>(memory_.data()), 8, region_->lkey};
  ibv_send_wr fetch{};
  fetch.sg_list = &to;
  fetch.num_sge = 1;
  fetch.opcode = IBV_WR_RDMA_READ;
  fetch.wr.rdma.remote_addr = to.addr + 2048;
  fetch.wr.rdma.rkey = region_->rkey;  // registered for writes alone
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(pair_[0], &fetch, &bad), 0);
  ibv_wc wc{};
  ASSERT_EQ(poll(wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(FakeVerbs, ADescriptorThatNoGpuMemoryStandsBehindIsNotRegistered) {
  errno = 0;
  EXPECT_EQ(table_.reg_dmabuf_mr(domain_, 0, 4096, 4096, -1, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EBADF);
  verbs_control().no_dmabuf = EPROTONOSUPPORT;
  EXPECT_EQ(table_.reg_dmabuf_mr(domain_, 0, 4096, 4096, -1, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
}

}  // namespace
}  // namespace railgauge
