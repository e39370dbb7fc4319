#include "kernels/cuda/descriptor_post.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <future>

#include "kernels/core/base/clock.h"

namespace railgauge::cuda {
namespace {

double in_seconds(double seconds) { return monotonic_now_ns() + seconds * 1e9; }

TEST(DescriptorPost, GivesTheFileItselfToOneCaller) {
  const Fd file(memfd_create("post", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), "lent", 4), 4);
  const auto post = DescriptorPost::open();
  ASSERT_TRUE(post) << post.error().message;
  auto given = std::async(std::launch::async, [&] { return post->give(file, in_seconds(5)); });
  const auto fetched = fetch_descriptor(post->name(), in_seconds(5));
  EXPECT_TRUE(given.get());
  ASSERT_TRUE(fetched) << fetched.error().message;
  char seen[5] = {};  // NOLINT(modernize-avoid-c-arrays)
  EXPECT_EQ(pread(fetched->get(), seen, 4, 0), 4);
  EXPECT_STREQ(seen, "lent");
  EXPECT_NE(fetched->get(), file.get());
}

TEST(DescriptorPost, HasANameThatDiffersEachTime) {
  EXPECT_NE(DescriptorPost::open()->name(), DescriptorPost::open()->name());
}

TEST(DescriptorPost, EndsInTimeWithoutTheOtherSide) {
  const auto post = DescriptorPost::open();
  ASSERT_TRUE(post);
  const Status given = post->give(Fd(memfd_create("post", MFD_CLOEXEC)), in_seconds(0.05));
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, Code::kDeadlineExceeded);
  const auto absent = fetch_descriptor("railgauge-nobody", in_seconds(1));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kUnavailable);
  EXPECT_THAT(absent.error().message, ::testing::HasSubstr("one network namespace"));
  const auto silent = fetch_descriptor(post->name(), in_seconds(0.05));
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().message, ::testing::HasSubstr("does not give it"));
}

}  // namespace
}  // namespace railgauge::cuda
