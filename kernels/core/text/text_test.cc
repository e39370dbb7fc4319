#include "kernels/core/text/text.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

const std::array<std::string, 4> kWords{"depth", "size", "signal_every", "qp"};

TEST(EditDistance, CountsOneForASwap) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("dpeth", "depth"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(DidYouMean, OffersTheNearestWordOrNothing) {
  EXPECT_EQ(did_you_mean("dpeth", kWords), "; did you mean \"depth\"?");
  EXPECT_EQ(did_you_mean("sizes", kWords), "; did you mean \"size\"?");
  EXPECT_EQ(did_you_mean("sig", kWords), "; did you mean \"signal_every\"?");
  EXPECT_EQ(did_you_mean("elephant", kWords), "");
  EXPECT_EQ(did_you_mean("", kWords), "");
  EXPECT_EQ(did_you_mean("xy", kWords), "");
  EXPECT_EQ(did_you_mean("depth", {}), "");
}

TEST(DidYouMean, ComparesPartsOfLongNames) {
  const std::vector<std::string> names{"bandwidth_bytes_per_second", "latency_ns",
                                       "verbs.write_bw"};
  EXPECT_EQ(did_you_mean("bandwith", names), "; did you mean \"bandwidth_bytes_per_second\"?");
  EXPECT_EQ(did_you_mean("latncy", names), "; did you mean \"latency_ns\"?");
  EXPECT_EQ(did_you_mean("write_bw", names), "; did you mean \"verbs.write_bw\"?");
  EXPECT_EQ(did_you_mean("ns", names), "") << "too short for a part";
  EXPECT_EQ(did_you_mean("duration", names), "");
}

TEST(DidYouMean, TakesTheSameEndAmongEquallyNearOnes) {
  const std::vector<std::string> nodes{"gpu0001", "gpu0017", "gpu0070"};
  EXPECT_EQ(did_you_mean("gpu00017", nodes), "; did you mean \"gpu0017\"?");
  EXPECT_EQ(did_you_mean("gpu0002", nodes), "; did you mean \"gpu0001\"?") << "the first";
}

TEST(DidYouMean, TakesAnyLength) { EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), kWords), ""); }

TEST(InQuotes, StaysOnOneLine) {
  EXPECT_EQ(in_quotes("a b"), "\"a b\"");
  EXPECT_EQ(in_quotes("a\nb\x1b"), R"("a\nb\x1b")");
  EXPECT_EQ(in_quotes(std::string(kMaxQuoted + 1, 'x')),
            "\"" + std::string(kMaxQuoted, 'x') + "...\"");
}

TEST(InQuotes, CutsBetweenCharacters) {
  const std::string almost(kMaxQuoted - 1, 'x');
  EXPECT_EQ(in_quotes(almost + "\u00b5"), "\"" + almost + "...\"");
  EXPECT_EQ(in_quotes("\u00b5s\xff"), "\"\u00b5s?\"");
}

TEST(ValidUtf8, KeepsCharactersAndMarksTheRest) {
  const std::string good = "a\u00b5\u20ac\U0001F600\n";
  EXPECT_EQ(valid_utf8(good), good);
  EXPECT_EQ(valid_utf8("\x80"), "?");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "???") << "surrogate";
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "????") << "above U+10FFFF";
  EXPECT_EQ(valid_utf8("\xe2\x82"), "??") << "cut off";
  EXPECT_EQ(valid_utf8("x\xe2y"), "x?y");
}

TEST(ValidUtf8, FindsTheFirstByteOutside) {
  EXPECT_EQ(first_outside_utf8(""), std::nullopt);
  EXPECT_EQ(first_outside_utf8("a\u00b5\u20ac"), std::nullopt);
  EXPECT_EQ(first_outside_utf8("a\u00b5\xff"), 3U);
  EXPECT_EQ(first_outside_utf8("\xfe\xff"), 0U);
}

TEST(OneOf, ReadsAsASentence) {
  EXPECT_EQ(one_of({}), "");
  EXPECT_EQ(one_of(std::span(kWords).first(1)), "depth");
  EXPECT_EQ(one_of(std::span(kWords).first(3)), "depth, size or signal_every");
}

TEST(Printable, WritesWhatSteersATerminalInWords) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), R"(a\x1b[2Jb\n\x7f)");
  EXPECT_EQ(printable("cr\r tab\t bell\a"), R"(cr\r tab\t bell\x07)");
  EXPECT_EQ(printable(std::string_view("nul\0", 4)), R"(nul\x00)");
  EXPECT_EQ(printable("nel\u0085 csi\u009b31m"), R"(nel\u0085 csi\u009b31m)");
  EXPECT_EQ(printable("exe.\u202egpj"), R"(exe.\u202egpj)");
  EXPECT_EQ(printable("\u2028\u2066\u061c\u200f"), R"(\u2028\u2066\u061c\u200f)");
  EXPECT_EQ(printable("\x9b"
                      "31m \xff"),
            R"(\x9b31m \xff)")
      << "C1 as a byte is no UTF-8";
  EXPECT_EQ(printable("gpu \u00e9 \u00a0 \u20ac \U0001F600"),
            "gpu \u00e9 \u00a0 \u20ac \U0001F600");
  EXPECT_EQ(printable_lines("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b");
}

// Returns whether a terminal shows every character of the text, by its own decoding.
bool is_visible(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == 0x7F) return false;
    const std::string_view character = text.substr(0, length);
    if (first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) return false;
    for (const std::string_view mark :
         {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c", "\u202d",
          "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"})
      if (character == mark) return false;
    text.remove_prefix(length);
  }
  return true;
}

TEST(Printable, AnyBytesBecomeOneVisibleLineThatStaysAsItIs) {
  std::mt19937 random(23);
  const std::array<std::string, 8> parts{"\x1b[31m", "\u202e", "\u0085", "\r\n",
                                         "\xe2\x80", "gpu",    "\u00e9", "\\x1b"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) {
      if (random() % 2 == 0)
        text += static_cast<char>(random() % 256);
      else
        text += parts[random() % parts.size()];
    }
    const std::string shown = printable(text);
    ASSERT_TRUE(is_visible(shown)) << shown;
    ASSERT_EQ(printable(shown), shown);
    if (is_visible(text)) {
      ASSERT_EQ(shown, text);
    }
  }
}

TEST(Printable, EveryCharacterIsShownOrWritten) {
  for (char32_t c = 0; c < 0x3000; ++c) {
    std::string text;
    if (c < 0x80)
      text = {static_cast<char>(c)};
    else if (c < 0x800)
      text = {static_cast<char>(0xC0 | c >> 6U), static_cast<char>(0x80 | (c & 0x3FU))};
    else
      text = {static_cast<char>(0xE0 | c >> 12U), static_cast<char>(0x80 | (c >> 6U & 0x3FU)),
              static_cast<char>(0x80 | (c & 0x3FU))};
    ASSERT_EQ(character_of(text, utf8_length(text)), c);
    ASSERT_EQ(printable(text) == text, is_visible(text) && !steers(c)) << static_cast<unsigned>(c);
  }
}

TEST(ShellQuoted, LeavesPlainWordsAndQuotesTheRest) {
  EXPECT_EQ(shell_quoted("/etc/a-b_c:1"), "/etc/a-b_c:1");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace railgauge
