// The whole program but for its signals: from words to an exit code.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "controller/cli/input/interrupts.h"
#include "controller/cli/input/settings.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// Where the process stands: its streams and terminal.
struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  int err_columns = 0;                   // 0: `err` is no terminal
  std::function<Screen()> out_screen{};  // its size now, where `out` is a terminal
};

// Runs one command line (without the program's name). Never throws; returns DESIGN's exit codes.
int run_program(std::span<const std::string> words, const Environment& environment,
                const Terminal& terminal, Interrupts& interrupts);

}  // namespace railgauge::cli
