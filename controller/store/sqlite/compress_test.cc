#include "controller/store/sqlite/compress.h"

#include <string>

#include <gtest/gtest.h>

namespace railgauge::store {
namespace {

TEST(Compress, BytesComeBackAsTheyWere) {
  for (const std::string& bytes :
       {std::string(), std::string("a\0b", 3), std::string(100'000, 'x')}) {
    const auto back = decompress(compress(bytes));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, bytes);
  }
}

TEST(Compress, DamageIsNoticed) {
  const std::string good = compress(std::string(100'000, 'x'));
  EXPECT_FALSE(decompress(good.substr(0, good.size() / 2)));
  EXPECT_FALSE(decompress("no frame at all"));
  EXPECT_FALSE(decompress(""));
  EXPECT_EQ(decompress("no frame at all").error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace railgauge::store
