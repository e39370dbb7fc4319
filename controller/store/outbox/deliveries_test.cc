#include "controller/store/outbox/deliveries.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DeliveryStoreTest : public StoreTest {
 protected:
  Status queue(const std::string& id, double next_at, const std::string& target = "webhook") {
    return store_->write(write_delivery, {.target = target,
                                          .delivery_id = id,
                                          .digest = "ab",
                                          .body = "body of " + id,
                                          .created_at = 1,
                                          .next_at = next_at});
  }
  std::string next(const std::string& target = "webhook") {
    const auto row = store_->read(read_next_delivery, target);
    EXPECT_TRUE(row) << row.error().message;
    return *row ? fmt::format("{}, {}, {}", (*row)->delivery_id, (*row)->body, (*row)->attempts)
                : "none";
  }
};

TEST_F(DeliveryStoreTest, TheNextOneIsThatWhoseTimeComesFirst) {
  EXPECT_EQ(next(), "none");
  ASSERT_TRUE(queue("a", 10) && queue("b", 5) && queue("c", 1, "mail"));
  EXPECT_EQ(next(), "b, body of b, 0");
  EXPECT_EQ(next("mail"), "c, body of c, 0");
  ASSERT_TRUE(store_->write(write_delivery_attempt, "webhook", "b", 20.0, "no luck"));
  reopen();
  EXPECT_EQ(next(), "a, body of a, 0");
  ASSERT_TRUE(store_->write(write_delivery_end, "webhook", "a", "delivered", 11.0, ""));
  EXPECT_EQ(next(), "b, body of b, 1");
  EXPECT_THAT(*store_->read(read_waiting_deliveries), SizeIs(2));
}

TEST_F(DeliveryStoreTest, AnIdIsTakenOnceByEachTargetAlsoAfterItsEnd) {
  ASSERT_TRUE(queue("a", 1));
  EXPECT_EQ(queue("a", 2).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(store_->write(write_delivery_end, "webhook", "a", "refused", 3.0, "HTTP status 401"));
  EXPECT_EQ(queue("a", 4).error().code, Code::kAlreadyExists);
  EXPECT_TRUE(*store_->read(has_delivery, "webhook", "a"));
  EXPECT_FALSE(*store_->read(has_delivery, "mail", "a"));
  EXPECT_EQ(next(), "none");
}

TEST_F(DeliveryStoreTest, ATargetFailsUntilItsNewestReportIsTaken) {
  const auto fails = [&] { return *store_->read(was_delivery_failing, "webhook"); };
  ASSERT_TRUE(queue("a", 1) && queue("b", 2) && queue("m", 1, "mail"));
  EXPECT_FALSE(fails()) << "none was tried";
  ASSERT_TRUE(store_->write(write_delivery_attempt, "webhook", "a", 20.0, "no luck"));
  EXPECT_TRUE(fails());
  ASSERT_TRUE(
      store_->write(write_delivery_end, "webhook", "a", "refused", 21.0, "HTTP status 404"));
  EXPECT_TRUE(fails());
  ASSERT_TRUE(store_->write(write_delivery_end, "webhook", "b", "delivered", 22.0, ""));
  EXPECT_FALSE(fails());
}

TEST_F(DeliveryStoreTest, EndedRowsAreBoundedAndWaitingOnesStay) {
  ASSERT_TRUE(queue("first", 1));
  const auto end_many = [](Connection& connection) -> Status {
    for (std::uint32_t i = 0; i < kEndedDeliveries + 3; ++i) {
      const std::string id = fmt::format("r{}", i);
      RG_TRY_OK(write_delivery(connection, {.target = "webhook", .delivery_id = id}));
      RG_TRY_OK(write_delivery_end(connection, "webhook", id, "delivered", 3, ""));
    }
    return {};
  };
  ASSERT_TRUE(store_->write(+end_many));
  EXPECT_FALSE(*store_->read(has_delivery, "webhook", "r2"));
  EXPECT_TRUE(*store_->read(has_delivery, "webhook", "r3"));
  EXPECT_EQ(next(), "first, body of first, 0");
}

TEST_F(DeliveryStoreTest, ConfirmedFindingsComeWithTheRunThatConfirmedThem) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  FindingRow finding{
      .finding_id = "f1", .kind = "step", .severity = "warning", .run_id = "r1", .opened_at = 1e9};
  ASSERT_TRUE(store_->write(write_finding, finding));
  EXPECT_THAT(*store_->read(read_confirmed, 0.0), IsEmpty());
  finding.run_id = "r2";
  ASSERT_TRUE(store_->write(write_finding_again, finding,
                            {.at = 2e9, .who = "judge", .action = "confirm"}));
  const auto confirmed = store_->read(read_confirmed, 2e9);
  ASSERT_TRUE(confirmed && confirmed->size() == 1);
  EXPECT_EQ(confirmed->front().finding_id, "f1");
  EXPECT_EQ(confirmed->front().run_id, "r2");
  EXPECT_EQ(confirmed->front().upgrade_id, "");
  EXPECT_THAT(*store_->read(read_confirmed, 2e9 + 1), IsEmpty());
}

}  // namespace
}  // namespace railgauge::store
