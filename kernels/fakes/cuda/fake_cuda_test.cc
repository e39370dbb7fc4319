// The fake enforces the driver's rules, so that a kernel which breaks them fails here.
#include "kernels/fakes/cuda/fake_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "kernels/dl/cuda.h"

namespace railgauge {
namespace {

using fake::cuda_control;

class FakeCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_control().reset();
    auto bound = bind_cuda(RAILGAUGE_FAKE_LIBCUDA);
    ASSERT_TRUE(bound) << bound.error().message;
    cuda_ = *bound;
    ASSERT_EQ(cuda_.init(0), cu::kSuccess);
    ASSERT_EQ(cuda_.primary_ctx_retain(&context_, 0), cu::kSuccess);
    ASSERT_EQ(cuda_.ctx_set_current(context_), cu::kSuccess);
    ASSERT_EQ(cuda_.stream_create(&stream_, cu::kStreamNonBlocking), cu::kSuccess);
    void* word = nullptr;
    ASSERT_EQ(cuda_.mem_host_alloc(&word, sizeof *word_, cu::kHostAllocPortable), cu::kSuccess);
    word_ = static_cast<std::uint32_t*>(word);
    *word_ = 0;
  }
  void TearDown() override {
    open_gate();
    cuda_.stream_destroy(stream_);
    cuda_.mem_free_host(word_);
    cuda_.primary_ctx_release(0);
    EXPECT_EQ(cuda_control().live_handles(), 0);
  }

  void hold() {
    ASSERT_EQ(cuda_.stream_wait_value32(stream_, reinterpret_cast<cu::DevicePtr>(word_), 1,
                                        cu::kWaitValueGeq),
              cu::kSuccess);
  }
  void open_gate() { std::atomic_ref(*word_).store(1); }
  cu::Event event() {
    cu::Event made = nullptr;
    EXPECT_EQ(cuda_.event_create(&made, cu::kEventDefault), cu::kSuccess);
    return made;
  }
  cu::DevicePtr allocate(std::size_t bytes) {
    cu::DevicePtr made = 0;
    EXPECT_EQ(cuda_.mem_alloc(&made, bytes), cu::kSuccess);
    return made;
  }

  Cuda cuda_;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  std::uint32_t* word_ = nullptr;
};

TEST_F(FakeCuda, SaysThatItIsNotReal) { EXPECT_TRUE(cuda_.synthetic); }

TEST_F(FakeCuda, AHeldStreamDoesNothingUntilTheWordIsWritten) {
  const cu::DevicePtr memory = allocate(8);
  const std::uint32_t value = 7;
  ASSERT_EQ(cuda_.memset_d8(memory, 0, 8), cu::kSuccess);
  ASSERT_EQ(cuda_.memcpy_htod(memory + 4, &value, sizeof value), cu::kSuccess);
  hold();
  ASSERT_EQ(cuda_.memcpy_async(memory, memory + 4, sizeof value, stream_), cu::kSuccess);
  EXPECT_EQ(cuda_.stream_query(stream_), cu::kNotReady);
  std::uint32_t seen = 0;
  ASSERT_EQ(cuda_.memcpy_dtoh(&seen, memory, sizeof seen), cu::kSuccess);
  EXPECT_EQ(seen, 0U);
  open_gate();
  ASSERT_EQ(cuda_.stream_synchronize(stream_), cu::kSuccess);
  ASSERT_EQ(cuda_.memcpy_dtoh(&seen, memory, sizeof seen), cu::kSuccess);
  EXPECT_EQ(seen, 7U);
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, AnEventIsReachedAfterWhatWasQueuedBeforeIt) {
  const cu::Event first = event();
  const cu::Event second = event();
  hold();
  ASSERT_EQ(cuda_.event_record(first, stream_), cu::kSuccess);
  ASSERT_EQ(cuda_.event_record(second, stream_), cu::kSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cuda_.event_query(first), cu::kNotReady);
  EXPECT_EQ(cuda_.event_elapsed_time(&milliseconds, first, second), cu::kNotReady);
  open_gate();
  ASSERT_EQ(cuda_.stream_synchronize(stream_), cu::kSuccess);
  EXPECT_EQ(cuda_.event_query(second), cu::kSuccess);
  ASSERT_EQ(cuda_.event_elapsed_time(&milliseconds, first, second), cu::kSuccess);
  EXPECT_GT(milliseconds, 0);
  cuda_.event_destroy(first);
  cuda_.event_destroy(second);
}

