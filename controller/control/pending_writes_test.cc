#include <vector>

#include <gmock/gmock.h>

#include "controller/control/pending_writes.h"

namespace railgauge::run {
namespace {

using testing::ElementsAre;

// A store that has room for `room` writes and enters each one that it takes.
struct Store {
  std::size_t room = 100;
  Code refusal = Code::kResourceExhausted;
  std::vector<int> taken{};

  PendingWrites::Write write(int number) {
    return [this, number]() -> Status {
      if (taken.size() >= room) return fail(refusal, "the store is full");
      taken.push_back(number);
      return {};
    };
  }
};

TEST(PendingWrites, AWriteThatTheStoreTakesDoesNotWait) {
  Store store;
  PendingWrites writes;
  writes.save(store.write(1));
  writes.save(store.write(2));
  EXPECT_THAT(store.taken, ElementsAre(1, 2));
  EXPECT_EQ(writes.waiting(), 0u);
}

TEST(PendingWrites, AFullStoreKeepsTheOrderOfAllLaterWrites) {
  for (const Code refusal : {Code::kResourceExhausted, Code::kUnavailable}) {
    Store store{.room = 1, .refusal = refusal};
    PendingWrites writes;
    for (int number = 1; number <= 4; ++number) writes.save(store.write(number));
    EXPECT_THAT(store.taken, ElementsAre(1));
    EXPECT_EQ(writes.waiting(), 3u);
    store.room = 3;
    writes.retry();
    EXPECT_THAT(store.taken, ElementsAre(1, 2, 3));
    store.room = 100;
    writes.save(store.write(5));
    EXPECT_THAT(store.taken, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_EQ(writes.waiting(), 0u);
  }
}

TEST(PendingWrites, AWriteThatCanNeverSucceedDoesNotHoldTheOthers) {
  Store store{.room = 0, .refusal = Code::kNotFound};
  PendingWrites writes;
  writes.save(store.write(1));
  EXPECT_EQ(writes.waiting(), 0u);
  store.room = 1;
  writes.save(store.write(2));
  EXPECT_THAT(store.taken, ElementsAre(2));
}

}  // namespace
}  // namespace railgauge::run
