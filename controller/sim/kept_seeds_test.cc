#include "controller/sim/kept_seeds.h"

#include <gtest/gtest.h>

namespace railgauge::simulator {
namespace {

const KeptSeed kOne{.site = "512x8/7",
                    .noise = 3,
                    .seed = 9'001,
                    .nights = 14,
                    .with_finding = 1,
                    .with_candidate = 2,
                    .outcomes = "nmwx-"};

TEST(KeptSeeds, ALineIsReadAsItWasWritten) {
  const std::string text = line_of(kOne, "abc", "2026-01-02") + line_of(kOne, "abc", "2026-01-03");
  const auto seeds = read_seeds(text, 5);
  ASSERT_TRUE(seeds.has_value()) << seeds.error().message;
  ASSERT_EQ(seeds->size(), 2U);
  EXPECT_EQ(line_of(seeds->front(), "abc", "2026-01-02"), text.substr(0, text.size() / 2));
}

TEST(KeptSeeds, ALineOfABenchThatWasEndedIsLeftOut) {
  const std::string line = line_of(kOne, "abc", "2026-01-02");
  for (std::size_t end = 0; end < line.size(); ++end) {
    const auto seeds = read_seeds(line + line.substr(0, end), 5);
    ASSERT_TRUE(seeds.has_value()) << end;
    EXPECT_EQ(seeds->size(), 1U) << end;
  }
}

TEST(KeptSeeds, OtherRowsAndOtherFilesAreRefusedWithTheLine) {
  const std::string line = line_of(kOne, "abc", "2026-01-02");
  std::string letter = line;
  letter[letter.size() - 2] = 'q';
  for (const auto& [text, rows] : {std::pair<std::string, std::size_t>{line, 4},
                                   {line + letter, 5},
                                   {"fault\tnamed\n", 5},
                                   {"\n", 5}}) {
    const auto seeds = read_seeds(text, rows);
    ASSERT_FALSE(seeds.has_value()) << text;
    EXPECT_EQ(seeds.error().code, Code::kDataLoss);
    EXPECT_NE(seeds.error().message.find("line "), std::string::npos);
  }
}

TEST(KeptSeeds, LettersSayNamedAndWrong) {
  for (const bool named : {false, true})
    for (const bool wrong : {false, true}) {
      const char letter = outcome_letter(named, wrong);
      EXPECT_EQ(is_named(letter), named);
      EXPECT_EQ(is_wrong(letter), wrong);
    }
  EXPECT_FALSE(is_named('-') || is_wrong('-'));
}

}  // namespace
}  // namespace railgauge::simulator
