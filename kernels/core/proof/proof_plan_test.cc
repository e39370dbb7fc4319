#include "kernels/core/proof/proof_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace railgauge {
namespace {

TEST(ProofPlan, ARingIsWhatEightMebibytesHold) {
  EXPECT_EQ(proof_slots(0), 512U);
  EXPECT_EQ(proof_slots(1), 512U);
  EXPECT_EQ(proof_slots(16U << 10U), 512U);
  EXPECT_EQ(proof_slots((16U << 10U) + 1), 511U);
  EXPECT_EQ(proof_slots(64U << 10U), 128U);
  EXPECT_EQ(proof_slots(8U << 20U), 1U);
  EXPECT_EQ(proof_slots(1U << 30U), 1U);
}

TEST(ProofPlan, SharesAddUpToTheTasksMessagesAndTime) {
  const ProofShare one = proof_share(2e9, 1);
  EXPECT_EQ(one.messages, 500'000U);
  EXPECT_EQ(one.time_ns, 2e9);
  const ProofShare third = proof_share(1.5e9, 3);
  EXPECT_GE(3 * third.messages, 500'000U);
  EXPECT_EQ(third.time_ns, 0.5e9);
}

TEST(ProofPlan, RoundsEndByMessagesOrTimeAndThereIsAlwaysOne) {
  const ProofShare share{.messages = 1000, .time_ns = 1e9};
  EXPECT_TRUE(share.wants_round(0, 0, 5e9));
  EXPECT_TRUE(share.wants_round(1, 999, 0.9e9));
  EXPECT_FALSE(share.wants_round(2, 1000, 0));
  EXPECT_FALSE(share.wants_round(1, 10, 1e9));
  const ProofShare none = proof_share(0, 4);
  EXPECT_TRUE(none.wants_round(0, 0, 0));
  EXPECT_FALSE(none.wants_round(1, 512, 1));
}

// Contents of slots that are no message's number.
constexpr std::uint64_t kCleared = UINT64_MAX;
constexpr std::uint64_t kGarbage = UINT64_MAX - 1;

// As a receiver does: the first slot without its own message.
ProofFinding find(const ProofRound& round, const std::vector<std::uint64_t>& held, bool clears) {
  ProofSlots slots;
  slots.holds = [&](std::uint64_t slot, std::uint64_t number) { return held.at(slot) == number; };
  if (clears) slots.untouched = [&](std::uint64_t slot) { return held.at(slot) == kCleared; };
  for (std::uint64_t slot = 0; slot < round.slots; ++slot)
    if (held.at(slot) != round.first + slot) return name_fault(round, slot, slots);
  return {.slot = kCleared};
}

constexpr ProofRound kRound{.first = 100, .slots = 5};

TEST(ProofPlan, NamesWhatHappenedInAnOrderedStream) {
  const ProofFinding dropped = find(kRound, {100, 102, 103, 104, kCleared}, true);
  EXPECT_EQ(dropped.slot, 1U);
  EXPECT_EQ(dropped.fault, ProofFault::kDropped);
  EXPECT_EQ(dropped.holds, 102U);
  const ProofFinding repeated = find(kRound, {100, 101, 101, 102, 103}, true);
  EXPECT_EQ(repeated.slot, 2U);
  EXPECT_EQ(repeated.fault, ProofFault::kRepeated);
  EXPECT_EQ(repeated.holds, 101U);
  const ProofFinding swapped = find(kRound, {100, 102, 101, 103, 104}, true);
  EXPECT_EQ(swapped.slot, 1U);
  EXPECT_EQ(swapped.fault, ProofFault::kOutOfOrder);
  EXPECT_EQ(swapped.holds, 102U);
  // The last message of the round before comes a second time, now in front.
  const ProofFinding late = find(kRound, {99, 100, 101, 102, 103}, true);
  EXPECT_EQ(late.slot, 0U);
  EXPECT_EQ(late.fault, ProofFault::kRepeated);
  EXPECT_EQ(late.holds, 99U);
}

TEST(ProofPlan, NamesWhatHappenedWhereEachMessageHasItsPlace) {
  EXPECT_EQ(find(kRound, {100, 101, kCleared, 103, 104}, true).fault, ProofFault::kDropped);
  EXPECT_EQ(find(kRound, {100, 101, 97, 103, 104}, true).fault, ProofFault::kRepeated)
      << "the slot was cleared, so its message of the round before came again";
  EXPECT_EQ(find(kRound, {100, 101, 97, 103, 104}, false).fault, ProofFault::kDropped)
      << "nothing was cleared, so it is still there";
  EXPECT_EQ(find(kRound, {100, 104, 102, 103, 101}, false).fault, ProofFault::kOutOfOrder);
}

TEST(ProofPlan, WrongBytesAreCorruptWhoeverIsThere) {
  const ProofFinding garbage = find(kRound, {100, 101, 102, 103, kGarbage}, true);
  EXPECT_EQ(garbage.fault, ProofFault::kCorrupt);
  EXPECT_EQ(garbage.holds, std::nullopt);
  // The bytes by which it is recognised are right: a later byte is wrong.
  ProofSlots slots;
  slots.holds = [](std::uint64_t slot, std::uint64_t number) { return number == 100 + slot; };
  const ProofFinding late_byte = name_fault(kRound, 3, slots);
  EXPECT_EQ(late_byte.fault, ProofFault::kCorrupt);
  EXPECT_EQ(late_byte.holds, std::nullopt);
  // Too short to be recognised.
  EXPECT_EQ(name_fault(kRound, 3, {}).fault, ProofFault::kCorrupt);
}

TEST(ProofPlan, TheFirstRoundHasNoneBefore) {
  const ProofRound first{.first = 0, .slots = 3};
  EXPECT_EQ(find(first, {0, 2, 1}, true).fault, ProofFault::kOutOfOrder);
  EXPECT_EQ(find(first, {0, kGarbage, 2}, true).fault, ProofFault::kCorrupt);
}

TEST(ProofPlan, WordsHaveMessageSlotByteAndFault) {
  EXPECT_EQ(proof_words({.first = 41216, .slots = 128}, 64U << 10U,
                        {.slot = 18, .fault = ProofFault::kOutOfOrder, .holds = 41235},
                        "byte 0 is 0x12, expected 0x7f"),
            "message 41234 of 64KiB, slot 18: byte 0 is 0x12, expected 0x7f; it holds message "
            "41235: out of order");
  EXPECT_EQ(proof_words({.first = 0, .slots = 512}, 64, {.slot = 7, .fault = ProofFault::kCorrupt},
                        "byte 32 is 0x00, expected 0x40"),
            "message 7 of 64, slot 7: byte 32 is 0x00, expected 0x40; corrupt");
}

}  // namespace
}  // namespace railgauge
