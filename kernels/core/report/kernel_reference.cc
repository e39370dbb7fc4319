// Renders tables of Markdown from KernelInfo messages. All texts but the families' come from the
// declarations, so that a page cannot differ from the program.
#include "kernels/core/report/kernel_reference.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// A family of kernels and the hardware and software that all of them need.
struct Family {
  std::string_view name;
  std::string_view meaning;
  std::string_view needs;
};
constexpr std::array kFamilies{
    Family{"bar", "The CPU reads and writes GPU memory through the PCIe BAR.",
           "one NVIDIA GPU with its driver, and one way to map its memory: the module gdrdrv, a "
           "dma-buf (CUDA 13.3), memory that CPU and GPU share, or Vulkan with a large BAR"},
    Family{"cuda", "Copies and loads between the memories of GPUs and of the host.",
           "NVIDIA GPUs with their driver; kernels between GPUs need two with peer access"},
    Family{"mpi", "Point-to-point, collective and one-sided operations of an MPI library.",
           "Open MPI or MPICH on every host; GPU memory only where a parameter asks for it"},
    Family{"nccl", "Collective and point-to-point operations of NCCL.",
           "NVIDIA GPUs with their driver, and libnccl 2.18 or later"},
    Family{"net", "TCP between two hosts, through the kernel's sockets.",
           "a network interface; no RDMA and no GPU"},
    Family{"verbs", "RDMA and messages between two NIC ports, through libibverbs.",
           "an active RDMA port at each end; GPU memory only where a parameter asks for it"}};

std::string_view family_of(const KernelInfo& kernel) {
  return std::string_view(kernel.name()).substr(0, kernel.name().find('.'));
}

// The unit of a metric's values, which its name ends in.
std::string_view unit_of(std::string_view metric) {
  if (metric.ends_with("_ns")) return "ns";
  if (metric.ends_with("_ns_per_byte")) return "ns per byte";
  if (metric.ends_with("bytes_per_second")) return "bytes per second";
  if (metric.ends_with("_per_second")) return "per second";
  if (metric.ends_with("_share")) return "share";
  return metric.ends_with("_bytes") ? "bytes" : "";
}

// A text as a cell of a table: a bar would end the cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string as_code(std::string_view text) { return fmt::format("`{}`", text); }

std::vector<std::string> names_of(const KernelInfo& kernel) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : kernel.parameters()) names.push_back(parameter.name());
  return names;
}

std::string code_list(const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("`{}`", fmt::join(words, "`, `"));
}

std::string metrics_of(const KernelInfo& kernel) {
  std::string out;
  for (const std::string& metric : kernel.metrics())
    out += fmt::format("{}`{}` ({})", out.empty() ? "" : ", ", metric, unit_of(metric));
  return out;
}

// The text in lines of at most 100 columns, broken at blanks.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kColumns = 100;
  std::string out;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > kColumns) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

// A family's part of the page. Parameters that all of its kernels have are named once.
std::string family_section(const Family& family, const std::vector<const KernelInfo*>& kernels) {
  std::vector<std::string> shared = names_of(*kernels.front());
  for (const KernelInfo* kernel : kernels) {
    const std::vector<std::string> own = names_of(*kernel);
    std::erase_if(shared, [&own](const std::string& name) {
      return std::ranges::find(own, name) == own.end();
    });
  }
  std::string out = fmt::format("\n## {}\n\n{}\n\n{}\n", family.name, family.meaning,
                                wrapped(fmt::format("Needs {}.", family.needs)));
  if (!shared.empty())
    out += fmt::format("\n| parameters of every kernel |\n|---|\n| {} |\n", code_list(shared));
  out += "\n| kernel | meaning | metrics (unit) | ranks | endpoint | more parameters |\n";
  out += "|---|---|---|---|---|---|\n";
  for (const KernelInfo* kernel : kernels) {
    std::vector<std::string> more = names_of(*kernel);
    std::erase_if(more, [&shared](const std::string& name) {
      return std::ranges::find(shared, name) != shared.end();
    });
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", kernel->name(),
                       cell(kernel->summary()), metrics_of(*kernel), ranks_text(*kernel),
                       kernel->endpoint_kind(), code_list(more));
  }
  return out;
}

