// The kept results of registrations, in memory and in the state folder. Synthetic.
#include "agent/preflight/probe/probe_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/mutator.h"
#include "agent/testing/temp_dir.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = ProbeAnswer::State;

constexpr double kNow = 1.7e9;

ProbeAnswer answer_of(const std::string& nic, State state, double at_unix_seconds = kNow) {
  return {.gpu = "gpu0",
          .nic = nic,
          .state = state,
          .path = state == State::kRegistered ? "dma-buf" : "",
          .text = state == State::kRegistered ? "" : "why",
          .at_unix_seconds = at_unix_seconds};
}

std::vector<ProbeAnswer> parse(const std::string& text) { return parse_probe_file(text, kNow); }

std::string text_of(const TempDir& folder) {
  std::ifstream file(folder / kProbeFile);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A memory in a folder. Its complaints fail the test.
class Memory : public ProbeMemory {
 public:
  explicit Memory(const TempDir& folder)
      : ProbeMemory(folder.path(), [](const Error& error) { ADD_FAILURE() << error.message; }) {}
};

TEST(ProbeMemory, ABusyGpusLastAnswerIsRemembered) {
  ProbeMemory memory;
  EXPECT_THAT(memory.exchange(std::vector{answer_of("mlx5_0", State::kBusy)}, kNow), IsEmpty());
  EXPECT_THAT(memory.exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow),
              IsEmpty());
  const auto earlier =
      memory.exchange(std::vector{answer_of("mlx5_0", State::kBusy, kNow + 60)}, kNow + 60);
  ASSERT_THAT(earlier, SizeIs(1));
  EXPECT_EQ(earlier[0].at_unix_seconds, kNow);
}

TEST(ProbeMemory, WhatWasNotTriedIsNoAnswer) {
  ProbeMemory memory;
  memory.exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  memory.exchange(std::vector{answer_of("mlx5_0", State::kNotTried)}, kNow);
  ASSERT_THAT(memory.all(kNow), SizeIs(1));
  EXPECT_EQ(memory.all(kNow)[0].state, State::kRegistered);
}

TEST(ProbeMemory, AnAnswerOutlivesTheAgentWholly) {
  const TempDir folder;
  ProbeAnswer told = answer_of("mlx5_0", State::kRefused, kNow - 0.25);
  told.text = "ibv_reg_mr: \xff Bad \"address\"";
  told.is_synthetic = true;
  Memory(folder).exchange(std::vector{told}, kNow);
  const auto kept = Memory(folder).all(kNow + 300);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].gpu, "gpu0");
  EXPECT_EQ(kept[0].nic, "mlx5_0");
  EXPECT_EQ(kept[0].state, State::kRefused);
  EXPECT_EQ(kept[0].text, "ibv_reg_mr: ? Bad \"address\"");
  EXPECT_EQ(kept[0].at_unix_seconds, kNow - 0.25);
  EXPECT_TRUE(kept[0].is_synthetic);
}

TEST(ProbeMemory, AGpuThatIsBusyAfterTheRestartHasItsLastAnswer) {
  const TempDir folder;
  Memory(folder).exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  const auto earlier =
      Memory(folder).exchange(std::vector{answer_of("mlx5_0", State::kBusy, kNow + 9)}, kNow + 9);
  ASSERT_THAT(earlier, SizeIs(1));
  EXPECT_EQ(earlier[0].path, "dma-buf");
}

TEST(ProbeMemory, AnAgentLearnsWhatAnotherProcessWasTold) {
  const TempDir folder;
  Memory agent(folder);
  EXPECT_THAT(agent.all(kNow), IsEmpty());
  Memory(folder).exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  EXPECT_THAT(agent.all(kNow), SizeIs(1));
}

