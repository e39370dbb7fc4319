#include "agent/tasks/kernel_list.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "agent/os/subprocess.h"
#include "agent/tasks/final.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kMaxListBytes = 4U << 20U;
}  // namespace

Result<KernelList> parse_kernel_list(const std::string& json) {
  KernelList list;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &list, options);
  if (!status.ok()) return fail(Code::kInternal, fmt::format("kernel list: {}", status.ToString()));
  return list;
}

Result<KernelList> list_kernels(const std::string& runner, double timeout_seconds,
                                const Confinement* confinement) {
  const CommandOutput output =
      RG_TRY(run_command({runner, "--list", "--format", "json"}, timeout_seconds, kMaxListBytes,
                         nullptr, confinement));
  if (output.wait_status != 0)
    return fail(Code::kInternal,
                fmt::format("{} --list: {}: {}", runner, describe_wait_status(output.wait_status),
                            std::string(output.err.begin(), std::ranges::find(output.err, '\n'))));
  return parse_kernel_list(output.out);
}

}  // namespace railgauge::agent
