// `--watch` as a process on a terminal.
#include <poll.h>
#include <pty.h>

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

}  // namespace
}  // namespace railgauge::cli
