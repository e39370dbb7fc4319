// The group of forked ranks, without a kernel.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "kernels/runner/local_ranks.h"

namespace railgauge {
namespace {

// Rank 2 does not come; rank 1 waits for it too, and all that it sees is rank 0.
TEST(LocalRanksGroup, AllHearFromRankZeroWhoIsMissing) {
  std::array<int, 2> told{};
  std::array<int, 2> release{};
  ASSERT_EQ(::pipe(told.data()), 0);
  ASSERT_EQ(::pipe(release.data()), 0);
  auto ranks = start_local_ranks(3, [&](Group& group) {
    char byte = 0;
    if (group.rank() == 2) return ::read(release[0], &byte, 1) == 1 ? 0 : 1;
    const auto all = group.exchange("mine", 60);
    const std::string words = all ? "all came" : all.error().message;
    return ::write(told[1], words.data(), words.size()) > 0 ? 0 : 1;
  });
  ASSERT_TRUE(ranks) << ranks.error().message;
  const auto all = (**ranks).exchange("mine", 2);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kDeadlineExceeded);
  std::array<char, 256> words{};
  const ssize_t got = ::read(told[0], words.data(), words.size());
  EXPECT_EQ(std::string(words.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))),
            all.error().message);
  EXPECT_EQ(::write(release[1], "r", 1), 1);
  for (const int fd : {told[0], told[1], release[0], release[1]}) ::close(fd);
}

}  // namespace
}  // namespace railgauge
