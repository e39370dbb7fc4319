// THE list of perftest's options: what each means here, or what to do instead.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/peers/perftest/options.h"

namespace railgauge {

// The options as given, before the kernel's own parameters are known.
struct PerftestReading {
  // One option that names a parameter of ours.
  struct GivenOption {
    // "-t", "--tx-depth": as it was typed.
    std::string option;
    std::string value;
    // The kernel's lack of that parameter, in words.
    std::string_view why;
    // Where it lacks it, so that nothing is refused.
    bool is_so_anyhow = false;
  };
  PerftestCall call{};
  // By parameter; the last one counts.
  std::map<std::string, GivenOption> said{};
  bool immediate = false;
  bool all_sizes = false;
  std::optional<std::string> device{};
  std::optional<std::string> device_port{};
  std::optional<std::string> seconds{};
  // --set, unchecked.
  std::map<std::string, std::string> set{};
};

// One option of the tool.
struct PerftestRow {
  // `option` as typed; `value` is "" where the row takes none.
  using Take = Status (*)(PerftestReading& reading, const PerftestRow& row,
                          const std::string& option, const std::string& value);
  // "tx-depth"; "" where the tool has a letter alone.
  std::string_view word;
  // 0: none.
  char letter = 0;
  bool takes_value = false;
  Take take = nullptr;
  std::string_view parameter{};  // of ours, where the option is one
  // Parameters: why a kernel may lack it; "" where each has it. Refused options: what to do
  // instead. Options without effect: why that is so; "" is silent.
  std::string_view why{};
};

std::span<const PerftestRow> perftest_rows();
// Whether the row's option is never honoured.
bool is_refused(const PerftestRow& row);

}  // namespace railgauge
