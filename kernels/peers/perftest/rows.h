// THE list of perftest's options, each with its meaning here or the alternative.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/peers/perftest/options.h"

namespace railgauge {

// The options as typed, before they are checked against the kernel's parameters.
struct PerftestReading {
  // One option that sets a parameter of ours.
  struct GivenOption {
    // "-t", "--tx-depth": as it was typed.
    std::string option;
    std::string value;
    // The reason why a kernel may lack that parameter.
    std::string_view why;
    // A kernel without the parameter behaves as the option asks, so the option is not refused.
    bool is_so_anyhow = false;
  };
  PerftestCall call{};
  // By parameter; the last option counts.
  std::map<std::string, GivenOption> said{};
  bool immediate = false;
  // By --rate_limit, in the unit of --rate_units: MiB/s unless it is Gb/s.
  double rate = 0;
  bool rate_is_gigabits = false;
  bool all_sizes = false;
  // --use_cuda names a GPU beside the host's plain memory: --cuda_mem_type=4.
  bool host_memory_beside_gpu = false;
  std::optional<std::string> device{};
  std::optional<std::string> device_port{};
  std::optional<std::string> seconds{};
  // --set, unchecked.
  std::map<std::string, std::string> set{};
};

// One option of the tool. Every option of its newest release has a row: one that is not honoured is
// refused with what comes nearest, so that no user meets "unknown".
struct PerftestRow {
  // `option` as typed; `value` is "" where the row takes none.
  using Take = Status (*)(PerftestReading& reading, const PerftestRow& row,
                          const std::string& option, const std::string& value);
  // "tx-depth"; "" if the tool has a letter only.
  std::string_view word;
  // 0: none.
  char letter = 0;
  bool takes_value = false;
  Take take = nullptr;
  std::string_view parameter{};  // our parameter, if the option sets one
  // For a parameter: the reason why a kernel may lack it; "": every kernel has it. For a refused
  // option: the alternative. For an option without effect: the reason; "": accepted silently.
  std::string_view why{};
};

std::span<const PerftestRow> perftest_rows();
// Whether the row's option is always refused.
bool is_refused(const PerftestRow& row);

}  // namespace railgauge
