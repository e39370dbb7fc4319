// Labels of nodes as text: `rack=rack7,pod=p1`, and files of them. Pure; thread safe. A key is
// letters, digits and . _ - / in lower case, as Kubernetes has them; a value is letters, digits and
// . _ - :. Errors are kInvalidArgument and name the word.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge {

// Bounds of one node's labels.
inline constexpr std::size_t kMaxLabels = 128;
inline constexpr std::size_t kMaxLabelBytes = 128;

// Values by key.
using Labels = std::map<std::string, std::string>;

// Reports whether the text can be a label's value, or the name of a group.
bool is_label_value(std::string_view text);

// Reads `key=value`; the key becomes lower case.
Result<std::pair<std::string, std::string>> parse_label(std::string_view word);

// Reads labels between commas; "" gives none. A key twice is an error.
Result<Labels> parse_labels(std::string_view text);

// Reads lines of `key=value` or `key="value"`, as Kubernetes writes a pod's labels into a file
// (downward API). Empty lines, comments (#) and labels without a value are skipped.
Result<Labels> parse_label_lines(std::string_view text);

// Returns "pod=p1,rack=rack7", by key.
std::string label_text(const Labels& labels);

}  // namespace railgauge
