// `--watch` as a process on a terminal.
#include <poll.h>
#include <pty.h>

#include <algorithm>
#include <cctype>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/process_testing.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

TEST_F(Process, WatchDrawsOnATerminalUntilCtrlC) {
  serve();
  int main_end = -1;
  int program_end = -1;
  char name[128];
  const winsize size{.ws_row = 20, .ws_col = 30, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&main_end, &program_end, name, nullptr, &size), 0);
  const Descriptor terminal(main_end);
  Descriptor given(program_end);
  setenv("TERM", "xterm", 1);
  start({"nodes", "--watch", "--interval", "200ms"}, -1, name);
  std::string shown;
  char chunk[4096];
  // Until the second view is drawn over the first.
  while (shown.find("\r\x1b[7A") == std::string::npos) {
    pollfd ready{.fd = terminal.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&ready, 1, static_cast<int>(kChildSeconds * 1e3)), 1) << shown;
    const ssize_t got = read(terminal.get(), chunk, sizeof chunk);
    ASSERT_GT(got, 0) << shown;
    shown.append(chunk, static_cast<std::size_t>(got));
  }
  kill(child_, SIGINT);
  read_to_the_end(terminal, given);
  EXPECT_EQ(wait_for_end(), kExitInterrupted);
  EXPECT_THAT(shown, HasSubstr("n10"));
  EXPECT_THAT(shown, HasSubstr(">\x1b[K\r\n")) << "cut to 30 columns";
}

// Returns the rows of a terminal of so many columns after it got these bytes: carriage returns, new
// lines, and the sequences with which a view is drawn over.
std::vector<std::string> screen_after(const std::string& bytes) {
  std::vector<std::string> rows(1);
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] == '\r') {
      column = 0;
    } else if (bytes[at] == '\n') {
      if (++row == rows.size()) rows.emplace_back();
    } else if (bytes[at] == '\x1b') {
      std::size_t end = at + 2;
      while (std::isdigit(static_cast<unsigned char>(bytes[end])) != 0) ++end;
      const std::string number = bytes.substr(at + 2, end - at - 2);
      if (bytes[end] == 'A') row -= std::min<std::size_t>(row, std::stoul(number));
      if (bytes[end] == 'K') rows[row].resize(column);
      if (bytes[end] == 'J') {
        rows.resize(row + 1);
        rows[row].resize(column);
      }
      at = end;
    } else {
      if (rows[row].size() <= column) rows[row].resize(column + 1, ' ');
      rows[row][column++] = bytes[at];
    }
  }
  return rows;
}

// 24 rows of 60 columns; the run continues until somebody looks.
TEST_F(Process, RunShowsWhatFailedOnATerminalAndErasesItAtTheEnd) {
  for (int i = 1; i <= 40; ++i)
    control_.failures.push_back("t" + std::to_string(i) + " verbs.write_bw gpu" +
                                std::to_string(100 + i) + ": failed: wrong bytes at offset " +
                                std::to_string(4096 * i) + " of 65536");
  control_.failures.emplace_back("t41 nccl.all_reduce gpu101: failed: no device");
  control_.endless = true;
  serve();
  int main_end = -1;
  int program_end = -1;
  const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&main_end, &program_end, nullptr, nullptr, &size), 0);
  const Descriptor terminal(main_end);
  Descriptor given(program_end);
  setenv("TERM", "xterm", 1);
  start({"run", "quick"}, given.get());
  std::string shown;
  char chunk[4096];
  while (shown.find("nccl.all_reduce") == std::string::npos || !shown.ends_with("\x1b[J")) {
    pollfd ready{.fd = terminal.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&ready, 1, static_cast<int>(kChildSeconds * 1e3)), 1) << shown;
    const ssize_t got = read(terminal.get(), chunk, sizeof chunk);
    ASSERT_GT(got, 0) << shown;
    shown.append(chunk, static_cast<std::size_t>(got));
  }
  std::vector<std::string> rows = screen_after(shown);
  ASSERT_GE(rows.size(), 4u) << shown;
  const std::size_t top = rows.size() - 4;
  EXPECT_THAT(rows[top], testing::StartsWith("[##########----------] 1/2  41 failed  00:"));
  EXPECT_THAT(rows[top + 1],
              testing::StartsWith("  40 x verbs.write_bw gpu[101-140]: failed: wrong"));
  EXPECT_THAT(rows[top + 1], testing::EndsWith(">")) << "cut to 60 columns";
  EXPECT_EQ(rows[top + 1].size(), 59u);
  EXPECT_EQ(rows[top + 2], "  1 x nccl.all_reduce gpu101: failed: no device");
  kill(child_, SIGTERM);
  shown += read_to_the_end(terminal, given);
  wait_for_end();
  rows = screen_after(shown);
  EXPECT_EQ(
      std::ranges::count_if(rows, [](const std::string& row) { return row.starts_with("[####"); }),
      0)
      << "erased before the last message";
}

TEST_F(Process, RunPrintsAFewLinesIntoAFileAndADumbTerminalTakesThemToo) {
  for (int i = 1; i <= 40; ++i)
    control_.failures.push_back("t" + std::to_string(i) + " verbs.write_bw n" + std::to_string(i) +
                                ": failed: away");
  serve();
  EXPECT_EQ(run({"run", "quick"}), 0);
  EXPECT_LT(std::ranges::count(err_, '\n'), 12) << err_;
  EXPECT_THAT(err_, HasSubstr("verbs.write_bw n1: failed: away\n"));
  EXPECT_THAT(err_, HasSubstr("  39 x verbs.write_bw n[2-40]: failed: away\n"));
  EXPECT_EQ(run({"run", "quick", "--verbose"}), 0);
  EXPECT_THAT(err_, HasSubstr("t40 verbs.write_bw n40: failed: away\n"));
  EXPECT_GT(std::ranges::count(err_, '\n'), 40);
  int main_end = -1;
  int program_end = -1;
  ASSERT_EQ(openpty(&main_end, &program_end, nullptr, nullptr, nullptr), 0);
  const Descriptor terminal(main_end);
  Descriptor given(program_end);
  setenv("TERM", "dumb", 1);
  start({"run", "quick"}, given.get());
  const std::string shown = read_to_the_end(terminal, given);
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
  EXPECT_THAT(shown, HasSubstr("39 x verbs.write_bw"));
}

}  // namespace
}  // namespace railgauge::cli
