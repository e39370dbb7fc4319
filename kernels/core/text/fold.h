// Many names or texts in few words: `gpu[001-512]`, `mlx5_[0-7]`, equal reasons once. Pure; thread
// safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace railgauge {

// Returns the names as a list with ranges: "gpu[001-004,007],head". Each name counts once, in the
// order of people (n2 before n10). Node sets (plan/topology/node_set.h) read it back. A name with a
// bracket or a comma of its own stays as it is.
std::string fold_names(std::span<const std::string> names);

// Returns the folded names, or of many that do not fold the first and the last with their number:
// "a7..x12 (40)".
std::string fold_briefly(std::span<const std::string> names, std::size_t most_bytes = 48);

// Texts that differ in words with digits, or in words of a list, only.
struct TextGroup {
  std::string text{};                  // "gpu[001-003] rank 0: 2.1..2.9 GB/s": all of them
  std::vector<std::size_t> members{};  // indexes of the texts, ascending
};
// Groups the texts, in the order in which the groups appear. `names`: words without digits that
// count as parameters too, alone or before a '/'. Sentences of one text, between "; ", that differ
// so are one. A word whose values are many is shortened to its first and last value with their
// number.
std::vector<TextGroup> group_texts(std::span<const std::string> texts,
                                   std::span<const std::string> names = {});

}  // namespace railgauge
