// The parts of the suite reader: each reads one mapping of the suite and adds a problem for every
// value that does not fit. suite.h has the results, suite_keys.cc the keys. The readers share no
// state; a suite is read on one thread.
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

// Reads a word that names something. Absent for nullptr, and, with a problem, where the value is
// not a word.
std::optional<std::string> read_word(const YamlValue* value, std::string_view wanted);

// Appends one stage, or with `vary` one for each combination of its values. All get number `block`.
void read_stage(const YamlValue& value, std::span<const KernelInfo> kernels, std::uint32_t block,
                std::vector<Stage>& stages);

inline constexpr std::size_t kMaxWordBytes = 64;
// Whether `text` has only letters, digits, and _ - . and at most kMaxWordBytes of them.
bool is_word(std::string_view text);

// Call it after the stage's parameters are read. `kernel` checks ranks and endpoint kind; nullptr
// skips these checks.
void read_placement(const YamlValue& value, const KernelInfo* kernel, Stage& stage);

// Mapping `preflight`.
PreflightGate read_preflight(const YamlValue& value);
// Mapping `rounds`, with `stop` and `kindness`.
run::RoundPolicy read_rounds(const YamlValue& value);
// Mapping `bounds`; absent keys are absent in the result.
std::map<std::string, double> read_bounds(const YamlValue& value);

}  // namespace railgauge::plan
