#include "agent/inventory/sources/node_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/node_tree.h"
#include "agent/testing/read_tree.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  TempDir root_;
  NodeFiles files() const { return NodeFiles({.root = root_.path()}); }
};

TEST_F(Files, AFactNamesThePathOnTheNodeAndNotWhereTheTreeIs) {
  root_.write("sys/x", " 24.04 \nmore\n");
  const Fact<std::string> line = files().line("/sys/x");
  EXPECT_TRUE(line.is("24.04"));
  EXPECT_EQ(line.source, "/sys/x");
}

TEST_F(Files, WhatIsNotThereIsAbsentAndNoError) {
  EXPECT_TRUE(files().line("/sys/none").is_absent());
  root_.write("sys/x", "1");
  EXPECT_TRUE(files().line("/sys/x/below").is_absent());
}

TEST_F(Files, BytesThatAreNoTextAreAnErrorOfThatFactAlone) {
  root_.write("a", std::string("ab\xff\xfe", 4));
  root_.write("b", std::string("a\0b", 3));
  EXPECT_EQ(files().line("/a").state, FactState::kError);
  EXPECT_EQ(files().line("/b").state, FactState::kError);
  EXPECT_THAT(files().line("/a").reason, HasSubstr("/a"));
}

TEST_F(Files, AnEnormousFileIsNotRead) {
  root_.write("big", std::string(3 * kMostLineBytes, 'x'));
  EXPECT_EQ(files().line("/big").state, FactState::kError);
  EXPECT_LE(files().line("/big").value.size(), 0u);
}

TEST_F(Files, APipeHoldsNobody) {
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(files().line("/pipe").state, FactState::kError);
}

TEST_F(Files, LinksThatLoopAndFoldersAreErrors) {
  std::filesystem::create_symlink("loop", root_ / "loop");
  std::filesystem::create_directory(root_ / "folder");
  EXPECT_EQ(files().line("/loop").state, FactState::kError);
  EXPECT_EQ(files().line("/folder").state, FactState::kError);
}

TEST_F(Files, AFolderIsListedOrSaysWhyNot) {
  root_.write("sys/b", "1");
  root_.write("sys/a", "1");
  EXPECT_TRUE(files().list("/sys").is({"a", "b"}));
  EXPECT_TRUE(files().list("/none").is_absent());
  EXPECT_EQ(files().list("/sys/a").state, FactState::kError);
  EXPECT_EQ(files().list("/sys/a/below").state, FactState::kError);
  std::filesystem::create_symlink("loop", root_ / "loop");
  EXPECT_EQ(files().list("/loop").state, FactState::kError);
  EXPECT_THAT(files().list("/loop").reason, HasSubstr("/loop: "));
  const NameList cut = files().list("/sys", 1);
  EXPECT_EQ(cut.state, FactState::kError);
  EXPECT_THAT(cut.value, testing::SizeIs(1));
  EXPECT_THAT(cut.reason, HasSubstr("more than 1 names"));
}

TEST_F(Files, AFolderThatIsRefusedIsNotEmpty) {
  NodeTree tree;
  tree.apply("sys/closed/x = 1\nsys/open/y = 1\nrefuse sys/closed\n");
  const AsNobody nobody;
  const NodeFiles refused({.root = tree.root()});
  EXPECT_TRUE(refused.list("/sys/open").is({"y"}));
  EXPECT_EQ(refused.list("/sys/closed").state, FactState::kUnknown);
  EXPECT_THAT(refused.list("/sys/closed").reason, HasSubstr("Permission denied"));
}

TEST_F(Files, NumbersAreDecimalOrHexadecimalAndNothingElse) {
  root_.write("a", "4096\n");
  root_.write("b", "0x10de\n");
  root_.write("c", "99999999999999999999\n");
  root_.write("d", "-1\n");
  EXPECT_TRUE(files().number("/a").is(4096));
  EXPECT_TRUE(files().small("/b").is(0x10de));
  EXPECT_EQ(files().number("/c").state, FactState::kError);
  EXPECT_EQ(files().number("/d").state, FactState::kError);
}

TEST_F(Files, LinesAreSeenOneByOneAndTooLongOnesAreLeftOut) {
  root_.write("many", "one\n" + std::string(100'000, 'x') + "\ntwo\nthree");
  std::vector<std::string> seen;
  const Fact<bool> all = files().lines("/many", 1U << 20U, [&](std::string_view line) {
    seen.emplace_back(line);
    return true;
  });
  EXPECT_TRUE(all.is(true));
  EXPECT_THAT(seen, ElementsAre("one", "two", "three"));
}

TEST_F(Files, ReadingOfLinesEndsWhenAsked) {
  root_.write("many", "one\ntwo\nthree\n");
  int seen = 0;
  EXPECT_TRUE(
      files().lines("/many", 1U << 20U, [&](std::string_view) { return ++seen < 2; }).is(false));
  EXPECT_EQ(seen, 2);
}

TEST_F(Files, AFileThatNeverEndsIsGivenUp) {
  root_.write("long", std::string(200'000, '\n'));
  EXPECT_EQ(files().lines("/long", 1000, [](std::string_view) { return true; }).state,
            FactState::kError);
}

}  // namespace
}  // namespace railgauge::agent
