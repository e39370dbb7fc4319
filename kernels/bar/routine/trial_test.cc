#include "kernels/bar/routine/trial.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>
#include <vector>

namespace railgauge::bar {
namespace {

using ::testing::HasSubstr;

void copy_fast(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
// Ten times the same work.
void copy_slowly(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (int i = 0; i < 10; ++i) {
    std::memcpy(to, from, bytes);
    asm volatile("" ::: "memory");
  }
}

TEST(RoutineTrial, PrefersTheFirstUnlessAnotherIsClearlyFaster) {
  const Routine a{"a", true, copy_fast, copy_fast};
  const Routine b{"b", true, copy_fast, copy_fast};
  const auto chosen = [&](std::vector<double> of_a, std::vector<double> of_b) {
    const std::vector<TriedRoutine> tried{{&a, std::move(of_a)}, {&b, std::move(of_b)}};
    return std::string(choose_fastest(tried)->name);
  };
  EXPECT_EQ(chosen({}, {}), "a");
  EXPECT_EQ(chosen({20, 20, 20, 20, 20}, {20, 20, 20, 20, 20}), "a");
  EXPECT_EQ(chosen({20, 20, 20, 20, 20}, {20.5, 20.5, 20.5, 20.5, 20.5}), "a");
  EXPECT_EQ(chosen({20, 20, 20, 20, 20}, {20.7, 20.7, 20.7, 20.7, 20.7}), "b");
  EXPECT_EQ(chosen({20, 20, 20, 20, 20}, {10, 10, 10, 10, 10}), "a");
  EXPECT_EQ(chosen({20, 10, 20, 10, 20}, {21, 10.5, 21, 10.5, 21}), "b")
      << "both slow down at once";
  EXPECT_EQ(chosen({20, 20, 20, 20, 20}, {25, 25, 25, 15, 15}), "a") << "faster in three of five";
}

// Memory of this process in place of a mapping.
TEST(RoutineTrial, TakesTheFastestOfEachDirectionAndSaysWhatEachReached) {
  std::vector<std::byte> memory(256U << 10U);
  const View view{.cpu = memory.data(), .bytes = memory.size()};
  const std::vector<Routine> known{{"slow", true, copy_slowly, copy_fast},
                                   {"absent", false, copy_fast, copy_fast},
                                   {"fast", true, copy_fast, copy_slowly},
                                   {"writer", true, copy_slowly, nullptr}};
  const auto trial =
      try_routines(view, known, {&known[0], &known[2]}, TickClock::calibrate({0.02, true}));
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_STREQ(trial->copier.writer->name, "fast");
  EXPECT_STREQ(trial->copier.reader->name, "slow");
  EXPECT_TRUE(trial->writers.starts_with("slow ")) << trial->writers;
  EXPECT_THAT(trial->writers, HasSubstr(", fast "));
  EXPECT_THAT(trial->writers, HasSubstr(", writer "));
  EXPECT_THAT(trial->writers, ::testing::EndsWith(" GB/s"));
  EXPECT_THAT(trial->writers, ::testing::Not(HasSubstr("absent")));
  EXPECT_THAT(trial->readers, ::testing::Not(HasSubstr("writer")));
}

TEST(RoutineTrial, TriesNothingWhereThereIsNoChoice) {
  std::vector<std::byte> memory(4096);
  const View view{.cpu = memory.data(), .bytes = memory.size()};
  const std::vector<Routine> known{{"only", true, copy_fast, copy_fast}};
  const auto trial =
      try_routines(view, known, {known.data(), known.data()}, TickClock::calibrate({0.02, true}));
  ASSERT_TRUE(trial) << trial.error().message;
  EXPECT_STREQ(trial->copier.writer->name, "only");
  EXPECT_EQ(trial->writers, "");
  EXPECT_EQ(trial->readers, "");
}

}  // namespace
}  // namespace railgauge::bar
