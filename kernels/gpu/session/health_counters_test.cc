#include "kernels/gpu/session/health_counters.h"

#include <gmock/gmock.h>

namespace railgauge::gpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

ml::Return young_driver(ml::Device, int count, ml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    const bool counter = values[i].field < 200 || values[i].field > 268;
    values[i].returned = counter ? ml::kSuccess : ml::kNotSupported;
    values[i].type = i == 0 ? ml::kTypeUnsigned : ml::kTypeUnsignedLongLong;
    values[i].bits = 0x100000000ULL + values[i].field;
  }
  return ml::kSuccess;
}
// Up to CUDA 13.0 the younger numbers are settings of power smoothing.
ml::Return older_numbers(ml::Device, int count, ml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].returned = ml::kSuccess;
    values[i].type = values[i].field > 268 ? ml::kTypeUnsigned : ml::kTypeUnsignedLongLong;
    values[i].bits = values[i].field;
  }
  return ml::kSuccess;
}
ml::Return any_number(ml::Device, int count, ml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].returned = ml::kSuccess;
    values[i].type = ml::kTypeUnsignedLongLong;
    values[i].bits = values[i].field;
  }
  return ml::kSuccess;
}
// Knows the fields, but not the younger ones among them.
ml::Return middle_driver(ml::Device, int count, ml::FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    const bool known = values[i].field <= ml::kFieldHeldBySyncBoost;
    values[i].returned = known ? ml::kSuccess : ml::kInvalidArgument;
    values[i].type = ml::kTypeUnsignedLongLong;
    values[i].bits = values[i].field;
  }
  return ml::kSuccess;
}
ml::Return violations(ml::Device, int policy, ml::ViolationTime* out) {
  out->violation_ns = 1000U + static_cast<unsigned>(policy);
  return ml::kSuccess;
}

TEST(HeldTimes, AreTheFieldsOfAYoungDriver) {
  Nvml nvml;
  nvml.device_get_field_values = young_driver;
  constexpr unsigned long long kHigh = 0x100000000ULL;
  EXPECT_THAT(read_held_times(nvml, nullptr),
              ElementsAre(Optional(74ULL), Optional(kHigh + 76), Optional(kHigh + 269),
                          Optional(kHigh + 270), Optional(kHigh + 271)));
}

TEST(HeldTimes, AreFoundAtTheirOlderNumbers) {
  Nvml nvml;
  nvml.device_get_field_values = older_numbers;
  EXPECT_THAT(read_held_times(nvml, nullptr),
              ElementsAre(Optional(74ULL), Optional(76ULL), Optional(251ULL), Optional(252ULL),
                          Optional(253ULL)));
}

TEST(HeldTimes, AreNotGuessedWhereBothNumbersCouldBeCounters) {
  Nvml nvml;
  nvml.device_get_field_values = any_number;
  EXPECT_THAT(read_held_times(nvml, nullptr),
              ElementsAre(Optional(74ULL), Optional(76ULL), Eq(std::nullopt), Eq(std::nullopt),
                          Eq(std::nullopt)));
}

TEST(HeldTimes, TakeFromViolationsWhatIsNoField) {
  Nvml nvml;
  nvml.device_get_field_values = middle_driver;
  nvml.device_get_violation_status = violations;
  EXPECT_THAT(read_held_times(nvml, nullptr),
              ElementsAre(Optional(74ULL), Optional(76ULL), Optional(1001ULL), Eq(std::nullopt),
                          Eq(std::nullopt)));
  nvml.device_get_field_values = nullptr;
  EXPECT_THAT(read_held_times(nvml, nullptr),
              ElementsAre(Optional(1000ULL), Optional(1002ULL), Optional(1001ULL), Eq(std::nullopt),
                          Eq(std::nullopt)));
}

TEST(HeldTimes, AreUnknownToADriverWithoutTheFunctions) {
  EXPECT_THAT(read_held_times(Nvml(), nullptr), Each(Eq(std::nullopt)));
}

TEST(Held, NamesWhatGrewAndForHowLong) {
  const Held held = held_between({5, 10, 20, std::nullopt, 7}, {5, 40, 30, 9, std::nullopt});
  EXPECT_TRUE(held.known);
  EXPECT_EQ(held.reasons, ml::kReasonSyncBoost | ml::kReasonThermal);
  EXPECT_EQ(held.longest_ns, 30);
}

TEST(Held, KnowsNothingWithoutACounterAtBothEnds) {
  HeldTimes before;
  HeldTimes after;
  before[0] = 1;
  after[1] = 2;
  EXPECT_FALSE(held_between(before, after).known);
}

TEST(Held, TakesACounterThatFellForANewOne) {
  HeldTimes before;
  HeldTimes after;
  before[0] = 9;
  after[0] = 3;
  EXPECT_EQ(held_between(before, after).reasons, 0U);
}

}  // namespace
}  // namespace railgauge::gpu
