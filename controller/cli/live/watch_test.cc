// `--watch`: what is drawn on terminals of any size, and how it ends.
#include "controller/cli/live/watch.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST(FitLine, CutsWhatDoesNotFitAndMarksIt) {
  EXPECT_EQ(fit_line("12345678", 9), "12345678");
  EXPECT_EQ(fit_line("123456789", 9), "1234567>") << "the last column stays free";
  EXPECT_EQ(fit_line("123456789", 0), "123456789");
  EXPECT_EQ(fit_line("123456789", 1), ">");
}

TEST(FitLine, CountsCharactersAndEndsTheColourThatItCuts) {
  EXPECT_EQ(fit_line("\xC3\xA4\xC3\xB6\xC3\xBC", 4), "\xC3\xA4\xC3\xB6\xC3\xBC");
  EXPECT_EQ(fit_line("\xC3\xA4\xC3\xB6\xC3\xBC", 3), "\xC3\xA4>");
  EXPECT_EQ(fit_line("\x1b[32mgood\x1b[0m", 5), "\x1b[32mgood\x1b[0m");
  EXPECT_EQ(fit_line("\x1b[32mgood\x1b[0m", 4), "\x1b[32mgo\x1b[0m>");
}

TEST(FitView, TellsHowManyLinesALowTerminalLeavesOut) {
  EXPECT_THAT(fit_view("a\nb\nc\n", {.columns = 80, .rows = 4}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(fit_view("a\nb\nc\nd\n", {.columns = 80, .rows = 4}),
              ElementsAre("a", "b", "2 more lines; a taller terminal shows them"));
  EXPECT_THAT(fit_view("a\nb\nc\nd\n", {}), SizeIs(4));
}

TEST(DrawnOver, BeginsWhereTheLastViewBeganAndClearsWhatWasLonger) {
  EXPECT_EQ(drawn_over({"a", "b"}, 0), "a\x1b[K\nb\x1b[K\n\x1b[J");
  EXPECT_EQ(drawn_over({"a"}, 2), "\r\x1b[2Aa\x1b[K\n\x1b[J");
}

class Watching : public Commands {
 protected:
  // Ctrl-C comes at the last of `looks` looks.
  int watch(const std::vector<std::string>& words, int looks, Format format = Format::kTable) {
    std::ostringstream out;
    std::ostringstream err;
    Interrupts interrupts;
    Output output{.out = out, .err = err, .format = format, .units = units_, .colour = colour_};
    if (screen_.columns > 0) output.screen = [this] { return screen_; };
    const auto arguments = parse_arguments(grammar(), words);
    EXPECT_TRUE(arguments) << arguments.error().message;
    if (!arguments) return -1;
    Session session{.stubs = stubs(),
                    .output = output,
                    .interrupts = interrupts,
                    .address = "unix:/test",
                    .connected = [] { return false; },
                    .again = "railgauge",
                    .answer_seconds = answer_seconds_};
    WatchOptions options{.clock = {}, .seconds = 0};
    options.clock = [&, look = 0]() mutable {
      if (++look == looks) interrupts.press();
      if (between_) between_(look, session);
      return "12:00:0" + std::to_string(look) + "Z";
    };
    const auto code = watch_verb(session, *arguments, options);
    const int exit_code = code ? *code : report_error(output, code.error());
    out_ = out.str();
    err_ = err.str();
    return exit_code;
  }

  Screen screen_{};
  bool colour_ = false;
  double answer_seconds_ = 15;
  std::function<void(int, Session&)> between_{};  // after look 1, 2, ...
};

// Escapes as text, so that a golden file can be read.
std::string visible(std::string text) {
  for (std::size_t at = 0; (at = text.find('\x1b', at)) != std::string::npos;)
    text.replace(at, 1, "<ESC>");
  for (std::size_t at = 0; (at = text.find('\r', at)) != std::string::npos;)
    text.replace(at, 1, "<CR>");
  return text;
}

TEST_F(Watching, NodesRunsAndResultsAreDrawnAsTheGoldenFilesSay) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"nodes", {"nodes", "--watch"}},
      {"runs", {"runs", "--watch"}},
      {"runs_show", {"runs", "show", kSampleRun, "--watch"}},
      {"results", {"results", "--watch"}}};
  for (const auto& [name, words] : cases)
    for (const Screen screen : {Screen{200, 60}, Screen{40, 9}}) {
      screen_ = screen;
      EXPECT_EQ(watch(words, 1), kExitInterrupted) << err_;
      expect_golden("watch_" + name + "_" + std::to_string(screen.columns) + ".txt", visible(out_));
    }
}