std::string bounds_of(const ParameterInfo& parameter) {
  if (!parameter.choices().empty())
    return code_list({parameter.choices().begin(), parameter.choices().end()});
  if (parameter.type() == "boolean") return "`true`, `false`";
  if (parameter.has_minimum() && parameter.has_maximum())
    return fmt::format("{} to {}", value_text(parameter, parameter.minimum()),
                       value_text(parameter, parameter.maximum()));
  if (parameter.has_minimum()) return "at least " + value_text(parameter, parameter.minimum());
  if (parameter.has_maximum()) return "at most " + value_text(parameter, parameter.maximum());
  return "any";
}

// A number without a dimension has the unit "1" in its declaration.
std::string_view unit_words(const ParameterInfo& parameter) {
  return parameter.unit() == "1" ? "" : std::string_view(parameter.unit());
}

// All cells of a parameter's row but the kernels: equal declarations share a row.
std::string declaration(const ParameterInfo& parameter) {
  const std::string& value = parameter.default_value();
  return fmt::format("{} | {} | {} | {} | {}", cell(parameter.summary()), unit_words(parameter),
                     value.empty() ? "none" : as_code(cell(value)), bounds_of(parameter),
                     parameter.identity() ? "yes" : "no");
}

// "`bar.*`" where all kernels of a family are in `names`, else each by its name.
std::string kernel_list(const std::vector<std::string>& names,
                        std::span<const KernelInfo> kernels) {
  std::vector<std::string> out;
  for (const Family& family : kFamilies) {
    std::vector<std::string> here;
    std::ranges::copy_if(names, std::back_inserter(here), [&](const std::string& name) {
      return name.starts_with(fmt::format("{}.", family.name));
    });
    const auto all = std::ranges::count_if(
        kernels, [&](const KernelInfo& kernel) { return family_of(kernel) == family.name; });
    if (here.size() > 1 && std::ssize(here) == all) here = {fmt::format("{}.*", family.name)};
    out.insert(out.end(), here.begin(), here.end());
  }
  return code_list(out);
}

}  // namespace

std::string ranks_text(const KernelInfo& kernel) {
  if (kernel.max_ranks() == 0) return fmt::format("{} or more", kernel.min_ranks());
  if (kernel.max_ranks() == kernel.min_ranks()) return std::to_string(kernel.min_ranks());
  return fmt::format("{} to {}", kernel.min_ranks(), kernel.max_ranks());
}

std::string kernel_page(std::span<const KernelInfo> kernels) {
  std::string page =
      "# Kernels\n\nRendered from the kernels' declarations by "
      "`kernels/core/report/kernel_reference.cc`; a test\ncompares the two. "
      "`railgauge-runner --list` prints the same kernels, and\n"
      "[parameters.md](parameters.md) explains their parameters.\n\n"
      "\"Endpoint\" is what a task names: a NIC port (`mlx5_0:1`), a GPU (`gpu0`), or nothing.\n";
  std::size_t shown = 0;
  for (const Family& family : kFamilies) {
    std::vector<const KernelInfo*> members;
    for (const KernelInfo& kernel : kernels)
      if (family_of(kernel) == family.name) members.push_back(&kernel);
    if (!members.empty()) page += family_section(family, members);
    shown += members.size();
  }
  RG_CHECK(shown == kernels.size());  // a new family needs its row in kFamilies
  return page;
}

std::string parameter_page(std::span<const KernelInfo> kernels) {
  // By name, then by declaration: the kernels that declare it so.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> rows;
  for (const KernelInfo& kernel : kernels)
    for (const ParameterInfo& parameter : kernel.parameters())
      rows[parameter.name()][declaration(parameter)].push_back(kernel.name());
  std::string page =
      "# Parameters\n\nRendered from the kernels' declarations by "
      "`kernels/core/report/kernel_reference.cc`; a test\ncompares the two. "
      "[kernels.md](kernels.md) lists the parameters of each kernel.\n\n"
      "A size is `64KiB` or `1MB`, a duration `20us` or `5s`, a list of sizes `8,64KiB` or "
      "`1:4KiB`.\n\"Series\" says whether the value is part of a series' identity: figures of "
      "other values\nare another series.\n\n"
      "| parameter | kernels | meaning | unit | default | bounds | series |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const auto& [name, declarations] : rows)
    for (const auto& [row, names] : declarations)
      page += fmt::format("| `{}` | {} | {} |\n", name, kernel_list(names, kernels), row);
  return page;
}

}  // namespace railgauge