TEST_F(FakeCuda, MemoryBeginsWhereTheRealOneMay) {
  const cu::DevicePtr memory = allocate(1 << 20);
  EXPECT_EQ(memory % 256, 0U);
  EXPECT_NE(memory % 4096, 0U);
  cu::DevicePtr begin = 0;
  std::size_t bytes = 0;
  ASSERT_EQ(cuda_.mem_get_address_range(&begin, &bytes, memory + 100), cu::kSuccess);
  EXPECT_EQ(begin, memory);
  EXPECT_EQ(bytes, 1U << 20U);
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, ACopyPastTheEndOfItsMemoryIsRefused) {
  const cu::DevicePtr memory = allocate(16);
  std::array<char, 32> host{};
  EXPECT_EQ(cuda_.memcpy_htod(memory, host.data(), 17), cu::kInvalidValue);
  EXPECT_EQ(cuda_.memcpy_dtoh(host.data(), memory + 1, 16), cu::kInvalidValue);
  EXPECT_EQ(cuda_.memcpy_async(memory, reinterpret_cast<cu::DevicePtr>(host.data()), 17, stream_),
            cu::kInvalidValue);
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, OneByteOfAnAsynchronousCopyCanBeWrong) {
  cuda_control().flip_byte = 1;
  const cu::DevicePtr memory = allocate(16);
  std::array<std::uint8_t, 16> host{};
  ASSERT_EQ(cuda_.memcpy_async(memory, reinterpret_cast<cu::DevicePtr>(host.data()), 16, stream_),
            cu::kSuccess);
  ASSERT_EQ(cuda_.stream_synchronize(stream_), cu::kSuccess);
  ASSERT_EQ(cuda_.memcpy_dtoh(host.data(), memory, 16), cu::kSuccess);
  EXPECT_EQ(std::ranges::count(host, 0), 15);
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, CopiesFromTheChosenOneOnReportSuccessAndMoveNothing) {
  constexpr std::size_t kBytes = 16;
  const cu::DevicePtr memory = allocate(kBytes);
  cuda_control().drop_copies_from = 3;
  std::array<char, kBytes> bytes{};
  for (const char letter : {'a', 'b', 'c'}) {  // the third is lost
    bytes.fill(letter);
    ASSERT_EQ(cuda_.memcpy_htod(memory, bytes.data(), kBytes), cu::kSuccess);
  }
  ASSERT_EQ(cuda_.memcpy_async(memory + 1, memory, 1, stream_), cu::kSuccess);
  std::uint32_t seen = 0;  // a word is no copy that could be measured
  ASSERT_EQ(cuda_.memcpy_dtoh(&seen, memory, sizeof seen), cu::kSuccess);
  EXPECT_EQ(seen, 0x62626262U);
  EXPECT_EQ(cuda_control().copies, 4U);
  EXPECT_EQ(cuda_control().copy_streams(), (std::vector<std::uint64_t>{0, 0, 0, 1}));
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, MemoryThatIsNotPinnedIsFreeWhenAnAsynchronousCopyReturns) {
  const cu::DevicePtr memory = allocate(16);
  std::array<std::uint8_t, 16> host{};
  host[3] = 7;
  const auto address = reinterpret_cast<cu::DevicePtr>(host.data());
  hold();
  ASSERT_EQ(cuda_.memcpy_async(memory, address, host.size(), stream_), cu::kSuccess);
  host[3] = 9;
  open_gate();
  ASSERT_EQ(cuda_.memcpy_async(address, memory, host.size(), stream_), cu::kSuccess);
  EXPECT_EQ(host[3], 7);
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, MoreMemoryThanIsFreeIsRefused) {
  cuda_control().free_bytes = 4096;
  cu::DevicePtr memory = 0;
  EXPECT_EQ(cuda_.mem_alloc(&memory, 4097), cu::kOutOfMemory);
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cuda_.mem_get_info(&free, &total), cu::kSuccess);
  EXPECT_EQ(free, 4096U);
}