TEST_F(Watching, EachViewOfSyntheticDataSaysIt) {
  is_synthetic_ = true;
  EXPECT_EQ(watch({"nodes", "--watch"}, 1), kExitInterrupted) << err_;
  EXPECT_THAT(out_, HasSubstr("SYNTHETIC: "));
  screen_ = {.columns = 80, .rows = 5};
  EXPECT_EQ(watch({"nodes", "--watch"}, 1), kExitInterrupted) << err_;
  EXPECT_THAT(out_, HasSubstr("Ctrl-C ends  SYNTHETIC")) << "the last line is cut";
}

TEST_F(Watching, TheSecondViewIsDrawnOverTheFirst) {
  screen_ = {.columns = 100, .rows = 50};
  between_ = [this](int look, Session&) {
    if (look == 1) control_.nodes.mutable_nodes()->RemoveLast();
  };
  EXPECT_EQ(watch({"nodes", "--watch"}, 2), kExitInterrupted);
  const std::size_t second =
      out_.find("\r\x1b[7A12:00:02Z");  // heading, blank, counts, table of four
  ASSERT_NE(second, std::string::npos) << visible(out_);
  EXPECT_THAT(out_.substr(0, second), HasSubstr("n10"));
  EXPECT_THAT(out_.substr(second), Not(HasSubstr("n10")));
  EXPECT_THAT(out_, EndsWith("\x1b[J"));
}

TEST_F(Watching, ATerminalOfAnotherSizeIsClearedFirst) {
  screen_ = {.columns = 100, .rows = 50};
  between_ = [this](int look, Session&) {
    if (look == 2) screen_.columns = 60;
  };
  watch({"nodes", "--watch"}, 2);
  EXPECT_THAT(out_, HasSubstr("\x1b[H\x1b[2J12:00:02Z"));
}

TEST_F(Watching, WithoutColourNothingButTheCursorIsSteered) {
  screen_ = {.columns = 100, .rows = 50};
  watch({"nodes", "--watch"}, 1);
  EXPECT_THAT(out_, Not(HasSubstr("m\x1b")));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b[3")));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b[1m")));
}

TEST_F(Watching, AControllerThatGoesAwayLeavesItsLastViewAndSaysSince) {
  screen_ = {.columns = 200, .rows = 50};
  between_ = [this](int look, Session& session) {
    if (look > 1) return;
    control_.nodes_delay_seconds = 1;
    session.answer_seconds = 0.05;
  };
  EXPECT_EQ(watch({"nodes", "--watch"}, 2), kExitInterrupted);
  EXPECT_THAT(out_.substr(out_.find("\x1b[J")),
              HasSubstr("no answer since 12:00:01Z: controller unix:/test: "));
  EXPECT_THAT(out_.substr(out_.find("\x1b[J")), HasSubstr("n10"));
}

TEST_F(Watching, WhatIsWrongFromTheStartEndsIt) {
  EXPECT_EQ(watch({"nodes", "--watch"}, 1, Format::kJson), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--format ndjson"));
  control_.nodes_delay_seconds = 1;
  answer_seconds_ = 0.05;
  EXPECT_EQ(watch({"nodes", "--watch"}, 5), kExitInvalid);
  EXPECT_EQ(out_, "");
}

TEST_F(Watching, AFileGetsAViewOnlyWhenItChanged) {
  between_ = [this](int look, Session&) {
    if (look == 2) control_.runs.mutable_runs(0)->set_outcome("failed");
  };
  EXPECT_EQ(watch({"runs", "--watch"}, 3), kExitInterrupted);
  EXPECT_THAT(out_, StartsWith("12:00:01Z\nRUN "));
  EXPECT_THAT(out_, Not(HasSubstr("12:00:02Z")));
  EXPECT_THAT(out_, HasSubstr("\n\n12:00:03Z\nRUN "));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
}

TEST_F(Watching, NdjsonIsRowsAgainWhenTheyChanged) {
  EXPECT_EQ(watch({"runs", "--watch"}, 3, Format::kNdjson), kExitInterrupted);
  EXPECT_THAT(out_, StartsWith("{\"schema_version\":"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), control_.runs.runs_size());
}

TEST_F(Watching, AnIntervalIsBounded) {
  const auto parsed = [](const char* interval) {
    return watch_options(*parse_arguments(
        grammar(), std::vector<std::string>{"nodes", "--watch", "--interval", interval}));
  };
  EXPECT_EQ(parsed("5s")->seconds, 5);
  EXPECT_EQ(parsed("10ms").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge::cli
