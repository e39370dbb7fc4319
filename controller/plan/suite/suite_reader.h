// Parts of the suite reader. Each part reads one mapping and adds a problem for every value that
// does not fit. suite.h has the results, suite_keys.cc the keys. The readers share no state; one
// thread reads a suite.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// Reads a name that is_word() accepts. Absent for nullptr; absent with a problem for another value.
std::optional<std::string> read_word(const YamlValue* value, std::string_view wanted);

// Appends one stage, or with `vary` one stage for each combination of values, all with number
// `block`.
void read_stage(const YamlValue& value, std::span<const KernelInfo> kernels, std::uint32_t block,
                std::vector<Stage>& stages);

inline constexpr std::size_t kMaxWordBytes = 64;
// Reports whether `text` has only letters, digits, and _ - . and at most kMaxWordBytes bytes.
bool is_word(std::string_view text);

// Reads the mapping `placement` into `stage`; call after reading the stage's parameters. Checks
// ranks and endpoint kind by `kernel`; nullptr skips these checks.
void read_placement(const YamlValue& value, const KernelInfo* kernel, Stage& stage);

// Reports whether the kernel runs on no endpoint of its own, but puts its ranks on those that a
// placement chooses: MPI's, which have the parameter process_to_rail.
bool places_ranks(const KernelInfo& kernel);

// Reads the mapping `preflight`.
PreflightGate read_preflight(const YamlValue& value);
// Reads the mapping `rounds`, with its mappings `stop` and `kindness`.
run::RoundPolicy read_rounds(const YamlValue& value);
// Reads the mapping `bounds`: fractions by statistic. Absent keys are absent in the result.
std::map<std::string, double> read_bounds(const YamlValue& value);

}  // namespace railgauge::plan
