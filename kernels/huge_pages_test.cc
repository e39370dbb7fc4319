// Host memory in huge pages where the machine gives them: this program's mmap grants them from
// ordinary pages and counts them, so that no page has to be reserved here.
#include <gmock/gmock.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/solo.h"
#include "kernels/memory/host_buffer.h"

namespace {

std::atomic<std::size_t> g_free_pages{0};
std::atomic<std::size_t> g_granted{0};
std::atomic<bool> g_in_one_piece{true};  // populated, and of whole pages of 2 MiB

}  // namespace

// Takes the place of the C library's. A request for huge pages beyond the free ones fails.
extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if ((flags & MAP_HUGETLB) != 0) {
    const std::size_t pages = bytes / railgauge::HostBuffer::kHugePageBytes;
    if (bytes % railgauge::HostBuffer::kHugePageBytes != 0 || (flags & MAP_POPULATE) == 0 ||
        (flags & MAP_HUGE_2MB) != MAP_HUGE_2MB)
      g_in_one_piece = false;
    if (pages > g_free_pages) {
      errno = ENOMEM;
      return MAP_FAILED;
    }
    g_granted += pages;
    flags &= ~(MAP_HUGETLB | MAP_HUGE_2MB);
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the system call returns a number
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

namespace railgauge {
namespace {

using fake::RankResult;
using ::testing::HasSubstr;

class HugePages : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
  }
  void SetUp() override {
    OnFakes::SetUp();
    g_free_pages = 64;
    g_granted = 0;
    g_in_one_piece = true;
  }
  void TearDown() override {
    EXPECT_TRUE(g_in_one_piece);
    OnFakes::TearDown();
  }
  static RankResult copy(const std::string& direction) {
    return fake::run_solo(*find_kernel("cuda.host_copy_bw"),
                          {.parameters = {{"host_memory", "huge"},
                                          {"direction", direction},
                                          {"sizes", "4MiB"},
                                          {"iterations", "3"}}});
  }
};

TEST_F(HugePages, HoldABufferInWholePages) {
  const auto buffer = HostBuffer::allocate_huge(HostBuffer::kHugePageBytes + 1);
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ(g_granted, 2U);
  EXPECT_EQ(buffer->size(), 2 * HostBuffer::kHugePageBytes);
}

TEST_F(HugePages, CarryCopiesThatAreCompared) {
  for (const char* direction : {"h2d", "d2h"}) {
    g_granted = 0;
    const RankResult result = copy(direction);
    ASSERT_TRUE(result.status) << result.status.error().message;
    EXPECT_GE(g_granted, 2U) << direction;
    EXPECT_TRUE(result.points.at(0).verified());
  }
}

TEST_F(HugePages, DoNotHideAWrongByte) {
  fake::cuda_control().flip_byte = 1;
  const RankResult result = copy("h2d");
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kDataLoss);
}

TEST_F(HugePages, CarryMessagesBetweenAdapters) {
  const auto results = fake::run_pair(
      *find_kernel("verbs.write_bw"),
      {.parameters = {{"huge_pages", "true"}, {"sizes", "4KiB"}, {"iterations", "100"}}});
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_GE(g_granted, 2U) << "a page of each rank at least";
  EXPECT_TRUE(results[0].points.at(0).verified());
}

TEST_F(HugePages, ThatAreTooFewWaiveWithTheirNumber) {
  g_free_pages = 1;
  const RankResult result = copy("h2d");
  ASSERT_FALSE(result.status);
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
  EXPECT_THAT(result.status.error().message, HasSubstr("set vm.nr_hugepages to 2"));
  EXPECT_EQ(g_granted, 0U);
}

}  // namespace
}  // namespace railgauge