TEST(ProbeMemory, WhoWritesTheFileKeepsTheOthersPairs) {
  const TempDir folder;
  Memory first(folder);
  Memory second(folder);
  first.exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  second.exchange(std::vector{answer_of("mlx5_1", State::kRefused)}, kNow);
  EXPECT_THAT(parse(text_of(folder)), SizeIs(2));
}

TEST(ProbeMemory, AnOlderAnswerInTheFileReplacesNoNewerOne) {
  const TempDir folder;
  Memory memory(folder);
  memory.exchange(std::vector{answer_of("mlx5_0", State::kRefused, kNow - 5)}, kNow);
  folder.write(kProbeFile,
               probe_file_text(std::vector{answer_of("mlx5_0", State::kRegistered, kNow - 50)}));
  ASSERT_THAT(memory.all(kNow), SizeIs(1));
  EXPECT_EQ(memory.all(kNow)[0].state, State::kRefused);
}

TEST(ProbeMemory, OnlyTheNewestPairsAreKept) {
  ProbeMemory memory;
  for (std::size_t i = 0; i < kMaxKeptAnswers + 3; ++i)
    memory.exchange(std::vector{answer_of("mlx5_" + std::to_string(i), State::kRegistered,
                                          kNow + static_cast<double>(i))},
                    kNow + static_cast<double>(i));
  const auto kept = memory.all(kNow + 999);
  EXPECT_THAT(kept, SizeIs(kMaxKeptAnswers));
  for (const ProbeAnswer& answer : kept) EXPECT_GE(answer.at_unix_seconds, kNow + 3);
}

// --- a file that cannot be written
// ------------------------------------------------------------------

TEST(ProbeMemory, AnAnswerThatCannotBeWrittenIsStillRememberedAndSaidOnce) {
  const TempDir folder;
  std::vector<std::string> complaints;
  ProbeMemory memory(folder / "nowhere",
                     [&](const Error& error) { complaints.push_back(error.message); });
  memory.exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  EXPECT_THAT(complaints, ElementsAre(HasSubstr("nowhere: open: No such file")));
  EXPECT_THAT(memory.exchange(std::vector{answer_of("mlx5_0", State::kBusy)}, kNow), SizeIs(1));
  EXPECT_THAT(complaints, SizeIs(1)) << "a busy GPU's answer is nothing to write";
}

