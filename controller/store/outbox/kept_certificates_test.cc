#include "controller/store/outbox/kept_certificates.h"

#include <gmock/gmock.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KeptCertificatesTest : public StoreTest {
 protected:
  std::vector<std::string> missing(double since = 0) {
    return *store_->read(read_uncertified, since, 10);
  }
  void end(const std::string& run) {
    plan_run(*store_, run, 1);
    ASSERT_TRUE(store_->update_run(
        {.run_id = run, .state = RunState::kEnded, .outcome = "passed", .ended_at = 5}));
    ASSERT_TRUE(store_->flush());
  }
};

TEST_F(KeptCertificatesTest, AreMissingForJudgedRunsAlone) {
  end("r1");
  EXPECT_THAT(missing(), IsEmpty());
  ASSERT_TRUE(store_->write(write_judged, "r1", 7.0));
  EXPECT_THAT(missing(), ElementsAre("r1"));
  EXPECT_THAT(missing(8), IsEmpty());
  ASSERT_TRUE(store_->write(write_certificate, "r1", 8.0, "sha256:ab", "{}"));
  EXPECT_THAT(missing(), IsEmpty());
}

TEST_F(KeptCertificatesTest, ALaterOneTakesThePlaceOfTheFirst) {
  ASSERT_TRUE(store_->write(write_certificate, "r1", 8.0, "sha256:ab", "{}"));
  ASSERT_TRUE(store_->write(write_certificate, "r1", 9.0, "sha256:cd", "{1}"));
  const auto rows = store_->sql("SELECT digest, CAST(body AS TEXT) FROM certificate", 5, 5);
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(rows->rows[0][0]), "sha256:cd");
}

}  // namespace
}  // namespace railgauge::store
