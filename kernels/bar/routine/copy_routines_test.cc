// Every routine that this CPU has, on plain host memory: writes all bytes of the range and no
// other.
#include "kernels/bar/routine/copy_routines.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kLongest = 300;
constexpr std::size_t kAlignments = 64;
constexpr std::size_t kGuard = 128;
constexpr std::byte kUntouched{0xa5};

class EveryRoutine : public ::testing::TestWithParam<Routine> {};

// Two buffers of which each begins on a line.
struct alignas(64) Area {
  std::array<std::byte, kGuard + kAlignments + kLongest + kGuard> bytes;
};

// Copies `length` bytes between all alignments and gives the first case that went wrong.
void expect_exact(Copy copy, std::size_t length) {
  static Area from;
  static Area to;
  static Area untouched;
  untouched.bytes.fill(kUntouched);
  fill_pattern(from.bytes, length + 1);
  for (std::size_t source = 0; source < kAlignments; ++source)
    for (std::size_t target = 0; target < kAlignments; ++target) {
      to = untouched;
      std::byte* const begin = to.bytes.data() + kGuard + target;
      const std::byte* const origin = from.bytes.data() + kGuard + source;
      copy(begin, origin, length);
      const bool exact = std::memcmp(begin, origin, length) == 0;
      const bool before =
          std::memcmp(to.bytes.data(), untouched.bytes.data(), kGuard + target) == 0;
      const std::size_t end = kGuard + target + length;
      const bool after = std::memcmp(to.bytes.data() + end, untouched.bytes.data() + end,
                                     to.bytes.size() - end) == 0;
      ASSERT_TRUE(exact && before && after)
          << length << " bytes from alignment " << source << " to " << target << ": "
          << (exact ? "a byte beside the range was written" : "wrong bytes");
    }
}

TEST_P(EveryRoutine, WritesEachLengthAtEachAlignmentAndNothingBeside) {
  if (!GetParam().available) GTEST_SKIP() << "this CPU lacks it";
  for (std::size_t length = 0; length <= kLongest; ++length)
    ASSERT_NO_FATAL_FAILURE(expect_exact(GetParam().write, length));
}

TEST_P(EveryRoutine, ReadsEachLengthAtEachAlignmentAndNothingBeside) {
  if (!GetParam().available) GTEST_SKIP() << "this CPU lacks it";
  if (GetParam().read == nullptr) GTEST_SKIP() << "it only writes";
  for (std::size_t length = 0; length <= kLongest; ++length)
    ASSERT_NO_FATAL_FAILURE(expect_exact(GetParam().read, length));
}

INSTANTIATE_TEST_SUITE_P(Copy, EveryRoutine,
                         ::testing::ValuesIn(routines().begin(), routines().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

constexpr Copy kNoCopy = [](std::byte*, const std::byte*, std::size_t) {};

TEST(ChooseCopier, TakesTheFirstOfItsTableThatTheCpuHas) {
  const std::vector<Routine> known{{"memcpy", true, kNoCopy, kNoCopy},
                                   {"sse41", true, kNoCopy, kNoCopy},
                                   {"avx2", true, kNoCopy, kNoCopy},
                                   {"avx512", false, kNoCopy, kNoCopy}};
  const auto copier = choose_copier(known, "auto");
  ASSERT_TRUE(copier);
  EXPECT_EQ(copier->name(), "avx2");
}

TEST(ChooseCopier, TakesTheWantedOneForBothDirections) {
  const std::vector<Routine> known{{"memcpy", true, kNoCopy, kNoCopy},
                                   {"sse41", true, kNoCopy, kNoCopy}};
  const auto copier = choose_copier(known, "memcpy");
  ASSERT_TRUE(copier);
  EXPECT_EQ(copier->name(), "memcpy");
}

TEST(ChooseCopier, JoinsOneThatOnlyWritesWithAReader) {
  const std::vector<Routine> known{{"memcpy", true, kNoCopy, kNoCopy},
                                   {"avx2", true, kNoCopy, kNoCopy},
                                   {"movdir64b", true, kNoCopy, nullptr}};
  const auto copier = choose_copier(known, "movdir64b");
  ASSERT_TRUE(copier);
  EXPECT_EQ(copier->name(), "movdir64b to write, avx2 to read");
}

TEST(ChooseCopier, SaysWhatTheCpuHasWhenItLacksTheWantedOne) {
  const std::vector<Routine> known{{"memcpy", true, kNoCopy, kNoCopy},
                                   {"sse41", true, kNoCopy, kNoCopy},
                                   {"avx512", false, kNoCopy, kNoCopy}};
  for (const char* wanted : {"avx512", "movdir64b"}) {
    const auto copier = choose_copier(known, wanted);
    ASSERT_FALSE(copier);
    EXPECT_EQ(copier.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(copier.error().message, HasSubstr("lacks its instructions; it has memcpy, sse41"));
  }
}

TEST(ChooseCopier, TakesTheFirstOfTheOrderThatTheHelpTells) {
  std::vector<Routine> known;
  for (const std::string& name : routine_names())
    if (name != "auto" && name != kLibraryRoutine)
      known.push_back({name.c_str(), true, kNoCopy, kNoCopy});
  std::vector<std::string> taken;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto copier = choose_copier(known, "auto");
    ASSERT_TRUE(copier);
    taken.emplace_back(copier->writer->name);
    if (taken.back() == "memcpy") break;  // every CPU has it
    std::ranges::find(known, taken.back(), &Routine::name)->available = false;
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(taken, ", ")), auto_order());
}

TEST(ChooseCopier, KnowsNoRoutineThatTheParameterDoesNotName) {
  for (const Routine& routine : routines())
    EXPECT_NE(std::ranges::find(routine_names(), routine.name), routine_names().end());
}

}  // namespace
}  // namespace railgauge::bar
