#include "kernels/launch/shim/wire.h"

#include <gmock/gmock.h>

namespace railgauge::launch {
namespace {

TEST(LaunchWire, GivesWholeFramesHoweverTheirBytesCome) {
  const std::string text = encode(Kind::kOut, "hello\n") + encode(Kind::kExit, "7");
  Decoder decoder;
  std::string seen;
  for (const char c : text) {
    decoder.feed(std::string_view(&c, 1));
    while (const auto frame = decoder.next()) seen += static_cast<char>(frame->kind) + frame->bytes;
  }
  EXPECT_EQ(seen, "ohello\nx7");
  EXPECT_FALSE(decoder.garbage());
}

TEST(LaunchWire, CallsGarbageByItsName) {
  for (const std::string& bad : {std::string("GET / HTTP/1.1"), std::string("o\xff\xff\xff\xff")}) {
    Decoder decoder;
    decoder.feed(bad);
    EXPECT_FALSE(decoder.next());
    EXPECT_TRUE(decoder.garbage()) << bad;
  }
}

TEST(LaunchWire, KeepsWordsApart) {
  const std::vector<std::string> words{"192.0.2.1", " orted", "", "a b", "\"x\""};
  EXPECT_EQ(split_words(join_words(words)), words);
  EXPECT_TRUE(split_words("").empty());
}

}  // namespace
}  // namespace railgauge::launch
