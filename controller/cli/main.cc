// railgauge: the command that people and pipelines use. Wiring only.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "controller/cli/descriptor_stream.h"
#include "controller/cli/program.h"
#include "kernels/core/base/outcome.h"

namespace {

using railgauge::cli::DescriptorBuffer;

constexpr int kUnknownWidth = 80;

railgauge::cli::Screen screen_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

// Columns of the terminal behind `descriptor`, 0 when there is none.
int terminal_columns(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  const int columns = screen_of(descriptor).columns;
  return columns == 0 ? kUnknownWidth : columns;
}

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Results that could not be written are no results. A reader that left (EPIPE) had what it wanted.
int flush_results(DescriptorBuffer& results, int code) {
  results.pubsync();
  if (results.failure() == 0 || results.failure() == EPIPE) return code;
  std::cerr << "railgauge: stdout: write: " << std::strerror(results.failure()) << '\n';
  return railgauge::kExitInvalid;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // its log lines would stand beside our one line
  railgauge::cli::Interrupts interrupts;
  const railgauge::cli::SignalListener listener(interrupts);
  const std::vector<std::string> words(argv + 1, argv + argc);
  DescriptorBuffer results(STDOUT_FILENO);
  std::ostream out(&results);
  const railgauge::cli::Terminal terminal{.out = out,
                                          .err = std::cerr,
                                          .out_is_terminal = isatty(STDOUT_FILENO) != 0,
                                          .err_columns = terminal_columns(STDERR_FILENO),
                                          .out_screen = [] { return screen_of(STDOUT_FILENO); }};
  return flush_results(results,
                       railgauge::cli::run_program(words, environment, terminal, interrupts));
}
