// Follow-up measurements of a suspect and the judgement of their results. A suspect is measured
// with two known-good partners under the same leaf and one elsewhere, from host and from GPU
// memory, and with another GPU on the same NIC. Pure: follow_ups() returns the wanted tasks,
// judge_follow_ups() takes their results.
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
  // Task with a known-good partner under another leaf, or with any one when no leaf is known.
  kElsewhere,
  // Task with a known-good partner, from another GPU on the same NIC.
  kOtherGpu,
  // The suspect task once more, over a new connection.
  kAgain,
  // An end of the suspect with another partner; its figure should be as expected.
  kControl,
};
// Returns the word of a purpose in points and reports.
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

// Returns the wanted tasks in the order of the suspects. A suspect gets none when no known-good
// partner is left, since all nodes are suspected or were not measured.
std::vector<FollowUp> follow_ups(const PairData& data, const Localisation& found);

// A follow-up with its figure.
struct FollowUpResult {
  FollowUp asked{};
  // Figure in the unit of the layers; absent: the task yielded none.
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

// Judges each suspect with at least one follow-up. Two failures with different partners confirm a
// suspect. A missing figure counts as no failure and never clears a suspect.
std::vector<Retest> judge_follow_ups(const PairData& data, const Localisation& found,
                                     std::span<const FollowUpResult> results);

}  // namespace railgauge::localise
