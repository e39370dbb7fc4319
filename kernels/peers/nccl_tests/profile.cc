// The tables of nccl-tests' programs, types and settings, each used in both directions.
#include "kernels/peers/nccl_tests/profile.h"

#include <array>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// One row a program; each kernel appears once.
constexpr std::array kPrograms{
    NcclTestsProgram{"all_reduce_perf", "nccl.all_reduce"},
    NcclTestsProgram{"all_gather_perf", "nccl.all_gather"},
    NcclTestsProgram{"reduce_scatter_perf", "nccl.reduce_scatter"},
    NcclTestsProgram{"broadcast_perf", "nccl.broadcast"},
    NcclTestsProgram{"reduce_perf", "nccl.reduce"},
    NcclTestsProgram{"alltoall_perf", "nccl.all_to_all"},
    NcclTestsProgram{"alltoallv_perf", "nccl.all_to_all_v"},
    NcclTestsProgram{"gather_perf", "nccl.gather"},
    NcclTestsProgram{"hypercube_perf", "nccl.hypercube"},
    NcclTestsProgram{"scatter_perf", "nccl.scatter"},
    NcclTestsProgram{"sendrecv_perf", "nccl.send_recv"},
};

// One data type under both names.
struct TypeNames {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array kTypes{
    TypeNames{"int8", "int8"},         TypeNames{"uint8", "uint8"},
    TypeNames{"int32", "int32"},       TypeNames{"uint32", "uint32"},
    TypeNames{"int64", "int64"},       TypeNames{"uint64", "uint64"},
    TypeNames{"half", "float16"},      TypeNames{"float", "float32"},
    TypeNames{"double", "float64"},    TypeNames{"bfloat16", "bfloat16"},
    TypeNames{"f8e4m3", "float8e4m3"}, TypeNames{"f8e5m2", "float8e5m2"},
};

}  // namespace

std::span<const NcclTestsProgram> nccl_tests_programs() { return kPrograms; }

const NcclTestsProgram* find_nccl_tests_program(std::string_view name) {
  return row_where(kPrograms, &NcclTestsProgram::name, name);
}

const NcclTestsProgram* nccl_tests_program_of(std::string_view kernel) {
  return row_where(kPrograms, &NcclTestsProgram::kernel, kernel);
}

// -b 32M -e 32M -n 20.
const std::map<std::string, std::string>& nccl_tests_defaults() {
  static const std::map<std::string, std::string> kDefaults{{"sizes", "32MiB"},
                                                            {"iterations", "20"}};
  return kDefaults;
}

std::optional<std::string_view> type_from_nccl_tests(std::string_view theirs) {
  const auto* row = row_where(kTypes, &TypeNames::theirs, theirs);
  return row == nullptr ? std::nullopt : std::optional(row->ours);
}

std::optional<std::string_view> type_for_nccl_tests(std::string_view ours) {
  const auto* row = row_where(kTypes, &TypeNames::ours, ours);
  return row == nullptr ? std::nullopt : std::optional(row->theirs);
}

std::vector<std::string> nccl_tests_types() {
  std::vector<std::string> names;
  names.reserve(kTypes.size());
  for (const TypeNames& type : kTypes) names.emplace_back(type.theirs);
  return names;
}

std::vector<std::pair<std::string, std::string>> nccl_environment(
    const std::map<std::string, std::string>& parameters) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const NcclSetting& setting : kNcclSettings)
    if (const auto given = parameters.find(std::string(setting.parameter));
        given != parameters.end() && given->second != setting.unset)
      out.emplace_back(setting.variable, setting.value(given->second));
  return out;
}

}  // namespace railgauge