TEST_F(FakeCuda, PointersSayWhereTheirMemoryIs) {
  const cu::DevicePtr memory = allocate(16);
  unsigned type = 0;
  ASSERT_EQ(cuda_.pointer_get_attribute(&type, cu::kPointerMemoryType, memory), cu::kSuccess);
  EXPECT_EQ(type, cu::kMemoryTypeDevice);
  ASSERT_EQ(cuda_.pointer_get_attribute(&type, cu::kPointerMemoryType,
                                        reinterpret_cast<cu::DevicePtr>(word_)),
            cu::kSuccess);
  EXPECT_EQ(type, cu::kMemoryTypeHost);
  EXPECT_EQ(cuda_.pointer_get_attribute(&type, cu::kPointerMemoryType,
                                        reinterpret_cast<cu::DevicePtr>(&type)),
            cu::kInvalidValue);
  cuda_.mem_free(memory);
}

TEST_F(FakeCuda, PeerAccessIsGivenOnceAndGoesWithTheContext) {
  cu::Context peer = nullptr;
  ASSERT_EQ(cuda_.primary_ctx_retain(&peer, 1), cu::kSuccess);
  EXPECT_EQ(cuda_.ctx_enable_peer_access(peer, 0), cu::kSuccess);
  EXPECT_EQ(cuda_.ctx_enable_peer_access(peer, 0), cu::kPeerAccessAlreadyEnabled);
  cuda_control().no_peer = 1;
  int can = 1;
  ASSERT_EQ(cuda_.device_can_access_peer(&can, 0, 1), cu::kSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuda_.ctx_enable_peer_access(peer, 0), cu::kPeerAccessUnsupported);
  cuda_.primary_ctx_release(1);
}

TEST_F(FakeCuda, AThreadWithoutAContextCanDoNothing) {
  std::thread([this] {
    cu::DevicePtr memory = 0;
    EXPECT_NE(cuda_.mem_alloc(&memory, 16), cu::kSuccess);
  }).join();
}

TEST_F(FakeCuda, NothingWorksInAContextThatWasReleased) {
  cu::Context context = nullptr;
  ASSERT_EQ(cuda_.primary_ctx_retain(&context, 1), cu::kSuccess);
  ASSERT_EQ(cuda_.ctx_set_current(context), cu::kSuccess);
  ASSERT_EQ(cuda_.primary_ctx_release(1), cu::kSuccess);
  cu::DevicePtr memory = 0;
  EXPECT_NE(cuda_.mem_alloc(&memory, 16), cu::kSuccess);
  ASSERT_EQ(cuda_.ctx_set_current(context_), cu::kSuccess);
}

TEST_F(FakeCuda, TheCallThatShallFailFailsOnceWithTheChosenError) {
  cuda_control().reset();
  cuda_control().fail_call = 2;
  cuda_control().fail_error = cu::kOutOfMemory;
  int count = 0;
  EXPECT_EQ(cuda_.device_get_count(&count), cu::kSuccess);
  EXPECT_EQ(cuda_.device_get_count(&count), cu::kOutOfMemory);
  EXPECT_EQ(cuda_.device_get_count(&count), cu::kSuccess);
  EXPECT_EQ(cuda_control().call_names(),
            (std::vector<std::string>{"cuDeviceGetCount", "cuDeviceGetCount", "cuDeviceGetCount"}));
}

}  // namespace
}  // namespace railgauge
