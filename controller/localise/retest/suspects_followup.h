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

// The question that a follow-up answers.
enum class Purpose {
  // Task with a known-good partner under the same leaf.
  kSameLeaf,
  // Task with a known-good partner under another leaf; any partner where no leaf is known.
  kElsewhere,
  // The same as above, from another GPU on the same NIC.
  kOtherGpu,
  // The same once more, over a new connection.
  kAgain,
  // A part of it with others: should be as expected.
  kControl,
};
// The word that points and reports carry.
std::string_view purpose_word(Purpose purpose);

// One task that is wanted.
struct FollowUp {
  // Index of the suspect in the localisation.
  std::size_t suspect = 0;
  Purpose purpose = Purpose::kAgain;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t rail = 0;
  std::string memory{};
  bool operator==(const FollowUp&) const = default;
};

// Bound of the tasks for one suspect.
inline constexpr std::size_t kMaxFollowUpsOfSuspect = 64;

// In the order of the suspects. A suspect for which no known-good partner is left (all are
// suspected, or were not measured) has none.
std::vector<FollowUp> follow_ups(const PairData& data, const Localisation& found);

// A follow-up with its figure.
struct FollowUpResult {
  FollowUp asked{};
  // Figure in the unit of the layers; absent: the task gave none.
  std::optional<double> value{};
};

// Result of a retest; without enough figures it is inconclusive.
enum class Answer { kConfirmed, kCleared, kInconclusive };
std::string_view answer_word(Answer answer);

// The answer about one suspect.
struct Retest {
  std::size_t suspect = 0;
  Answer answer = Answer::kInconclusive;
  // The element after the retest: a NIC may have become the path of a GPU.
  Element element{};
  // One line: the observation and its consequence.
  std::string sentence{};
};

// One for each suspect of which something was asked. Two failures with different partners confirm;
// a missing figure is a failure of neither side and never clears.
std::vector<Retest> judge_follow_ups(const PairData& data, const Localisation& found,
                                     std::span<const FollowUpResult> results);

}  // namespace railgauge::localise
