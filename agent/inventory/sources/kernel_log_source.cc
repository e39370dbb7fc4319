// Reads the kernel log's lines about GPUs, NICs and PCIe from /dev/kmsg without waiting. Without
// the right to read it (kernel.dmesg_restrict), the fact names the remedy.
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "agent/inventory/sources/sources.h"
#include "agent/node_facts/facts.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kLog = "/dev/kmsg";
constexpr std::size_t kMostLogBytes = 64U << 20U;

FactInfo read_device(const std::string& path, KeptLogLines& kept) {
  const int error = read_log_records(path, kept);
  if (error == 0) return {FactState::kKnown, kLog, {}};
  if (error == ENOENT) return {FactState::kAbsent, kLog, {}};
  return {FactState::kUnknown, kLog,
          fmt::format("{}: {}; needs CAP_SYSLOG or kernel.dmesg_restrict=0", kLog,
                      std::strerror(error))};
}

}  // namespace

Apply read_kernel_log(const NodeFiles& files) {
  KeptLogLines kept;
  FactInfo told{FactState::kUnknown, kLog,
                "this machine's log is not that of another tree of /sys"};
  if (files.is_this_machine()) {
    told = read_device(files.on_disk(kLog), kept);
  } else if (files.on_disk(kLog) != kLog) {  // a tree has plain lines
    told = files.lines(kLog, kMostLogBytes, [&](std::string_view line) {
      kept.take(std::string(line));
      return true;
    });
  }
  std::vector<std::string> lines;
  for (const std::string& line : kept.lines()) lines.push_back(valid_utf8(line));
  return put(KernelLogLines{.kernel_log = {told, lines}, .kernel_log_is_cut = kept.is_cut()});
}

}  // namespace railgauge::agent
