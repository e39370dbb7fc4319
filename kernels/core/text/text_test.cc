#include "kernels/core/text/text.h"

#include <array>

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

TEST(DidYouMean, TakesAnyLength) { EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), kWords), ""); }

TEST(InQuotes, StaysOnOneLine) {
  EXPECT_EQ(in_quotes("a b"), "\"a b\"");
  EXPECT_EQ(in_quotes("a\nb\x1b"), "\"a?b?\"");
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

TEST(OneOf, ReadsAsASentence) {
  EXPECT_EQ(one_of({}), "");
  EXPECT_EQ(one_of(std::span(kWords).first(1)), "depth");
  EXPECT_EQ(one_of(std::span(kWords).first(3)), "depth, size or signal_every");
}

TEST(Printable, ReplacesControlCharactersAndKeepsUtf8) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), "a?[2Jb??");
  EXPECT_EQ(printable("gpu \xc3\xa9"), "gpu \xc3\xa9");
}

TEST(ShellQuoted, LeavesPlainWordsAndQuotesTheRest) {
  EXPECT_EQ(shell_quoted("/etc/a-b_c:1"), "/etc/a-b_c:1");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace railgauge