TEST(ProbeMemory, AFolderThatAnotherProcessHoldsIsNotWaitedForWithoutEnd) {
  const TempDir folder;
  const Fd held(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  std::string complaint;
  ProbeMemory memory(folder.path(), [&](const Error& error) { complaint = error.message; });
  memory.exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  EXPECT_THAT(complaint, HasSubstr("another process holds it"));
  EXPECT_THAT(memory.all(kNow), SizeIs(1));
}

// --- a file that is none
// ----------------------------------------------------------------------------

TEST(ProbeFile, ATextThatWasCutAnywhereIsNone) {
  const std::string whole = probe_file_text(
      std::vector{answer_of("mlx5_0", State::kRegistered), answer_of("mlx5_1", State::kRefused)});
  ASSERT_THAT(parse(whole), SizeIs(2));
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    ASSERT_THAT(parse(whole.substr(0, size)), IsEmpty()) << size;
}

TEST(ProbeFile, WhatAnotherProgramWroteIsNone) {
  const std::string one = R"("unix_seconds": 1.6e9})";
  const auto file = [&](const std::string& probe, const std::string& more = "") {
    return R"({"schema_version": 1, "answers": [{"probe": )" + probe + ", " + one + "]" + more +
           "}";
  };
  const std::string probe = R"({"gpu": "gpu0", "nic": "mlx5_0", "state": "registered"})";
  ASSERT_THAT(parse(file(probe)), SizeIs(1)) << "what the others are variants of";
  EXPECT_THAT(parse("{}"), IsEmpty());
  EXPECT_THAT(parse(std::string("\0\0\xff\xfe", 4)), IsEmpty());
  EXPECT_THAT(parse(R"({"schema_version": 2, "answers": []})"), IsEmpty());
  EXPECT_THAT(parse(file(probe, R"(, "colour": "red")")), IsEmpty());
  EXPECT_THAT(parse(file(R"({"gpu": "gpu0", "nic": "mlx5_0", "state": "fine"})")), IsEmpty());
  EXPECT_THAT(parse(file(R"({"gpu": "", "nic": "mlx5_0", "state": "registered"})")), IsEmpty());
}

TEST(ProbeFile, AnAnswerOfTheFutureMakesItNone) {
  const std::string text =
      probe_file_text(std::vector{answer_of("mlx5_0", State::kRegistered, kNow - 1000),
                                  answer_of("mlx5_1", State::kRegistered, kNow)});
  EXPECT_THAT(parse_probe_file(text, kNow - kClockSlackSeconds + 1), SizeIs(2));
  EXPECT_THAT(parse_probe_file(text, kNow - kClockSlackSeconds - 1), IsEmpty());
}

TEST(ProbeFile, ATimeThatIsNoneMakesItNone) {
  for (const char* time : {"\"NaN\"", "\"-Infinity\"", "0", "-1"}) {
    const std::string text = std::string(R"({"schema_version": 1, "answers": [{"probe": )") +
                             R"({"gpu": "gpu0", "nic": "n", "state": "error"}, "unix_seconds": )" +
                             time + "}]}";
    EXPECT_THAT(parse(text), IsEmpty()) << time;
  }
}

TEST(ProbeFile, TheMostThatIsKeptFitsIntoWhatIsRead) {
  std::vector<ProbeAnswer> answers;
  for (std::size_t i = 0; i < kMaxKeptAnswers; ++i) {
    ProbeAnswer answer = answer_of(std::to_string(i) + std::string(100, '\1'), State::kRefused);
    answer.gpu = answer.path = std::string(100, '\1');
    answer.text = std::string(5000, '\1');  // six bytes each in JSON
    answers.push_back(answer);
  }
  const std::string text = probe_file_text(answers);
  EXPECT_LE(text.size(), kMaxProbeFileBytes);
  EXPECT_THAT(parse(text), SizeIs(kMaxKeptAnswers));
}

TEST(ProbeFile, AnEnormousOneIsNone) {
  const std::string text = probe_file_text(std::vector{answer_of("mlx5_0", State::kRegistered)});
  const TempDir folder;
  folder.write(kProbeFile, text + std::string(kMaxProbeFileBytes, ' '));
  EXPECT_THAT(Memory(folder).all(kNow), IsEmpty());
  folder.write(kProbeFile, text);
  EXPECT_THAT(Memory(folder).all(kNow), SizeIs(1));
}

TEST(ProbeFile, APipeInItsPlaceIsNoneAndHoldsNobody) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / kProbeFile).c_str(), 0600), 0);
  Memory memory(folder);
  EXPECT_THAT(memory.all(kNow), IsEmpty());
  memory.exchange(std::vector{answer_of("mlx5_0", State::kRegistered)}, kNow);
  EXPECT_THAT(parse(text_of(folder)), SizeIs(1)) << "a whole file has taken its place";
}

TEST(ProbeFile, MutatedOnesGiveOnlyWhatIsFitForTheWire) {
  Mutator mutator(20261123);
  const std::vector<std::string> seeds{probe_file_text(
      std::vector{answer_of("mlx5_0", State::kRegistered), answer_of("mlx5_1", State::kRefused)})};
  for (int i = 0; i < 20'000; ++i)
    for (const ProbeAnswer& answer : parse(mutator.pick(seeds))) {
      ASSERT_EQ(valid_utf8(answer.gpu + answer.nic + answer.path + answer.text),
                answer.gpu + answer.nic + answer.path + answer.text);
      ASSERT_LE(answer.at_unix_seconds, kNow + kClockSlackSeconds);
    }
}

}  // namespace
}  // namespace railgauge::agent
