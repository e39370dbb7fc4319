#include "agent/tasks/kernel_list.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "agent/os/subprocess.h"
#include "agent/tasks/final.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kMaxListBytes = 4U << 20U;

// A list whose kernels are cut out of it.
struct CutList {
  std::string rest{};                       // with an empty array in their place
  std::vector<std::string_view> kernels{};  // objects of JSON
};

// Walks over a document of JSON, and keeps the elements of the outermost object's "kernels" apart.
// A document that is none stays none, by its rest or by its parts.
CutList cut(std::string_view json) {
  CutList list;
  std::string_view text;  // the last one
  std::size_t text_begin = 0;
  std::size_t begin = 0;
  int depth = 0;
  bool is_text = false;
  bool is_within = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool was_within = is_within;
    if (is_text) {
      const bool is_escape = c == '\\' && i + 1 < json.size();
      if (is_escape && !is_within) list.rest += c;
      if (is_escape) ++i;
      is_text = c != '"';
      if (!is_text) text = json.substr(text_begin, i - text_begin);
    } else if (c == '"') {
      is_text = true;
      text_begin = i + 1;
    } else if (c == '{' || c == '[') {
      ++depth;
      is_within = is_within || (c == '[' && depth == 2 && text == "kernels");
      if (was_within && depth == 3) begin = i;
    } else if (c == '}' || c == ']') {
      --depth;
      is_within = is_within && depth >= 2;
      if (is_within && depth == 2) list.kernels.push_back(json.substr(begin, i + 1 - begin));
    }
    if (!was_within || !is_within) list.rest += json[i];
  }
  return list;
}
}  // namespace

// Kernel by kernel: the library needs several times a document's size while it reads one, and an
// agent is small.
Result<KernelList> parse_kernel_list(const std::string& json) {
  const CutList parts = cut(json);
  KernelList list;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  auto status = google::protobuf::util::JsonStringToMessage(parts.rest, &list, options);
  for (const std::string_view kernel : parts.kernels)
    if (status.ok())
      status = google::protobuf::util::JsonStringToMessage(std::string(kernel), list.add_kernels(),
                                                           options);
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
