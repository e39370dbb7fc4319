#include "controller/sim/bench_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::simulator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refused(const std::vector<std::string>& words) {
  const auto flags = bench_flags(words);
  return flags ? "" : flags.error().message;
}

TEST(BenchFlags, AskForTheWholeTableByDefault) {
  const auto flags = bench_flags({});
  ASSERT_TRUE(flags);
  EXPECT_THAT(flags->nodes, ElementsAre(64, 1024));
  EXPECT_THAT(flags->drops, ElementsAre(3, 5, 20));
  EXPECT_THAT(flags->kinds, IsEmpty());
  EXPECT_EQ(flags->seeds, 200u);
  EXPECT_GE(flags->threads, 1u);
  EXPECT_THAT(flags->quick, ElementsAre(3, 4));
  EXPECT_TRUE(flags->usual && flags->speed);
}

TEST(BenchFlags, CutOutAPiece) {
  const auto flags =
      bench_flags({"--sums", "a.csv", "--nodes=1024", "--first-seed", "51", "--seeds", "50",
                   "--kinds", "0,11", "--drops", "-", "--quick", "-", "--threads", "3"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(flags->sums, "a.csv");
  EXPECT_THAT(flags->nodes, ElementsAre(1024));
  EXPECT_THAT(flags->kinds, ElementsAre(0, 11));
  EXPECT_THAT(flags->drops, IsEmpty());
  EXPECT_EQ(flags->first_seed, 51u);
  EXPECT_EQ(flags->seeds, 50u);
  EXPECT_EQ(flags->threads, 3u);
  EXPECT_THAT(flags->quick, IsEmpty());
  EXPECT_FALSE(flags->speed) << "of a piece nobody asked for it";
}

TEST(BenchFlags, RefuseWhatTheyDoNotKnow) {
  EXPECT_THAT(refused({"--seed", "3"}), HasSubstr("--seed 3: read: no such flag"));
  EXPECT_THAT(refused({"--seeds"}), HasSubstr("--seeds : read: no number"));
  EXPECT_THAT(refused({"--seeds", "ten"}), HasSubstr("no number from 0"));
  EXPECT_THAT(refused({"--kinds", "99"}), HasSubstr("no number from 0 to"));
  EXPECT_THAT(refused({"--nodes", "64,"}), HasSubstr("no number from 32"));
  EXPECT_THAT(refused({"--quick", "0"}), HasSubstr("no number from 1 to 100"));
  EXPECT_THAT(refused({"--usual", "yes"}), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(refused({"--merge", ""}), HasSubstr("no value"));
  EXPECT_THAT(refused({"--merge", "a", "--sums", "b"}), HasSubstr("one of them"));
}

}  // namespace
}  // namespace railgauge::simulator
