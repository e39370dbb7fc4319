#include "controller/rpc/held_answers.h"

#include <vector>

#include <gtest/gtest.h>

namespace railgauge::rpc {
namespace {

constexpr std::size_t kMegabyte = 1U << 20U;

TEST(HeldAnswers, ACallerThatTakesNothingIsRefusedAtTheBoundAndOthersAreNot) {
  HeldAnswers book;
  std::vector<HeldAnswers::Held> held;
  while (auto one = book.hold(
             "certificate a 1", 5 * kMegabyte, [] {}, 0))
    held.push_back(std::move(*one));
  EXPECT_EQ(held.size(), 3U);  // of 16 MiB
  EXPECT_FALSE(book.is_full("certificate a 1")) << "a small one has room";
  EXPECT_LE(book.bytes(), HeldAnswers::kMaxBytes);
  EXPECT_TRUE(book.hold(
      "certificate b 2", 5 * kMegabyte, [] {}, 0));
  held.pop_back();
  EXPECT_TRUE(book.hold(
      "certificate a 1", 5 * kMegabyte, [] {}, 0))
      << "one was taken";
}

TEST(HeldAnswers, ALoneAnswerMayBeLargerAndTheUnixSocketHasNoBound) {
  HeldAnswers book;
  const auto large = book.hold(
      "certificate a 1", 500 * kMegabyte, [] {}, 0);
  ASSERT_TRUE(large);
  EXPECT_TRUE(book.is_full("certificate a 1"));
  EXPECT_FALSE(book.hold(
      "certificate a 1", 1, [] {}, 0));
  const auto own = book.hold(
      "", 500 * kMegabyte, [] {}, 0);
  EXPECT_TRUE(own && book.hold(
                         "", 500 * kMegabyte, [] {}, 0));
}

TEST(HeldAnswers, SmallAnswersAreCountedWithTheirCalls) {
  HeldAnswers book;
  std::vector<HeldAnswers::Held> held;
  while (auto one = book.hold(
             "certificate a 1", 0, [] {}, 0))
    held.push_back(std::move(*one));
  EXPECT_EQ(held.size(), HeldAnswers::kMaxBytes / HeldAnswers::kCallBytes);
  held.clear();
  EXPECT_EQ(book.bytes(), 0U);
}

TEST(HeldAnswers, AnAnswerThatWaitsTooLongIsCancelledOnce) {
  HeldAnswers book;
  int cancelled = 0;
  std::optional<HeldAnswers::Held> old = book.hold(
      "a", 1, [&] { ++cancelled; }, 10);
  std::optional<HeldAnswers::Held> ends_itself;
  ends_itself = book.hold(
      "a", 1, [&] { ends_itself.reset(); }, 11);
  const auto fresh = book.hold(
      "a", 1, [&] { cancelled += 100; }, 100);
  EXPECT_EQ(book.cancel_overdue(10 + HeldAnswers::kMaxSeconds - 0.1), 0U);
  EXPECT_EQ(book.cancel_overdue(11 + HeldAnswers::kMaxSeconds), 2U);
  EXPECT_EQ(book.cancel_overdue(12 + HeldAnswers::kMaxSeconds), 0U);
  EXPECT_EQ(cancelled, 1);
  EXPECT_FALSE(ends_itself);
  old.reset();
  EXPECT_EQ(book.bytes(), 1 + HeldAnswers::kCallBytes);
}

}  // namespace
}  // namespace railgauge::rpc
