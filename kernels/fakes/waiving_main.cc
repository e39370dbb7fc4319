// The main of tests that need hardware: the program ends with 77 when every test was skipped, which
// ctest shows as skipped. A pass would claim a check.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) return failed;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  constexpr int kWaived = 77;
  return all.successful_test_count() == 0 && all.skipped_test_count() > 0 ? kWaived : 0;
}
