// The next measurements about a suspect, and the meaning of their answers: with two known-good
// partners under the same leaf and one elsewhere, from host and from GPU memory, with another GPU
// on the same NIC. Pure: the first function returns the wanted tasks, the second takes their
// results.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/localise/localise.h"

namespace railgauge::localise {

enum class Purpose {
  kSameLeaf,   // with a known-good partner under the same leaf
  kElsewhere,  // with a known-good partner under another leaf (of no known leaf: any)
  kOtherGpu,   // as above, from another GPU on the same NIC
  kAgain,      // the same once more, over a new connection
  kControl,    // a part of it with others: should be as expected
};
std::string_view purpose_word(Purpose purpose);

// One task that is wanted.
struct FollowUp {
  std::size_t suspect = 0;  // its index in the localisation
  Purpose purpose = Purpose::kAgain;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t rail = 0;
  std::string memory{};
  bool operator==(const FollowUp&) const = default;
};

inline constexpr std::size_t kMaxFollowUpsOfSuspect = 64;

// In the order of the suspects. A suspect for which no known-good partner is left (all are
// suspected, or were not measured) has none.
std::vector<FollowUp> follow_ups(const PairData& data, const Localisation& found);

struct FollowUpResult {
  FollowUp asked{};
  std::optional<double> value{};  // in the layers' unit; absent: the task has no figure
};

enum class Answer { kConfirmed, kCleared, kInconclusive };
std::string_view answer_word(Answer answer);

struct Retest {
  std::size_t suspect = 0;
  Answer answer = Answer::kInconclusive;
  Element element{};       // its present state: a NIC may have become a GPU's path
  std::string sentence{};  // what was seen and what follows, one line
};

// One for each suspect of which something was asked. Two failures with different partners confirm;
// a missing figure is a failure of neither side and never clears.
std::vector<Retest> judge_follow_ups(const PairData& data, const Localisation& found,
                                     std::span<const FollowUpResult> results);

}  // namespace railgauge::localise
